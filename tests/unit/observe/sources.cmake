list(APPEND UNIT_TEST_SOURCES
  ${CMAKE_CURRENT_LIST_DIR}/completion_stream_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/prompt_text_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/server_url_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/traffic_window_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/watch_verdict_test.cpp)
