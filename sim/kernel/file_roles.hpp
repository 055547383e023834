#pragma once
// Which files this program has read and which it is writing. A file that is read is never replaced,
// whatever it is called (`./x`, a symbolic link, a hard link): every reader and every writer of
// files says so here, and the one that comes second is refused.

#include <optional>
#include <string>
#include <utility>

#include <sys/types.h>

namespace headroom {

// Where a file lies on this machine: the same for all its names.
using FilePlace = std::pair<dev_t, ino_t>;

// A file is opened for reading. ConfigError: it is being written. Only regular files count.
void note_input(const std::string& path);

// A file or folder that is to be replaced, from before the work until it has been.
class OutputRole {
 public:
  // ConfigError: a file that was read, or a file in a folder that is to be replaced as a whole.
  explicit OutputRole(const std::string& path);
  ~OutputRole();
  OutputRole(const OutputRole&) = delete;
  OutputRole& operator=(const OutputRole&) = delete;

 private:
  std::optional<FilePlace> place_;  // empty: there is nothing to replace yet
};

}  // namespace headroom
