#include "tests/unit/lint/function_lengths.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

#include "tests/unit/lint/source_tree.hpp"

namespace headroom::lint {
namespace {

enum class Scope { named, function, other };  // named: namespace or type

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \n");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \n") - begin + 1);
}

// `head` without the `template <...>` in front.
std::string_view without_template(std::string_view head) {
  if (!head.starts_with("template")) return head;
  int depth = 0;
  for (std::size_t i = 0; i < head.size(); ++i) {
    if (head[i] == '<') ++depth;
    if (head[i] == '>' && --depth == 0) return trimmed(head.substr(i + 1));
  }
  return head;
}

// What a brace opens, from the text between the end of the statement before and the brace.
Scope scope_after(std::string_view head) {
  head = without_template(trimmed(head));
  constexpr std::array<std::string_view, 7> kNaming{
      "namespace", "inline namespace", "class", "struct", "enum", "union", "extern"};
  const bool named = std::ranges::any_of(kNaming, [&](std::string_view word) {
    return head.starts_with(word) && (head.size() == word.size() || !is_word(head[word.size()]));
  });
  if (named) return Scope::named;
  return head.find(')') != std::string_view::npos && !head.ends_with('=') ? Scope::function
                                                                          : Scope::other;
}

class FunctionFinder {
 public:
  explicit FunctionFinder(std::string_view text) : text_(text) {}

  std::vector<FunctionSpan> run() {
    for (at_ = 0; at_ < text_.size(); ++at_) {
      if (text_[at_] == '\n') ++line_;
      step(text_[at_]);
    }
    return std::move(found_);
  }

 private:
  void step(char c) {
    if (c != ' ' && c != '\n' && head_empty_) {
      head_empty_ = false;
      head_begin_ = at_;
      head_line_ = line_;
    }
    if (c == '(') ++parens_;
    if (c == ')') --parens_;
    if (c == '{') open();
    if (c == '}') close();
    if (c == ';' && parens_ == 0 && initialisers_ == 0) head_empty_ = true;
    if (c == ':' && is_access_label()) head_empty_ = true;
  }

  void open() {
    const bool initialiser = parens_ > 0 || initialisers_ > 0 || is_glued(at_);
    if (inside_function_ == 0 && initialiser) {
      ++initialisers_;
      return;
    }
    const std::string_view head = text_.substr(head_begin_, at_ - head_begin_);
    const Scope scope = inside_function_ > 0 ? Scope::function : scope_after(head);
    scopes_.push_back(scope);
    if (scope == Scope::function && inside_function_++ == 0) first_line_ = head_line_;
    if (inside_function_ == 0) head_empty_ = true;
  }

  void close() {
    if (initialisers_ > 0) {
      --initialisers_;
      return;
    }
    if (scopes_.empty()) return;  // unbalanced: not C++ that compiles
    const Scope scope = scopes_.back();
    scopes_.pop_back();
    if (scope == Scope::function && --inside_function_ == 0) found_.push_back({first_line_, line_});
    if (inside_function_ == 0) head_empty_ = true;
  }

  // `name{` and `name<T>{` are initialisers: of a member in a constructor, of a variable.
  [[nodiscard]] bool is_glued(std::size_t brace) const {
    return brace > 0 && (is_word(text_[brace - 1]) || text_[brace - 1] == '>');
  }

  [[nodiscard]] bool is_access_label() const {
    const std::string_view head = trimmed(text_.substr(head_begin_, at_ - head_begin_));
    return head == "public" || head == "private" || head == "protected";
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
  std::size_t head_begin_ = 0;  // of the statement being read
  std::size_t head_line_ = 1;
  bool head_empty_ = true;
  int parens_ = 0;
  int initialisers_ = 0;  // open braces of initialisers outside functions
  int inside_function_ = 0;
  std::size_t first_line_ = 0;  // of the outermost open function
  std::vector<Scope> scopes_;
  std::vector<FunctionSpan> found_;
};

}  // namespace

std::vector<FunctionSpan> functions_of(std::string_view text) {
  const std::string code = without_comments_and_literals(text);
  return FunctionFinder(code).run();
}

}  // namespace headroom::lint
