#pragma once
// The non-blank lines of a file, read in blocks: constant memory, also from a pipe. LF and CRLF,
// with or without a last newline, an optional UTF-8 byte order mark.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "sim/kernel/digest.hpp"

namespace headroom {

// A file opened for reading. DataError when it cannot be opened or read, or is a directory.
class InputFile {
 public:
  explicit InputFile(const std::string& path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  // Up to `bytes`; 0 at the end of the file.
  [[nodiscard]] std::size_t read(char* into, std::size_t bytes);

  // What distinguishes one state of a file from another; all 0 for a pipe.
  struct State {
    bool is_regular = false;
    std::int64_t bytes = 0;
    std::int64_t modified_ns = 0;
  };
  [[nodiscard]] State state() const;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
  int descriptor_;
};

class LineReader {
 public:
  explicit LineReader(const std::string& path);

  // The next line that is not empty, without its line end; false at the end of the file. Valid
  // until the next call. The byte after a line may be read and is no digit.
  [[nodiscard]] bool next(std::string_view& line);

  [[nodiscard]] std::int64_t line_number() const {
    return line_number_;
  }  // of the latest line, from 1
  [[nodiscard]] const std::string& path() const { return file_.path(); }
  // "path:line", as every message about a row begins.
  [[nodiscard]] std::string place() const;

  // When the file was opened.
  [[nodiscard]] const InputFile::State& file_state() const { return file_state_; }
  // SHA-256 of what was read from a pipe.
  [[nodiscard]] std::string pipe_sha256() const { return hash_.hex(); }

 private:
  [[nodiscard]] bool refill();

  InputFile file_;
  InputFile::State file_state_;
  bool at_end_ = false;
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
    const char* stop = newline;
    if (newline == nullptr) {
      if (!at_end_) {
        if (!refill()) return false;
        continue;
      }
      if (size == 0) return false;
      stop = end_;
    }
    ++line_number_;
    const char* begin = at_;
    at_ = newline == nullptr ? end_ : newline + 1;
    if (stop != begin && stop[-1] == '\r') --stop;
    if (stop == begin) continue;
    line = std::string_view(begin, static_cast<std::size_t>(stop - begin));
    return true;
  }
}

// Hash of a whole file; DataError when it cannot be read or is no longer in this state.
[[nodiscard]] std::string file_sha256(const std::string& path, std::int64_t bytes,
                                      std::int64_t modified_ns);

}  // namespace headroom
