list(APPEND ORACLE_TEST_SOURCES
  ${CMAKE_CURRENT_LIST_DIR}/allocators_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/conformance_checks.cpp
  ${CMAKE_CURRENT_LIST_DIR}/conformance_rows.cpp
  ${CMAKE_CURRENT_LIST_DIR}/conformance_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/naive_engine_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/naive_pipeline_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/naive_prompts_alone_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/naive_ranks_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/ranked_production.cpp
  ${CMAKE_CURRENT_LIST_DIR}/oracle_memory_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/placement_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/production_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/radix_pool_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/recorder_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/recursions_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/scenario_generator_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/window_pool_test.cpp)
