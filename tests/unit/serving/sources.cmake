list(APPEND UNIT_TEST_SOURCES
  ${CMAKE_CURRENT_LIST_DIR}/decode_set_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/link_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/memory_ledger_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/request_pool_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/worked_example_test.cpp)
