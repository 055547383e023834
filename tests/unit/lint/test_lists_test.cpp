// A test that no build file names never runs.

#include <fmt/format.h>
#include <catch2/catch.hpp>

#include <string>
#include <string_view>
#include <vector>

#include "tests/unit/lint/source_tree.hpp"

namespace headroom::lint::test_lists_test {
namespace {

// Names of .cpp files in tests/ that no sources.cmake or CMakeLists.txt of tests/ mentions.
std::vector<std::string> unlisted(const std::vector<SourceFile>& files) {
  std::string lists;
  for (const SourceFile& file : files) {
    const bool in_tests = file.path.starts_with("tests/");
    const bool lists_sources =
        file.path.ends_with("sources.cmake") || file.path.ends_with("CMakeLists.txt");
    if (in_tests && lists_sources) lists += file.text;
  }
  std::vector<std::string> findings;
  for (const SourceFile& file : files) {
    if (!file.path.starts_with("tests/") || !file.path.ends_with("_test.cpp")) continue;
    const std::string name = file.path.substr(file.path.rfind('/') + 1);
    // As a whole name: x_test.cpp stands in my_x_test.cpp, too.
    bool found = false;
    for (std::size_t at = lists.find(name); at != std::string::npos && !found;
         at = lists.find(name, at + 1)) {
      found = at > 0 && (lists[at - 1] == '/' || lists[at - 1] == ' ' || lists[at - 1] == '\n');
    }
    if (!found) findings.push_back(finding(file.path, 1, "is in no list of tests"));
  }
  return findings;
}

}  // namespace

TEST_CASE("every test file is in a list of tests", "[lint]") {
  const std::vector<std::string> findings = unlisted(repository_files());
  INFO(joined(findings));
  CHECK(findings.empty());
}

TEST_CASE("a test file that no list names is found", "[lint]") {
  const std::vector<SourceFile> files{
      {"tests/unit/a/sources.cmake", "list(APPEND X\n  my_b_test.cpp)"},
      {"tests/unit/a/my_b_test.cpp", ""},
      {"tests/unit/a/b_test.cpp", ""}};
  CHECK(unlisted(files).size() == 1);
}

}  // namespace headroom::lint::test_lists_test
