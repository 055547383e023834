list(APPEND UNIT_TEST_SOURCES
  ${CMAKE_CURRENT_LIST_DIR}/arrivals_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/azure_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/lengths_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/max_tokens_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/sources_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/timestamp_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/trace_errors_test.cpp)
