list(APPEND UNIT_TEST_SOURCES
  ${CMAKE_CURRENT_LIST_DIR}/engine_vectors_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/kv_allocators_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/run_time_oom_test.cpp)
