list(APPEND UNIT_TEST_SOURCES
  ${CMAKE_CURRENT_LIST_DIR}/memory_failure_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/said_engine_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/started_log_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/startup_attribution_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/startup_failure_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/startup_log_test.cpp)
