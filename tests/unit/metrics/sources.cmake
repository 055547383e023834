list(APPEND UNIT_TEST_SOURCES
  ${CMAKE_CURRENT_LIST_DIR}/backlog_slope_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/cost_meter_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/cut_invariance_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/engine_events_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/itl_meter_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/kv_meter_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/request_stream_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/scripted_run.cpp
  ${CMAKE_CURRENT_LIST_DIR}/serving_metrics_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/statistics_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/timeline_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/windows_test.cpp)
