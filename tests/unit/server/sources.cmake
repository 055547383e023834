list(APPEND UNIT_TEST_SOURCES
  ${CMAKE_CURRENT_LIST_DIR}/api_answer_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/api_request_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/bpe_merges_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/emulator_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/prompt_tree_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/serve_clock_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/sleep_mode_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/token_rule_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/tokenizer_test.cpp)
