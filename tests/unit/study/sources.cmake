list(APPEND UNIT_TEST_SOURCES
  audit_log_test.cpp
  audit_test.cpp
  calibrate_test.cpp
  capacity_test.cpp
  memory_series_test.cpp
  memory_validation_test.cpp
  run_validation_test.cpp
  spark_validation_test.cpp
  startup_attribution_test.cpp
  startup_failure_test.cpp
  startup_log_test.cpp
  trace_check_test.cpp
  trace_convert_test.cpp
  trace_meters_test.cpp
  trace_profile_test.cpp
  worksheet_test.cpp)
