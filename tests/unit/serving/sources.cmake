list(APPEND UNIT_TEST_SOURCES
  adapter_slots_test.cpp
  api_server_test.cpp
  block_size_test.cpp
  decode_set_test.cpp
  disaggregation_test.cpp
  fleet_lifecycle_test.cpp
  host_ledger_test.cpp
  latency_window_test.cpp
  link_test.cpp
  memory_ledger_test.cpp
  request_pool_test.cpp
  route_stages_test.cpp
  run_time_memory_test.cpp
  sequence_blocks_test.cpp
  stop_queue_test.cpp
  worked_example_test.cpp)
