#pragma once
// A file that is written front to back through one buffer. Every failure, also that of the last
// byte on a full disk, is a ConfigError naming file and cause.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace headroom {

class OutputFile {
 public:
  // `shown_as`: what errors call it; empty: its path.
  explicit OutputFile(const std::string& path, const std::string& shown_as = {});
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(std::string_view text) {
    if (text.size() > space()) {
      write_through(text);
      return;
    }
    append(text);
  }
  // A row of at most `max_bytes`, written in place: `fill(char* at)` returns its end. For tables of
  // millions of rows.
  template <typename Fill>
  void write_row(std::size_t max_bytes, Fill fill) {
    if (space() < max_bytes) flush();
    at_ = fill(at_);
  }

  // Writes the rest and closes; only then is the file complete.
  void close();

 private:
  [[nodiscard]] std::size_t space() const { return static_cast<std::size_t>(end_ - at_); }
  void append(std::string_view text);
  void write_through(std::string_view text);
  void write_all(const char* data, std::size_t size);
  void flush();
  [[noreturn]] void fail() const;

  std::string name_;  // as errors call it
  int file_ = -1;
  std::vector<char> buffer_;
  char* at_ = nullptr;
  char* end_ = nullptr;
};

}  // namespace headroom
