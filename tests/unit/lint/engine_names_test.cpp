// What an engine is stands in its folder of sim/engines: code elsewhere asks it for its traits and
// never by its name.

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cctype>
#include <string>
#include <string_view>
#include <vector>

#include "sim/engines/engines.hpp"
#include "tests/unit/lint/source_tree.hpp"

namespace headroom::lint::engine_names_test {
namespace {

// Where names of engines are names of something else.
constexpr std::array<std::string_view, 7> kHomes{
    "sim/engines/",           "tests/",
    "scheduler/batching/",     // policies are named after the engine that has them
    "workloads/traces/",       // formats after the program that writes them
    "sim/fidelity/measured_",  // readers of one published data set each, which names its engines
    "hardware/kernels/",       // tables of one published data set, which names its engines
    "sim/memory/memory_facts"};
// The arrivals of a benchmark program, as users spell them.
constexpr std::string_view kArrivals = "vllm_bench";

bool has_home(std::string_view path) {
  return std::ranges::any_of(kHomes, [&](std::string_view home) { return path.starts_with(home); });
}

// Names that no other word is: not "hf", which model configurations are called after, and not
// "static".
std::vector<std::string> engine_words() {
  std::vector<std::string> words;
  for (const Engine* engine : engines()) {
    if (engine->name.size() >= 3 && engine->name != "static") words.emplace_back(engine->name);
  }
  return words;
}

bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }

// Where the word begins in `text`: behind no letter, or with a capital one ("VllmOptions").
std::size_t find_word(std::string_view text, std::string_view word) {
  const auto same = [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; };
  for (auto at = text.begin(); at != text.end(); ++at) {
    at = std::search(at, text.end(), word.begin(), word.end(), same);
    if (at == text.end()) break;
    const auto place = static_cast<std::size_t>(at - text.begin());
    const bool capital = std::isupper(static_cast<unsigned char>(*at)) != 0;
    const bool allowed = text.substr(place).starts_with(kArrivals);
    if (!allowed && (place == 0 || capital || !is_letter(text[place - 1]))) return place;
  }
  return std::string_view::npos;
}

// In identifiers, and in literals that are names: prose, with blanks, may cite an engine.
std::vector<std::string> findings_in(const SourceFile& file) {
  std::vector<std::string> found;
  const auto look = [&](std::string_view text, std::size_t line) {
    for (const std::string& word : engine_words()) {
      if (find_word(text, word) == std::string_view::npos) continue;
      found.push_back(finding(file.path, line, fmt::format("names the engine {}", word)));
    }
  };
  const std::string code = without_comments_and_literals(file.text);
  const std::vector<std::string_view> lines = lines_of(code);
  for (std::size_t i = 0; i < lines.size(); ++i) look(lines[i], i + 1);
  for (const Literal& literal : string_literals(file.text)) {
    if (literal.text.find(' ') == std::string_view::npos) look(literal.text, literal.line);
  }
  return found;
}

}  // namespace

TEST_CASE("engines are named in sim/engines only") {
  std::vector<std::string> found;
  for (const SourceFile& file : repository_files()) {
    if (!is_cpp(file.path) || has_home(file.path)) continue;
    const std::vector<std::string> in_file = findings_in(file);
    found.insert(found.end(), in_file.begin(), in_file.end());
  }
  INFO(joined(found));
  CHECK(found.empty());
}

TEST_CASE("an engine's name is found in identifiers and names, not in prose, comments and words") {
  const auto count = [](const std::string& text) {
    return findings_in({"sim/resolve/a.cpp", text}).size();
  };
  CHECK(count("if (e.name == \"vllm\") {}") == 1);
  CHECK(count("const VllmOptions& own;\nkTgiFlags;\n") == 2);
  CHECK(count("#include \"sim/engines/vllm/engine.hpp\"\n") == 0);
  CHECK(count("// vLLM does it\nwarn(\"as vllm does\");\n") == 0);
  CHECK(count("\"LlamaForCausalLM\"; \"vllm_bench\";") == 0);
}

}  // namespace headroom::lint::engine_names_test
