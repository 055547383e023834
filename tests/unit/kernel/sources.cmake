list(APPEND UNIT_TEST_SOURCES
  ${CMAKE_CURRENT_LIST_DIR}/check_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/det_math_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/digest_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/errors_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/event_queue_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/folders_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/file_roles_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/log_histogram_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/named_value_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/process_memory_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/random_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/text_file_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/time_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/visible_text_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/wide_sum_test.cpp)
