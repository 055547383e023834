list(APPEND UNIT_TEST_SOURCES
  ${CMAKE_CURRENT_LIST_DIR}/ablation_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/calibrate_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/joint_fit_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/measured_closed_loop_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/measured_decode_rates_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/measured_static_batches_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/measured_token_times_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/run_validation_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/step_breakdown_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/step_times_test.cpp)
