list(APPEND UNIT_TEST_SOURCES
  function_lengths.cpp
  engine_names_test.cpp
  include_rules_test.cpp
  machine_paths_test.cpp
  open_files_test.cpp
  source_tree.cpp
  style_limits_test.cpp
  test_lists_test.cpp
  type_names_test.cpp)
