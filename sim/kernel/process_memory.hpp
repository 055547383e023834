#pragma once
// How much memory this program may take on the machine it runs on.

#include <cstdint>
#include <filesystem>

namespace headroom {

// Where Linux says so; tests put other files there.
struct MemoryLimitFiles {
  std::filesystem::path groups_of_process = "/proc/self/cgroup";
  std::filesystem::path groups = "/sys/fs/cgroup";
};

// Bytes: the machine's memory, or the smallest limit of the control groups around the program
// (a container's, a batch system's) where that is less.
[[nodiscard]] std::int64_t process_memory_bytes(const MemoryLimitFiles& files = {});

}  // namespace headroom
