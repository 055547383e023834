// Whoever opens a file says so in sim/kernel/file_roles.hpp, so that no output replaces an input.

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "tests/unit/lint/source_tree.hpp"

namespace headroom::lint::open_files_test {
namespace {

// What the operating system says of the process; and earlier results, which may be replaced.
constexpr std::array<std::string_view, 2> kWithoutOutputs{"sim/kernel/process_memory.cpp",
                                                          "sim/report/files/result_directory.cpp"};

std::vector<std::string> open_findings(const std::vector<SourceFile>& files) {
  std::vector<std::string> findings;
  for (const SourceFile& file : files) {
    const std::string_view text = file.text;
    const auto has = [&](std::string_view part) { return text.find(part) != text.npos; };
    if (!file.path.ends_with(".cpp") || file.path.starts_with("tests/")) continue;
    const bool reads = has("std::ifstream ") || has("std::fopen(") || has("O_RDONLY") ||
                       has("SQLITE_OPEN_READONLY, nullptr");
    const bool is_free = std::ranges::find(kWithoutOutputs, file.path) != kWithoutOutputs.end();
    if (reads && !is_free && !has("note_input(")) {
      findings.push_back(finding(file.path, 1, "opens files without note_input"));
    }
    const bool writes = has("std::ofstream") || has("O_CREAT");
    if (writes && file.path != "sim/report/files/output_file.cpp") {
      findings.push_back(finding(file.path, 1, "writes past OutputFile"));
    }
  }
  return findings;
}

TEST_CASE("sources that open files say whether they read or write them", "[lint]") {
  const std::vector<std::string> findings = open_findings(repository_files());
  INFO(joined(findings));
  CHECK(findings.empty());
}

TEST_CASE("a reader without note_input and a second kind of writer are found", "[lint]") {
  CHECK(open_findings({{"sim/a.cpp", "std::ifstream in(file);"}}).size() == 1);
  CHECK(open_findings({{"sim/a.cpp", "note_input(file);\nstd::ifstream in(file);"}}).empty());
  CHECK(open_findings({{"sim/a.cpp", "std::ofstream out(file);"}}).size() == 1);
  CHECK(open_findings({{"tests/a.cpp", "std::ofstream out(file);"}}).empty());
}

}  // namespace
}  // namespace headroom::lint::open_files_test
