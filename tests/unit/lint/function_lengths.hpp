#pragma once
// Finds functions in clang-formatted C++ by counting braces, without parsing the language.

#include <cstddef>
#include <string_view>
#include <vector>

namespace headroom::lint {

struct FunctionSpan {
  std::size_t first_line;  // of the declaration, counted from 1
  std::size_t last_line;   // of the closing brace
  [[nodiscard]] std::size_t lines() const { return last_line - first_line + 1; }
};

// The outermost functions of `text`: braces that open after a `)` inside namespaces and types only.
// Lambdas and local types are part of the function around them. Limit: relies on clang-format's
// spacing, which puts a space before the brace of a body and none before that of an initialiser.
[[nodiscard]] std::vector<FunctionSpan> functions_of(std::string_view text);

}  // namespace headroom::lint
