#pragma once
// A file that takes the place of another one only when it is complete: it is written beside it, so
// that an error leaves what was there before.

#include <optional>
#include <string>
#include <string_view>

#include "sim/kernel/file_roles.hpp"
#include "sim/kernel/partial_path.hpp"
#include "sim/report/files/output_file.hpp"

namespace headroom {

class ReplacedFile {
 public:
  // ConfigError: cannot be written, or is read here (file_roles.hpp). What is no regular file (a
  // pipe, /dev/null) is written directly.
  explicit ReplacedFile(const std::string& target);

  void write(std::string_view text);
  // Without this nothing is left behind.
  void publish();
  void publish(std::string_view whole) {
    write(whole);
    publish();
  }

 private:
  std::string name_;    // as the caller knows it
  std::string target_;  // behind links
  OutputRole role_;
  std::optional<PartialPath> working_;  // empty: published, or written directly
  std::optional<OutputFile> file_;
};

}  // namespace headroom
