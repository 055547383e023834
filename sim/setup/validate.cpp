// What a scenario must say, and what may not stand together.

#include <fmt/format.h>

#include "sim/setup/options.hpp"
#include "sim/setup/resolve.hpp"

namespace headroom {
namespace {

class Validator {
 public:
  explicit Validator(const Scenario& scenario) : s_(scenario) {}

  void system() const {
    if (s_.model.empty()) s_.refuse_missing("/model", "a model of the catalog, or a config.json");
    if (s_.device.name.empty()) s_.refuse_missing("/device", "a device of the catalog");
    if (s_.engine.num_gpu_blocks_override && s_.engine.kv_cache_memory_bytes) {
      s_.refuse("/engine/num_gpu_blocks_override",
                "the KV pool has one size: give this or kv_cache_memory_bytes, not both");
    }
    check_parts(scheduler_kind(switch_state("/engine/scheduler", s_)),
                allocator_kind(switch_state("/engine/kv_allocator", s_)));
    if (s_.engine.kv_compaction && s_.engine.kv_placement == "buddy") {
      s_.refuse("/engine/kv_compaction", "buddy blocks have fixed places: nothing can be moved");
    }
    const auto api = s_.given.lower_bound("/engine/api_server/");
    if (!s_.engine.api_server_count && api != s_.given.end() &&
        api->first.starts_with("/engine/api_server/")) {
      s_.refuse_unused(api->first, " without engine.api_server_count");
    }
    if (s_.cost.level == "table" && s_.cost.tables.empty()) {
      s_.refuse_missing("/cost/tables", "a folder of kernel times, for level table");
    }
  }

 private:
  void check_parts(SchedulerKind scheduler, AllocatorKind allocator) const {
    const std::string pointer =
        s_.engine.kv_allocator ? "/engine/kv_allocator" : "/engine/scheduler";
    const bool reserves = scheduler == SchedulerKind::orca || scheduler == SchedulerKind::tgi ||
                          scheduler == SchedulerKind::static_batch;
    if (allocator == AllocatorKind::contiguous && !reserves) {
      s_.refuse(pointer, fmt::format("scheduler {} grows requests block by block: it needs "
                                     "kv_allocator {}",
                                     name_of(scheduler),
                                     scheduler == SchedulerKind::llamacpp ? "slots" : "paged"));
    }
    if ((allocator == AllocatorKind::slots) != (scheduler == SchedulerKind::llamacpp)) {
      s_.refuse(pointer, "kv_allocator slots and scheduler llamacpp go together only");
    }
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
