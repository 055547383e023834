list(APPEND UNIT_TEST_SOURCES
  from_container_test.cpp
  from_engines_test.cpp
  from_metrics_test.cpp
  from_shell_test.cpp
  from_vllm_test.cpp
  from_yaml_test.cpp
  json_document_test.cpp
  options_test.cpp
  resolve_test.cpp
  run_test.cpp
  scenario_file_test.cpp
  validate_test.cpp
  workload_run_test.cpp)
