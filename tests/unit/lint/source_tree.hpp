#pragma once
// The files of the repository, read as text, for tests about the code itself.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace headroom::lint {

struct SourceFile {
  std::string path;  // from the repository's root, with '/'
  std::string text;
};

// All text files but those of build folders, results and git, sorted by path.
[[nodiscard]] std::vector<SourceFile> repository_files();
[[nodiscard]] bool repository_has(std::string_view path);

[[nodiscard]] bool is_cpp(std::string_view path);     // .cpp or .hpp
[[nodiscard]] bool is_script(std::string_view path);  // shell and CMake

[[nodiscard]] std::vector<std::string_view> lines_of(std::string_view text);

// C++ `text` with comments, preprocessor lines and the contents of string and character literals
// replaced by spaces. Line breaks stay, so positions and line numbers do too.
[[nodiscard]] std::string without_comments_and_literals(std::string_view text);

struct Literal {
  std::size_t line = 1;
  std::string_view text;  // what stands between the quotes
};
// The string literals of C++ `text`, raw ones apart.
[[nodiscard]] std::vector<Literal> string_literals(std::string_view text);

// A broken rule, as "path:line: what".
[[nodiscard]] std::string finding(std::string_view path, std::size_t line, std::string_view what);

// The findings one to a line, for a test's message.
[[nodiscard]] std::string joined(const std::vector<std::string>& findings);

}  // namespace headroom::lint
