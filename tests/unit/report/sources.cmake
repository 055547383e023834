list(APPEND UNIT_TEST_SOURCES
  audit_report_test.cpp
  capacity_report_test.cpp
  cascade_report_test.cpp
  html_report_test.cpp
  observation_files_test.cpp
  perfetto_log_test.cpp
  result_directory_test.cpp
  result_files_test.cpp
  run_data_test.cpp
  run_files_test.cpp
  study_data_test.cpp
  sweep_report_test.cpp
  terminal_test.cpp
  trace_report_test.cpp)
