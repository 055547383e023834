list(APPEND UNIT_TEST_SOURCES
  ${CMAKE_CURRENT_LIST_DIR}/trace_check_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/trace_convert_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/trace_meters_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/trace_profile_test.cpp)
