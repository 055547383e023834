list(APPEND UNIT_TEST_SOURCES
  ${CMAKE_CURRENT_LIST_DIR}/ask_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/assert_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/compare_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/fleet_planner_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/plan_file_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/plan_parts_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/search_bisection_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/search_front_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/search_study_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/study_file_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/study_plan_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/study_runner_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/study_store_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/run_pool_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/tune_test.cpp)
