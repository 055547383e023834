list(APPEND UNIT_TEST_SOURCES
  ${CMAKE_CURRENT_LIST_DIR}/plan_flags_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/progress_lines_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/setting_of_flag_test.cpp)
