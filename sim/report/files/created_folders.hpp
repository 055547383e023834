#pragma once
// A folder for results with the folders above it. Those that were not there before, and that stay
// empty, are removed again.

#include <filesystem>
#include <string>

namespace headroom {

class CreatedFolders {
 public:
  // ConfigError: `refusal` and the cause. An empty path is the current folder.
  CreatedFolders(std::filesystem::path folder, const std::string& refusal);
  ~CreatedFolders();
  CreatedFolders(const CreatedFolders&) = delete;
  CreatedFolders& operator=(const CreatedFolders&) = delete;

 private:
  void remove_empty();

  std::filesystem::path folder_;
  std::filesystem::path first_created_;  // the topmost; empty: none
};

}  // namespace headroom
