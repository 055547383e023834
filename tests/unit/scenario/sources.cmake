list(APPEND UNIT_TEST_SOURCES
  ${CMAKE_CURRENT_LIST_DIR}/json_document_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/options_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/scenario_file_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/short_forms_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/yaml_test.cpp)
