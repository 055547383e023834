#include "sim/kernel/partial_path.hpp"

#include <unistd.h>

#include <array>
#include <atomic>
#include <utility>

#include "sim/kernel/check.hpp"

namespace headroom {
namespace {

// More than any command writes at a time: `compare` has two folders of six files.
constexpr std::size_t kMostPartialPaths = 64;

std::array<std::atomic<const char*>, kMostPartialPaths> partial_paths{};
static_assert(std::atomic<const char*>::is_always_lock_free, "read by a signal handler");

void remove_path(const char* path) noexcept {
  if (::unlink(path) != 0) ::rmdir(path);
}

std::size_t keep_for_handler(const char* path) {
  std::size_t slot = 0;
  for (; slot < partial_paths.size(); ++slot) {
    const char* free = nullptr;
    if (partial_paths[slot].compare_exchange_strong(free, path)) break;
  }
  HEADROOM_CHECK(slot < partial_paths.size(), "too many temporary files at a time");
  return slot;
}

}  // namespace

PartialPath::PartialPath(std::string path)
    : path_(std::move(path)), slot_(keep_for_handler(path_.c_str())) {}

PartialPath::~PartialPath() {
  remove_path(path_.c_str());
  partial_paths[slot_] = nullptr;
}

void remove_partial_paths() noexcept {
  for (const std::atomic<const char*>& slot : partial_paths) {
    if (const char* const path = slot) remove_path(path);
  }
}

}  // namespace headroom
