list(APPEND UNIT_TEST_SOURCES
  ${CMAKE_CURRENT_LIST_DIR}/engine_vectors_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/kv_allocators_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/llamacpp_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/paged_sharing_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/placement_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/prefix_tree_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/priority_queue_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/run_time_oom_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/sarathi_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/sglang_order_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/sglang_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/slots_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/tgi_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/trtllm_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/vllm_loop_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/vllm_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/vllm_v0_test.cpp)
