#pragma once
// A file with given bytes that is gone after the test.

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace headroom {

class TempFile {
 public:
  explicit TempFile(std::string_view content) {
    static int number = 0;
    ++number;
    const std::string name =
        "headroom_" + std::to_string(::getpid()) + "_" + std::to_string(number) + ".csv";
    path_ = std::filesystem::temp_directory_path() / name;
    write(content);
  }
  ~TempFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  TempFile(const TempFile&) = delete;
  TempFile& operator=(const TempFile&) = delete;

  void write(std::string_view content) {
    std::ofstream file(path_, std::ios::binary);
    file << content;
  }
  [[nodiscard]] std::string path() const { return path_.string(); }
  [[nodiscard]] std::string name() const { return path_.filename().string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace headroom
