#pragma once
// What is written under a temporary name until it is complete. Neither an error nor a signal that
// ends the program leaves it behind; only SIGKILL does.

#include <cstddef>
#include <string>

namespace headroom {

class PartialPath {
 public:
  // Of a file, or of a folder; nothing need be there yet. Paths in a folder come before the folder.
  explicit PartialPath(std::string path);
  // Removes a file, or an empty folder, that is still there.
  ~PartialPath();
  PartialPath(const PartialPath&) = delete;
  PartialPath& operator=(const PartialPath&) = delete;

  [[nodiscard]] const std::string& text() const { return path_; }

 private:
  std::string path_;
  std::size_t slot_;
};

// Removes all that there are, the earliest first. For a signal handler that ends the program: calls
// only what may be called there.
void remove_partial_paths() noexcept;

}  // namespace headroom
