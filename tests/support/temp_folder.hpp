#pragma once
// A folder that is gone after the test, with its files.

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace headroom {

class TempFolder {
 public:
  TempFolder() {
    static int number = 0;
    ++number;
    path_ = std::filesystem::temp_directory_path() /
            ("headroom_" + std::to_string(::getpid()) + "_folder_" + std::to_string(number));
    std::filesystem::create_directories(path_);
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  void write(const std::string& name, std::string_view content) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream file(path_ / name, std::ios::binary);
    file << content;
  }
  [[nodiscard]] std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace headroom
