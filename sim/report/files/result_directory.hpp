#pragma once
// Where result files go: all of them at once, or none. They are written to a directory beside the
// target, which takes the target's place only when everything is on disk.

#include <deque>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "sim/kernel/file_roles.hpp"
#include "sim/kernel/partial_path.hpp"
#include "sim/report/files/created_folders.hpp"

namespace headroom {

class ResultDirectory {
 public:
  // Creates missing parents and the temporary directory, so that an output that cannot work fails
  // before the simulation. ConfigError: not writable, or the target holds something that is not a
  // result, or that is read here. `others`: names of files that are written beside the results.
  explicit ResultDirectory(const std::string& target, std::vector<std::string> others = {});
  // Without `publish` nothing is left behind.
  ~ResultDirectory();
  ResultDirectory(const ResultDirectory&) = delete;
  ResultDirectory& operator=(const ResultDirectory&) = delete;

  // Where to write the file `name` now.
  [[nodiscard]] std::string path(const std::string& name) const {
    return (working_ / name).string();
  }
  // Moves the target to a free name (demo-2, demo-3, ...) where the results that lie there are of
  // another scenario than those written now: other values, or another trace.
  void avoid_others();
  // Replaces earlier results of the target by what was written.
  void publish();
  [[nodiscard]] std::string target() const { return target_.string(); }

 private:
  void check_target() const;

  std::filesystem::path target_;
  std::vector<std::string> names_;  // of all files
  std::deque<OutputRole> roles_;    // of the files that may be in the target, and of the target
  std::optional<CreatedFolders> parents_;
  std::filesystem::path working_;
  std::deque<PartialPath> partial_;  // the working directory and what it may hold
};

}  // namespace headroom
