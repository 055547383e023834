list(APPEND LAWS_TEST_SOURCES
  ${CMAKE_CURRENT_LIST_DIR}/arrival_laws_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/batch_laws_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/closed_loop_law_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/exact_laws_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/law_schedulers.cpp
  ${CMAKE_CURRENT_LIST_DIR}/law_support.cpp
  ${CMAKE_CURRENT_LIST_DIR}/length_laws_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/littles_law_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/metamorphic_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/one_slot_laws_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/pool_law_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/prefix_cache_law_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/scenario_runs.cpp
  ${CMAKE_CURRENT_LIST_DIR}/speculation_law_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/statistics.cpp
  ${CMAKE_CURRENT_LIST_DIR}/traffic_laws_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/workload_laws_test.cpp)
