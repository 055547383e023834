#pragma once
// Where a regular expression matches in UTF-8 text, as tokenizer files use them: with Unicode's
// classes and look-ahead (PCRE2).

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace headroom {

// The text would take the expression too long.
class PatternLimit : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct TextSpan {
  std::size_t begin = 0;
  std::size_t end = 0;
  bool is_match = false;
};

class TextPattern {
 public:
  // std::invalid_argument: not a regular expression, and why.
  explicit TextPattern(const std::string& expression);
  // One that is found as it stands; not empty.
  static TextPattern literal(std::string_view text);

  // All of `text` from left to right: the matches and what is between them, none of it empty.
  // `text` is valid UTF-8. PatternLimit.
  [[nodiscard]] std::vector<TextSpan> spans(std::string_view text) const;

 private:
  struct Compiled;
  std::shared_ptr<const Compiled> compiled_;
};

}  // namespace headroom
