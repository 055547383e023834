#include "sim/app/threads.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "sim/kernel/errors.hpp"

namespace headroom {
namespace {

constexpr std::int64_t kMostThreads = 1024;

}  // namespace

std::size_t threads_of(const std::optional<std::int64_t>& given) {
  if (!given) return std::max(1U, std::thread::hardware_concurrency());
  if (*given < 1 || *given > kMostThreads) {
    throw ConfigError(fmt::format("-j {}: expected 1 to {} threads", *given, kMostThreads));
  }
  return static_cast<std::size_t>(*given);
}

}  // namespace headroom
