#pragma once
// A file in memory that others open by a path: much faster than one on a disk.

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <string_view>

#include "sim/kernel/check.hpp"

namespace headroom {

class MemoryFile {
 public:
  MemoryFile() : descriptor_(::memfd_create("headroom", MFD_CLOEXEC)) {
    HEADROOM_CHECK(descriptor_ >= 0, "no file in memory");
  }
  ~MemoryFile() { ::close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  // All it holds from now on.
  void write(std::string_view bytes) const {
    HEADROOM_CHECK(::ftruncate(descriptor_, 0) == 0, "ftruncate");
    const ssize_t written = ::pwrite(descriptor_, bytes.data(), bytes.size(), 0);
    HEADROOM_CHECK(written == static_cast<ssize_t>(bytes.size()), "pwrite");
  }
  // Of this process; a symbolic link to it gives it a name and neighbours.
  [[nodiscard]] std::string path() const { return fmt::format("/proc/self/fd/{}", descriptor_); }

 private:
  int descriptor_;
};

}  // namespace headroom
