// The hard limits of the style: file 500 lines, function 70 lines, line 100 columns; no tabs, a
// line break at the end of every file, `#pragma once` at the head of every header.

#include <fmt/core.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "tests/unit/lint/function_lengths.hpp"
#include "tests/unit/lint/source_tree.hpp"

namespace headroom::lint::style_limits_test {
namespace {

constexpr std::size_t kMaxFileLines = 500;
constexpr std::size_t kMaxFunctionLines = 70;
constexpr std::size_t kMaxColumns = 100;

// Characters, not bytes: continuation bytes of UTF-8 do not count.
std::size_t columns(std::string_view line) {
  return static_cast<std::size_t>(
      std::ranges::count_if(line, [](char c) { return (c & '\xC0') != '\x80'; }));
}

void check_lines(const SourceFile& file, std::vector<std::string>& findings) {
  const std::vector<std::string_view> lines = lines_of(file.text);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (columns(lines[i]) > kMaxColumns) {
      findings.push_back(finding(file.path, i + 1, fmt::format("{} columns", columns(lines[i]))));
    }
    if (lines[i].find('\t') != std::string_view::npos) {
      findings.push_back(finding(file.path, i + 1, "tab"));
    }
  }
  if (!file.text.empty() && !file.text.ends_with('\n')) {
    findings.push_back(finding(file.path, lines.size(), "no line break at the end"));
  }
  if (lines.size() > kMaxFileLines) {
    findings.push_back(finding(file.path, lines.size(), "file too long"));
  }
}

void check_functions(const SourceFile& file, std::vector<std::string>& findings) {
  for (const FunctionSpan& function : functions_of(file.text)) {
    if (function.lines() > kMaxFunctionLines) {
      const std::string what = fmt::format("function of {} lines", function.lines());
      findings.push_back(finding(file.path, function.first_line, what));
    }
  }
}

std::vector<std::string> style_findings(const std::vector<SourceFile>& files) {
  std::vector<std::string> findings;
  for (const SourceFile& file : files) {
    if (!is_cpp(file.path) && !is_script(file.path)) continue;
    check_lines(file, findings);
    if (is_cpp(file.path)) check_functions(file, findings);
    if (file.path.ends_with(".hpp") && !file.text.starts_with("#pragma once\n")) {
      findings.push_back(finding(file.path, 1, "a header starts with #pragma once"));
    }
  }
  return findings;
}

std::vector<std::string> findings_in(std::string path, std::string text) {
  return style_findings({{std::move(path), std::move(text)}});
}

std::string repeated(std::string_view line, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += line;
  return text;
}

// (first line, length) of each function.
std::vector<std::pair<std::size_t, std::size_t>> functions(std::string_view text) {
  std::vector<std::pair<std::size_t, std::size_t>> spans;
  for (const FunctionSpan& f : functions_of(text)) spans.emplace_back(f.first_line, f.lines());
  return spans;
}

using Spans = std::vector<std::pair<std::size_t, std::size_t>>;

TEST_CASE("the repository keeps the style's hard limits", "[lint]") {
  const std::vector<std::string> findings = style_findings(repository_files());
  INFO(joined(findings));
  CHECK(findings.empty());
}

TEST_CASE("a file of 500 lines passes and one of 501 is flagged", "[lint]") {
  CHECK(findings_in("a.cpp", repeated("int x;\n", 500)).empty());
  CHECK(findings_in("a.cpp", repeated("int x;\n", 501)) ==
        std::vector<std::string>{"a.cpp:501: file too long"});
}

TEST_CASE("a line of 100 columns passes and one of 101 is flagged, in UTF-8 characters", "[lint]") {
  CHECK(findings_in("a.cpp", "//" + repeated("x", 98) + "\n").empty());
  CHECK(findings_in("a.cpp", "//" + repeated("\u00b2", 98) + "\n").empty());
  CHECK(findings_in("a.cpp", "\n//" + repeated("x", 99) + "\n") ==
        std::vector<std::string>{"a.cpp:2: 101 columns"});
  CHECK(findings_in("a.sh", repeated("x", 101) + "\n").size() == 1);
}

TEST_CASE("tabs, a missing last line break and a header without pragma once are flagged",
          "[lint]") {
  CHECK(findings_in("a.cpp", "\tint x;\n") == std::vector<std::string>{"a.cpp:1: tab"});
  CHECK(findings_in("a.cpp", "int x;").size() == 1);
  CHECK(findings_in("a.hpp", "#pragma once\nint x;\n").empty());
  CHECK(findings_in("a.hpp", "// first\n#pragma once\n").size() == 1);
}

TEST_CASE("a function of 70 lines passes and one of 71 is flagged", "[lint]") {
  // 1 line of declaration + statements + 1 line with the closing brace
  CHECK(findings_in("a.cpp", "int f(int x) {\n" + repeated("  ++x;\n", 68) + "}\n").empty());
  CHECK(findings_in("a.cpp", "\nint f(int x) {\n" + repeated("  ++x;\n", 69) + "}\n") ==
        std::vector<std::string>{"a.cpp:2: function of 71 lines"});
}

TEST_CASE("functions are found in namespaces, types and templates", "[lint]") {
  CHECK(functions("namespace a::b {\nnamespace {\n\nvoid f() {\n}\n}\n}\n") == Spans{{4, 2}});
  CHECK(
      functions("class A final : public B<int> {\n public:\n  int f() const { return 1; }\n};\n") ==
      Spans{{3, 1}});
  CHECK(functions("template <class T, int N = (1)>\nvoid f(T) {\n\n}\n") == Spans{{1, 4}});
  CHECK(functions("TEST_CASE(\"{ a\", \"[b]\") {\n  g();\n}\n") == Spans{{1, 3}});
  CHECK(functions("const auto f = [](int x) {\n  return x;\n};\nint g() {\n}\n") ==
        Spans{{1, 3}, {4, 2}});
}

TEST_CASE("what is inside a function counts once, with the function", "[lint]") {
  CHECK(functions("int f() {\n  auto g = [](int x) {\n    return x;\n  };\n"
                  "  struct A {\n    int h() { return 1; }\n  };\n  if (x) {\n  }\n}\n") ==
        Spans{{1, 10}});
}

TEST_CASE("braces of data, initialisers, literals and comments open no function", "[lint]") {
  CHECK(functions("enum class E : int { a, b };\nconstexpr int k[] = {f(1), 2};\n").empty());
  CHECK(functions("const std::array<A, 2> kTable{{\n    {g(1), 2},\n    {3, 4},\n}};\n").empty());
  CHECK(functions("struct A {\n  int x{f()};\n  B b = {g(), 1};\n};\n").empty());
  CHECK(functions("// void f() {\n/* g() { */\nconst char c = '{';\nconst char* s = \"h() {\";\n")
            .empty());
  CHECK(functions("#define M(x) \\\n  void f() {\nconst char* s = R\"x(i() {)\")x\";\n").empty());
  CHECK(functions("int f() { return 1'000 + '{' + g(\"}\"); }\nvoid h() {\n}\n") ==
        Spans{{1, 1}, {2, 2}});
}

TEST_CASE("a constructor's initialisers belong to it", "[lint]") {
  CHECK(functions("A::A(int x)\n    : a_{x},\n      b_(std::vector<int>{1, 2}),\n"
                  "      c_{f({3})} {\n  g();\n}\nvoid h() {\n}\n") == Spans{{1, 6}, {7, 2}});
}

}  // namespace
}  // namespace headroom::lint::style_limits_test
