#include "sim/kernel/check.hpp"

#include <fmt/format.h>

#include <string_view>

namespace headroom {
namespace {

// From "sim/", "scheduler/" ... on, so that a message does not depend on where the sources lie.
std::string_view path_in_repository(std::string_view path) {
  for (const std::string_view top :
       {"/sim/", "/scheduler/", "/workloads/", "/hardware/", "/tests/"}) {
    const auto at = path.rfind(top);
    if (at != std::string_view::npos) return path.substr(at + 1);
  }
  return path;
}

}  // namespace

RunPosition& run_position() {
  thread_local RunPosition position;
  return position;
}

void check_failed(const char* condition, const char* file, int line, std::string_view detail) {
  const RunPosition& at = run_position();
  throw InternalError(fmt::format(
      "internal error: {} (check `{}` failed at {}:{}; simulated time {} ns, event {}, seed {})",
      detail, condition, path_in_repository(file), line, at.now_ns, at.event, at.seed));
}

}  // namespace headroom
