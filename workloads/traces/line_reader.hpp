#pragma once
// The non-blank lines of a file, read in blocks: constant memory, also from a pipe or a gzip file.
// LF and CRLF, with or without a last newline, an optional UTF-8 byte order mark.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "sim/kernel/digest.hpp"
#include "workloads/traces/input_file.hpp"

namespace headroom {

// The beginning of a file, as much as is needed to detect its format.
struct FileStart {
  std::string_view first_line;  // the first one that is not blank; cut at the end of `bytes`
  std::string_view bytes;       // from there on, at least 64 KiB unless the file is shorter
};

class LineReader {
 public:
  static constexpr std::size_t kMaxLineBytes = std::size_t{1} << 28;

  // A line of so many bytes or more is a DataError; `max_line_bytes` is a power of two >= 2^18.
  explicit LineReader(const std::string& path, std::size_t max_line_bytes = kMaxLineBytes);

  // What is not read yet. Valid until the next call of any other function.
  [[nodiscard]] FileStart start();

  // The next line that is not empty, without its line end; false at the end of the file. Valid
  // until the next call. The byte after a line may be read and is no digit.
  [[nodiscard]] bool next(std::string_view& line);

  // The latest line was the last of the file and has no line end.
  [[nodiscard]] bool ends_open() const { return ends_open_; }

  // Bytes as they are, for formats that are one document: the rest of the current block, then
  // block by block; empty at the end of the file. Not to be mixed with `next`.
  [[nodiscard]] std::string_view next_block();

  // Of the latest line, from 1; in a document, of the end of the latest block.
  [[nodiscard]] std::int64_t line_number() const { return line_number_; }
  [[nodiscard]] const std::string& path() const { return file_.path(); }
  // "path:line", as every message about a row begins.
  [[nodiscard]] std::string place() const;

  // When the file was opened.
  [[nodiscard]] const InputFile::State& file_state() const { return file_state_; }
  [[nodiscard]] bool is_compressed() const { return file_.is_compressed(); }
  // SHA-256 of what was read from a pipe.
  [[nodiscard]] std::string pipe_sha256() const { return hash_.hex(); }

 private:
  [[nodiscard]] bool refill();
  [[nodiscard]] const char* read_to_newline();

  InputFile file_;
  std::size_t max_line_bytes_;
  InputFile::State file_state_;
  bool at_end_ = false;
  bool ends_open_ = false;
  std::int64_t line_number_ = 0;
  Sha256 hash_;
  std::vector<char> buffer_;
  const char* at_ = nullptr;  // unread part of the buffer: [at_, end_), *end_ = 0
  const char* end_ = nullptr;
};

inline bool LineReader::next(std::string_view& line) {
  while (true) {
    const auto size = static_cast<std::size_t>(end_ - at_);
    const char* newline = static_cast<const char*>(std::memchr(at_, '\n', size));
    if (newline == nullptr) newline = read_to_newline();
    if (newline == nullptr && at_ == end_) return false;
    if (newline == nullptr) ends_open_ = true;
    ++line_number_;
    const char* begin = at_;
    const char* stop = newline == nullptr ? end_ : newline;
    at_ = newline == nullptr ? end_ : newline + 1;
    if (stop != begin && stop[-1] == '\r') --stop;
    if (stop == begin) continue;
    line = std::string_view(begin, static_cast<std::size_t>(stop - begin));
    return true;
  }
}

}  // namespace headroom
