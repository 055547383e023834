list(APPEND UNIT_TEST_SOURCES
  ${CMAKE_CURRENT_LIST_DIR}/compose_services_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/from_container_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/from_deployment_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/from_engines_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/from_metrics_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/from_shell_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/from_vllm_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/printed_arguments_test.cpp)
