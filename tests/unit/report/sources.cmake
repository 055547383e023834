list(APPEND UNIT_TEST_SOURCES
  capacity_report_test.cpp
  result_directory_test.cpp
  result_files_test.cpp
  terminal_test.cpp)
