// What a scenario must say, and what may not stand together.

#include <fmt/format.h>

#include <algorithm>

#include "scheduler/batching/policies.hpp"
#include "scheduler/kv/contiguous.hpp"
#include "sim/resolve/resolve.hpp"
#include "sim/scenario/options.hpp"

namespace headroom {
namespace {

class Validator {
 public:
  explicit Validator(const Scenario& scenario) : s_(scenario) {}

  void system() const {
    if (s_.model.empty()) s_.refuse_missing("/model", "a model from the catalog, or a config.json");
    if (s_.device.name.empty()) s_.refuse_missing("/device", "a device from the catalog");
    if (s_.engine.num_gpu_blocks_override && s_.engine.kv_cache_memory_bytes) {
      s_.refuse("/engine/num_gpu_blocks_override",
                "the KV pool has one size: set this or kv_cache_memory_bytes, not both");
    }
    check_parts(batch_policy(switch_state("/engine/scheduler", s_)),
                switch_state("/engine/kv_allocator", s_));
    const auto& contiguous = s_.engine.own.get<ContiguousOptions>();
    if (contiguous.kv_compaction && contiguous.kv_placement == "buddy") {
      s_.refuse("/engine/kv_compaction", "buddy blocks have fixed places and cannot be moved");
    }
    const auto api = s_.given.lower_bound("/engine/api_server/");
    if (!s_.engine.has_api_server() && api != s_.given.end() &&
        api->first.starts_with("/engine/api_server/")) {
      s_.refuse_unused(api->first, " without engine.api_server_count");
    }
    if (s_.cost.level == "table" && s_.cost.tables.empty()) {
      s_.refuse_missing("/cost/tables", "a folder of kernel times, for level table");
    }
  }

 private:
  void check_parts(const BatchPolicy& policy, std::string_view allocator) const {
    if (std::ranges::find(policy.allocators, allocator) != policy.allocators.end()) return;
    s_.refuse(s_.engine.kv_allocator ? "/engine/kv_allocator" : "/engine/scheduler",
              fmt::format("scheduler {} does not work with kv_allocator {}: expected {}",
                          policy.name, allocator, fmt::join(policy.allocators, " or ")));
  }

  const Scenario& s_;
};

}  // namespace

void validate_system(const Scenario& scenario) { Validator(scenario).system(); }

void validate(const Scenario& scenario) {
  validate_system(scenario);
  validate_workload(scenario);
}

}  // namespace headroom
