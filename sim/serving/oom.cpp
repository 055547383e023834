#include "sim/serving/oom.hpp"

namespace headroom {

std::string_view name_of(OomKind kind) {
  static constexpr std::array<std::string_view, 10> kNames{
      "startup",      "rejected_too_long", "runtime_device", "fragmentation",           "thrash",
      "runtime_host", "cgroup_kill",       "host_freeze",    "context_length_exceeded", "kv_cells"};
  return kNames[static_cast<std::size_t>(kind)];
}

}  // namespace headroom
