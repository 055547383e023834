list(APPEND LAWS_TEST_SOURCES
  ${CMAKE_CURRENT_LIST_DIR}/law_schedulers.cpp
  ${CMAKE_CURRENT_LIST_DIR}/law_support.cpp
  ${CMAKE_CURRENT_LIST_DIR}/scenario_runs.cpp
  ${CMAKE_CURRENT_LIST_DIR}/batch_laws_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/exact_laws_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/littles_law_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/metamorphic_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/one_slot_laws_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/pool_law_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/workload_laws_test.cpp)
