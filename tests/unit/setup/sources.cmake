list(APPEND UNIT_TEST_SOURCES json_document_test.cpp options_test.cpp resolve_test.cpp run_test.cpp
     scenario_file_test.cpp validate_test.cpp)
