list(APPEND UNIT_TEST_SOURCES
  ${CMAKE_CURRENT_LIST_DIR}/audit_log_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/audit_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/capacity_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/memory_series_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/memory_validation_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/shared_device_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/spark_validation_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/startup_timeline_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/startup_validation_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/worksheet_test.cpp)
