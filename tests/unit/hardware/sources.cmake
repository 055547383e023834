list(APPEND UNIT_TEST_SOURCES
  ${CMAKE_CURRENT_LIST_DIR}/affine_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/catalog_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/cost_factory_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/llm_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/names_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/plain_budget_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/roofline_parts_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/roofline_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/vllm_budget_test.cpp)
