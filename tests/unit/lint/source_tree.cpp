#include "tests/unit/lint/source_tree.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace headroom::lint {
namespace {

namespace fs = std::filesystem;

const fs::path kRoot = HEADROOM_SOURCE_DIR;

bool is_skipped_folder(const std::string& path) {
  constexpr std::array<std::string_view, 4> kSkipped{".git", "build", "results", ".cache"};
  return std::ranges::find(kSkipped, path) != kSkipped.end() || path.ends_with("__pycache__");
}

std::string read(const fs::path& file) {
  std::ostringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  return std::move(text).str();
}

bool has_suffix(std::string_view path, std::initializer_list<std::string_view> suffixes) {
  return std::ranges::any_of(suffixes, [&](auto suffix) { return path.ends_with(suffix); });
}

// Blanks `text` up to `end`, line breaks excepted.
void blank(std::string& text, std::size_t begin, std::size_t end) {
  end = std::min(end, text.size());
  for (std::size_t i = begin; i < end; ++i) {
    if (text[i] != '\n') text[i] = ' ';
  }
}

std::size_t after(std::string_view text, std::string_view closing, std::size_t from) {
  const std::size_t at = text.find(closing, from);
  return at == std::string_view::npos ? text.size() : at + closing.size();
}

// The end of the line at `from`, lines joined by a backslash included.
std::size_t logical_line_end(std::string_view text, std::size_t from) {
  std::size_t end = text.find('\n', from);
  while (end != std::string_view::npos && end > from && text[end - 1] == '\\') {
    end = text.find('\n', end + 1);
  }
  return std::min(end, text.size());
}

// The position after the literal whose opening quote is at `open`.
std::size_t literal_end(std::string_view text, std::size_t open) {
  for (std::size_t i = open + 1; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == text[open] || text[i] == '\n') {
      return i + 1;
    }
  }
  return text.size();
}

bool is_digit_separator(std::string_view text, std::size_t at) {
  const auto is_hex = [](char c) { return std::string_view("0123456789abcdefABCDEF").find(c); };
  return at > 0 && at + 1 < text.size() && is_hex(text[at - 1]) != std::string_view::npos &&
         is_hex(text[at + 1]) != std::string_view::npos;
}

}  // namespace

std::vector<SourceFile> repository_files() {
  std::vector<SourceFile> files;
  for (auto it = fs::recursive_directory_iterator(kRoot); it != fs::recursive_directory_iterator();
       ++it) {
    const std::string path = it->path().lexically_relative(kRoot).generic_string();
    if (it->is_directory() && is_skipped_folder(path)) it.disable_recursion_pending();
    if (!it->is_regular_file() || path == ".git") continue;  // a worktree's .git is a file
    std::string text = read(it->path());
    if (text.find('\0') == std::string::npos) files.push_back({path, std::move(text)});
  }
  std::ranges::sort(files, {}, &SourceFile::path);
  return files;
}

bool repository_has(std::string_view path) { return fs::is_regular_file(kRoot / path); }

bool is_cpp(std::string_view path) { return has_suffix(path, {".cpp", ".hpp"}); }

bool is_script(std::string_view path) {
  return has_suffix(path, {".sh", ".cmake", "CMakeLists.txt", ".ci/run"});
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

namespace {

// Calls `on_piece(begin, end, is_string)` for each comment, preprocessor line and literal.
template <typename OnPiece>
void for_each_piece(std::string_view text, OnPiece on_piece) {
  bool line_start = true;
  for (std::size_t i = 0; i < text.size();) {
    const std::string_view rest = text.substr(i);
    const std::size_t begin = i;
    const bool is_string = rest.starts_with('"');
    if ((line_start && rest.starts_with('#')) || rest.starts_with("//")) {
      i = logical_line_end(text, i);
    } else if (rest.starts_with("/*")) {
      i = after(text, "*/", i + 2);
    } else if (rest.starts_with("R\"")) {
      const std::size_t paren = text.find('(', i);
      const std::string closing = ")" + std::string(text.substr(i + 2, paren - i - 2)) + "\"";
      i = after(text, closing, i);
    } else if (is_string || (rest.starts_with('\'') && !is_digit_separator(text, i))) {
      i = literal_end(text, i);
    } else {
      line_start = rest.front() == '\n' || (line_start && rest.front() == ' ');
      ++i;
      continue;
    }
    on_piece(begin, i, is_string);
    line_start = false;
  }
}

}  // namespace

std::string without_comments_and_literals(std::string_view text) {
  std::string out(text);
  for_each_piece(text, [&](std::size_t begin, std::size_t end, bool) { blank(out, begin, end); });
  return out;
}

std::vector<Literal> string_literals(std::string_view text) {
  std::vector<Literal> literals;
  std::size_t line = 1;
  std::size_t counted = 0;
  for_each_piece(text, [&](std::size_t begin, std::size_t end, bool is_string) {
    if (!is_string) return;
    line += static_cast<std::size_t>(std::count(text.begin() + static_cast<std::ptrdiff_t>(counted),
                                                text.begin() + static_cast<std::ptrdiff_t>(begin),
                                                '\n'));
    counted = begin;
    literals.push_back({line, text.substr(begin + 1, end - begin - 2)});
  });
  return literals;
}

std::string finding(std::string_view path, std::size_t line, std::string_view what) {
  return fmt::format("{}:{}: {}", path, line, what);
}

std::string joined(const std::vector<std::string>& findings) {
  std::string text;
  for (const std::string& line : findings) text += line + "\n";
  return text;
}

}  // namespace headroom::lint
