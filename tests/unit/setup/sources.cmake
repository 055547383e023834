list(APPEND UNIT_TEST_SOURCES
  ${CMAKE_CURRENT_LIST_DIR}/from_container_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/from_engines_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/from_metrics_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/from_shell_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/from_vllm_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/from_yaml_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/json_document_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/kv_tier_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/options_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/resolve_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/retries_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/run_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/run_time_failure_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/scenario_file_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/speculation_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/validate_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/workload_run_test.cpp)
