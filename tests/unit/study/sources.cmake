list(APPEND UNIT_TEST_SOURCES
  capacity_test.cpp
  memory_series_test.cpp
  spark_validation_test.cpp
  startup_attribution_test.cpp
  startup_failure_test.cpp
  startup_log_test.cpp
  worksheet_test.cpp)
