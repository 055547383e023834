// Who may include whom. Modules have a rank; a file includes files of its own module and of modules
// of lower rank, so siblings (equal rank) never see each other.

#include <fmt/core.h>

#include <array>
#include <catch2/catch.hpp>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/unit/lint/source_tree.hpp"

namespace headroom::lint::include_rules_test {
namespace {

struct Module {
  std::string_view folder;
  int rank;
};

// A folder stands before the folders above it.
constexpr std::array kModules{
    Module{"sim/kernel/", 0},         Module{"sim/options/", 1},
    Module{"sim/serving/", 2},        Module{"sim/metrics/", 3},
    Module{"scheduler/batching/", 3}, Module{"scheduler/kv/", 3},
    Module{"scheduler/routing/", 3},  Module{"scheduler/fleet/", 3},
    Module{"workloads/", 3},          Module{"hardware/", 3},
    Module{"sim/engines/", 4},        Module{"sim/scenario/", 5},
    Module{"sim/resolve/", 6},        Module{"sim/intake/", 7},
    Module{"sim/traces/", 7},         Module{"sim/memory/", 8},
    Module{"sim/fidelity/", 8},       Module{"sim/observe/", 8},
    Module{"sim/study/", 8},          Module{"sim/deploy/", 8},
    Module{"sim/report/json/", 9},    Module{"sim/report/", 10},
    Module{"sim/api/", 10},           Module{"sim/server/", 10},
    Module{"sim/app/", 11},           Module{"python/", 12},
    Module{"playground/", 12},        Module{"tests/", 12},  // uses all
};

// Folders whose own files may include nlohmann_json: it triples the compile time of a file.
constexpr std::array<std::string_view, 7> kJsonFolders{
    "sim/options/", "sim/scenario/", "sim/report/", "workloads/traces/",
    "hardware/",    "playground/",   "tests/"};

const Module* module_of(std::string_view path) {
  for (const Module& module : kModules) {
    if (path.starts_with(module.folder)) return &module;
  }
  return nullptr;
}

struct Include {
  std::size_t line;
  bool quoted;  // "..." rather than <...>
  std::string_view target;
};

std::vector<Include> includes_of(std::string_view text) {
  std::vector<Include> includes;
  const std::vector<std::string_view> lines = lines_of(text);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    constexpr std::string_view kDirective = "#include ";
    if (!lines[i].starts_with(kDirective)) continue;
    const std::string_view rest = lines[i].substr(kDirective.size());
    const bool quoted = rest.starts_with('"');
    const std::size_t end = rest.find(quoted ? '"' : '>', 1);
    if (end != std::string_view::npos) includes.push_back({i + 1, quoted, rest.substr(1, end - 1)});
  }
  return includes;
}

using Exists = std::function<bool(std::string_view)>;

// What is wrong with one include of the file `path`; empty if nothing.
std::string broken_rule(std::string_view path, const Include& include, const Exists& exists) {
  const Module* from = module_of(path);
  if (from == nullptr) return "a C++ file outside all modules of include_rules_test.cpp";
  if (!include.quoted) {
    const bool json = include.target.starts_with("nlohmann/");
    const bool may_use_json =
        std::ranges::any_of(kJsonFolders, [&](auto folder) { return path.starts_with(folder); });
    return json && !may_use_json ? "nlohmann_json is not for this folder" : "";
  }
  if (!exists(include.target)) {
    return fmt::format("\"{}\" is no file of the repository", include.target);
  }
  const Module* to = module_of(include.target);
  if (to == nullptr) return fmt::format("\"{}\" belongs to no module", include.target);
  if (to != from && to->rank >= from->rank) {
    return fmt::format("{} must not see {}", from->folder, to->folder);
  }
  return "";
}

std::vector<std::string> include_findings(const std::vector<SourceFile>& files,
                                          const Exists& exists) {
  std::vector<std::string> findings;
  for (const SourceFile& file : files) {
    if (!is_cpp(file.path)) continue;
    for (const Include& include : includes_of(file.text)) {
      const std::string what = broken_rule(file.path, include, exists);
      if (!what.empty()) findings.push_back(finding(file.path, include.line, what));
    }
  }
  return findings;
}

std::vector<std::string> files_with_cli11(const std::vector<SourceFile>& files) {
  std::vector<std::string> users;
  for (const SourceFile& file : files) {
    if (!is_cpp(file.path)) continue;
    for (const Include& include : includes_of(file.text)) {
      if (include.target.starts_with("CLI/")) users.push_back(file.path);
    }
  }
  return users;
}

std::vector<std::string> findings_in(std::string_view path, std::string_view text) {
  const std::vector<SourceFile> files{{std::string(path), std::string(text)}};
  return include_findings(files, [](std::string_view target) { return target != "no/file.hpp"; });
}

TEST_CASE("includes of the repository follow the one-way layering", "[lint]") {
  const std::vector<std::string> findings = include_findings(repository_files(), repository_has);
  INFO(joined(findings));
  CHECK(findings.empty());
}

TEST_CASE("only commands and the programs that parse them include CLI11", "[lint]") {
  std::vector<std::string> users = files_with_cli11(repository_files());
  std::erase_if(users, [](std::string_view path) { return path.starts_with("sim/app/commands/"); });
  INFO(joined(users));
  CHECK(users == std::vector<std::string>{"sim/app/command_line_error.cpp", "sim/app/mpi_main.cpp",
                                          "sim/app/program.cpp"});
}

TEST_CASE("the include checker accepts downward and own-module includes", "[lint]") {
  CHECK(findings_in("scheduler/kv/paged.cpp",
                    "#include \"scheduler/kv/paged.hpp\"\n"
                    "#include <vector>\n"
                    "#include \"sim/serving/types.hpp\"\n")
            .empty());
  CHECK(findings_in("sim/scenario/json.cpp",
                    "#include <nlohmann/json.hpp>\n"
                    "#include \"scheduler/batching/vllm.hpp\"\n"
                    "#include \"hardware/device.hpp\"\n")
            .empty());
  CHECK(findings_in("hardware/cost/spec.cpp", "#include \"hardware/device.hpp\"\n").empty());
}

TEST_CASE("the include checker flags upward includes", "[lint]") {
  CHECK(findings_in("sim/kernel/a.cpp", "\n#include \"sim/serving/types.hpp\"\n") ==
        std::vector<std::string>{"sim/kernel/a.cpp:2: sim/kernel/ must not see sim/serving/"});
  CHECK(findings_in("sim/resolve/a.hpp", "#include \"sim/report/json.hpp\"\n").size() == 1);
  CHECK(findings_in("sim/app/main.cpp", "#include \"tests/support/fake.hpp\"\n").size() == 1);
}

TEST_CASE("the include checker flags siblings", "[lint]") {
  CHECK(findings_in("sim/metrics/a.cpp", "#include \"workloads/lengths.hpp\"\n").size() == 1);
  CHECK(findings_in("workloads/a.cpp", "#include \"hardware/device.hpp\"\n").size() == 1);
  CHECK(findings_in("hardware/a.cpp", "#include \"scheduler/kv/paged.hpp\"\n").size() == 1);
  CHECK(findings_in("scheduler/batching/a.cpp", "#include \"scheduler/kv/paged.hpp\"\n").size() ==
        1);
  CHECK(findings_in("scheduler/routing/a.cpp", "#include \"scheduler/batching/v.hpp\"\n").size() ==
        1);
}

TEST_CASE("the include checker flags unrooted includes, strange places and misplaced JSON",
          "[lint]") {
  CHECK(findings_in("sim/kernel/a.cpp", "#include \"no/file.hpp\"\n").size() == 1);
  CHECK(findings_in("sim/kernel/a.cpp", "#include \"time.hpp\"\n").size() == 1);  // in no module
  CHECK(findings_in("misc/a.cpp", "#include <vector>\n").size() == 1);
  CHECK(findings_in("sim/serving/a.cpp", "#include <nlohmann/json.hpp>\n").size() == 1);
  CHECK(findings_in("workloads/mix.cpp", "#include <nlohmann/json.hpp>\n").size() == 1);
  CHECK(findings_in("workloads/traces/a.cpp", "#include <nlohmann/json.hpp>\n").empty());
}

TEST_CASE("the CLI11 counter sees every source that includes it", "[lint]") {
  const std::vector<SourceFile> files{{"sim/app/main.cpp", "#include <CLI/CLI.hpp>\n"},
                                      {"sim/app/other.cpp", "#include <CLI/App.hpp>\n"},
                                      {"sim/app/third.cpp", "// #include <CLI/CLI.hpp>\n"}};
  CHECK(files_with_cli11(files) ==
        std::vector<std::string>{"sim/app/main.cpp", "sim/app/other.cpp"});
}

}  // namespace
}  // namespace headroom::lint::include_rules_test
