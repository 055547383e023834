// One name, one type: two types of the same name in two files of namespace headroom are taken for
// one by the linker, and whichever members it meets first serve both.

#include <fmt/core.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cctype>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/unit/lint/source_tree.hpp"

namespace headroom::lint::type_names_test {
namespace {

struct NamedType {
  std::string name;  // with its named namespaces
  std::string path;
  std::size_t line = 0;
};

// Walks a file by its braces. Only types directly in named namespaces count: those of anonymous
// namespaces, functions and other types cannot be mistaken.
class TypeFinder {
 public:
  TypeFinder(std::string path, std::string_view text)
      : path_(std::move(path)), text_(without_comments_and_literals(text)) {}

  [[nodiscard]] std::vector<NamedType> found() {
    for (std::size_t i = 0; i < text_.size(); ++i) {
      if (text_[i] == '{') open(i);
      if (text_[i] == '}' && !scopes_.empty()) scopes_.pop_back();
      if (text_[i] == ';' || text_[i] == '{' || text_[i] == '}') head_ = i + 1;
    }
    return std::move(types_);
  }

 private:
  void open(std::size_t brace) {
    const std::vector<std::string> words = words_of(head_, brace);
    const bool in_namespaces = scopes_.empty() || !scopes_.back().empty();
    std::string scope;  // empty: nothing in it counts
    if (in_namespaces && !words.empty() && words.front() == "namespace" && words.size() == 2) {
      scope = (scopes_.empty() ? "" : scopes_.back()) + words[1] + "::";
    } else if (in_namespaces) {
      remember_type(words);
    }
    scopes_.push_back(std::move(scope));
  }

  // `words`: what stands before the brace. Templates may be specialised in many files.
  void remember_type(const std::vector<std::string>& words) {
    const bool is_enum = !words.empty() && words.front() == "enum";
    std::size_t next = is_enum ? 1 : 0;
    const auto is_key = [](const std::string& word) { return word == "struct" || word == "class"; };
    const bool has_key = next < words.size() && is_key(words[next]);
    if (has_key) ++next;
    if (!is_enum && !has_key) return;
    // Qualified: a member of a type that was named before.
    if (next == words.size() || words[next].find("::") != std::string::npos) return;
    const std::string scope = scopes_.empty() ? "" : scopes_.back();
    types_.push_back({scope + words[next], path_, line_of(head_)});
  }

  // Identifiers up to the first of "(:=<" and the like, qualified ones whole ("a::b"), without
  // attributes.
  [[nodiscard]] std::vector<std::string> words_of(std::size_t from, std::size_t to) const {
    std::vector<std::string> words;
    bool in_word = false;
    for (std::size_t i = from; i < to; ++i) {
      if (text_.compare(i, 2, "[[") == 0) i = text_.find("]]", i) + 2;
      const bool qualifier =
          text_.compare(i, 2, "::") == 0 || (i > 0 && text_.compare(i - 1, 2, "::") == 0);
      const auto c = static_cast<unsigned char>(text_[i]);
      const bool letter = std::isalnum(c) != 0 || c == '_' || qualifier;
      if (!letter && std::isspace(c) == 0) break;
      if (letter && !in_word) words.emplace_back();
      if (letter) words.back() += text_[i];
      in_word = letter;
    }
    return words;
  }

  [[nodiscard]] std::size_t line_of(std::size_t at) const {
    while (at < text_.size() && std::isspace(static_cast<unsigned char>(text_[at])) != 0) ++at;
    return 1 + static_cast<std::size_t>(std::count(
                   text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
  }

  std::string path_;
  std::string text_;
  std::size_t head_ = 0;             // where the text before the next brace begins
  std::vector<std::string> scopes_;  // of each open brace, the namespaces up to it
  std::vector<NamedType> types_;
};

std::vector<std::string> clashes(const std::vector<SourceFile>& files) {
  std::map<std::string, NamedType> first;
  std::vector<std::string> findings;
  for (const SourceFile& file : files) {
    if (!is_cpp(file.path)) continue;
    for (NamedType& type : TypeFinder(file.path, file.text).found()) {
      const auto [known, is_new] = first.try_emplace(type.name, type);
      if (is_new) continue;
      findings.push_back(finding(type.path, type.line,
                                 fmt::format("'{}' is the name of a type in {}:{} too", type.name,
                                             known->second.path, known->second.line)));
    }
  }
  return findings;
}

}  // namespace

TEST_CASE("A type's name is found wherever its namespace is named") {
  const std::string text =
      "namespace headroom {\nstruct Row {\n  struct Part {};\n};\nenum class Kind : int { a };\n"
      "namespace {\nstruct Hidden {};\n}\nvoid f() {\n  struct Local {};\n}\n"
      "class [[nodiscard]] Store final : public Base {};\n}\n";
  std::vector<std::string> names;
  for (const NamedType& type : TypeFinder("a.hpp", text).found()) {
    names.push_back(fmt::format("{}:{}", type.name, type.line));
  }
  CHECK(names ==
        std::vector<std::string>{"headroom::Row:2", "headroom::Kind:5", "headroom::Store:12"});
}

TEST_CASE("Two types of one name are a finding, two of two namespaces are none") {
  const SourceFile row{"a.hpp", "namespace headroom {\nstruct Row {};\n}\n"};
  CHECK(clashes({row, {"b.hpp", "namespace headroom {\nstruct Row {};\n}\n"}}) ==
        std::vector<std::string>{"b.hpp:2: 'headroom::Row' is the name of a type in a.hpp:2 too"});
  CHECK(clashes({row, {"b.hpp", "namespace headroom::lint {\nstruct Row {};\n}\n"}}).empty());
  CHECK(clashes({row, {"b.cpp", "namespace headroom {\nstruct Row::Part {};\n}\n"}}).empty());
}

TEST_CASE("No two types of the project share a name") {
  const std::vector<std::string> findings = clashes(repository_files());
  INFO(joined(findings));
  CHECK(findings.empty());
}

}  // namespace headroom::lint::type_names_test
