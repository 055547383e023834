#include "sim/kernel/process_memory.hpp"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <string_view>

#include "sim/kernel/saturating.hpp"

namespace headroom {
namespace {

namespace fs = std::filesystem;

// The smallest number in the files `name` in `root` / `group` and above it up to `root`. Files that
// are not there, or hold a word ("max"), set no limit.
std::int64_t smallest_limit(const fs::path& root, const std::string& group, std::string_view name) {
  std::int64_t smallest = INT64_MAX;
  fs::path at = fs::path(group).relative_path();
  while (true) {
    std::int64_t limit = 0;
    if (std::ifstream(root / at / name) >> limit) smallest = std::min(smallest, limit);
    if (at.empty()) return smallest;
    at = at.parent_path();
  }
}

}  // namespace

std::int64_t process_memory_bytes(const MemoryLimitFiles& files) {
  std::int64_t bytes = saturating_product(::sysconf(_SC_PHYS_PAGES), ::sysconf(_SC_PAGE_SIZE));
  std::ifstream groups(files.groups_of_process);
  // Lines "0::GROUP" (version 2) and "NUMBER:memory:GROUP" (version 1), man 7 cgroups.
  for (std::string line; std::getline(groups, line);) {
    constexpr std::string_view kSecondVersion = "0::";
    constexpr std::string_view kFirstVersion = ":memory:";
    const std::size_t first = line.find(kFirstVersion);
    if (line.starts_with(kSecondVersion)) {
      const std::string group = line.substr(kSecondVersion.size());
      bytes = std::min(bytes, smallest_limit(files.groups, group, "memory.max"));
    } else if (first != std::string::npos) {
      const std::string group = line.substr(first + kFirstVersion.size());
      bytes =
          std::min(bytes, smallest_limit(files.groups / "memory", group, "memory.limit_in_bytes"));
    }
  }
  return bytes;
}

}  // namespace headroom
