#pragma once
// A file opened for reading, plain or compressed with gzip: what is read is the content.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace headroom {

// A good size of one read: it stays in the second-level cache.
inline constexpr std::size_t kReadBytes = std::size_t{1} << 18;

class InputFile {
 public:
  // DataError when the file cannot be opened or read, or is a directory.
  explicit InputFile(const std::string& path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  // Up to `bytes`; 0 at the end of the content. DataError: a gzip file that is damaged or cut off.
  [[nodiscard]] std::size_t read(char* into, std::size_t bytes);

  // What distinguishes one state of a file from another; all 0 for a pipe.
  struct State {
    bool is_regular = false;
    std::int64_t bytes = 0;  // on the disk: of the compressed file when it is one
    std::int64_t modified_ns = 0;
    friend bool operator==(const State&, const State&) = default;
  };
  [[nodiscard]] State state() const;
  [[nodiscard]] bool is_compressed() const { return inflater_ != nullptr; }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  class Inflater;

  [[nodiscard]] std::size_t read_raw(char* into, std::size_t bytes);
  [[nodiscard]] std::size_t read_start_or_raw(char* into, std::size_t bytes);

  std::string path_;
  int descriptor_ = -1;
  std::string start_;  // read to tell whether the file is compressed, not handed out yet
  std::unique_ptr<Inflater> inflater_;
};

// Hash of a file's content; DataError when it cannot be read or is no longer in this state.
[[nodiscard]] std::string content_sha256(const std::string& path, const InputFile::State& state);

}  // namespace headroom
