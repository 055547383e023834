// A path of the machine on which a file was written works on no other one.

#include <fmt/core.h>

#include <array>
#include <catch2/catch.hpp>
#include <cctype>
#include <string>
#include <string_view>
#include <vector>

#include "tests/unit/lint/source_tree.hpp"

namespace headroom::lint::machine_paths_test {
namespace {

// Put together here, so that this file does not contain what it looks for.
const std::array<std::string, 4> kMachineFolders{
    "/ro" + std::string("ot/"), "/ho" + std::string("me/"), "/wo" + std::string("rk/"),
    "/Us" + std::string("ers/")};

// "docs/work/x" and "$HOME/work/x" are relative to something; "/work/x" and "=/work/x" are not.
bool begins_a_path(std::string_view line, std::size_t at) {
  if (at == 0) return true;
  const auto before = static_cast<unsigned char>(line[at - 1]);
  return std::isalnum(before) == 0 &&
         std::string_view("_-.})~*/").find(line[at - 1]) == std::string_view::npos;
}

std::vector<std::string> machine_path_findings(const std::vector<SourceFile>& files) {
  std::vector<std::string> findings;
  for (const SourceFile& file : files) {
    const std::vector<std::string_view> lines = lines_of(file.text);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      for (const std::string& folder : kMachineFolders) {
        const std::size_t at = lines[i].find(folder);
        if (at != std::string_view::npos && begins_a_path(lines[i], at)) {
          findings.push_back(finding(file.path, i + 1, "path of one machine: " + folder));
        }
      }
    }
  }
  return findings;
}

TEST_CASE("no file of the repository names a path of one machine", "[lint]") {
  const std::vector<std::string> findings = machine_path_findings(repository_files());
  INFO(joined(findings));
  CHECK(findings.empty());
}

TEST_CASE("the machine path checker flags absolute paths only", "[lint]") {
  const auto count = [](const std::string& text) {
    return machine_path_findings({{"a.md", text}}).size();
  };
  CHECK(count("see " + kMachineFolders[0] + "x\n") == 1);
  CHECK(count("DIR=" + kMachineFolders[2] + "x\n" + kMachineFolders[3] + "y\n") == 2);
  CHECK(count("docs" + kMachineFolders[2] + "x, ${A}" + kMachineFolders[1] + "y\n") == 0);
}

}  // namespace
}  // namespace headroom::lint::machine_paths_test
