// What a scenario must say, and what may not stand together.

#include <fmt/format.h>

#include "sim/setup/resolve.hpp"

namespace headroom {
namespace {

class Validator {
 public:
  explicit Validator(const Scenario& scenario) : s_(scenario) {}

  void system() const {
    if (s_.model.empty()) missing("/model", "a model of the catalog, or a config.json");
    if (s_.device.name.empty()) missing("/device", "a device of the catalog");
    if (s_.engine.num_gpu_blocks_override && s_.engine.kv_cache_memory_bytes) {
      refuse("/engine/num_gpu_blocks_override",
             "the KV pool has one size: give this or kv_cache_memory_bytes, not both");
    }
    const EngineProfile& profile = engine_profile(s_.engine.name);
    if (!s_.engine.scheduler && !profile.scheduler) return;
    const auto scheduler =
        s_.engine.scheduler ? scheduler_kind(*s_.engine.scheduler) : *profile.scheduler;
    const auto allocator =
        s_.engine.kv_allocator ? allocator_kind(*s_.engine.kv_allocator) : profile.allocator;
    if (scheduler == SchedulerKind::vllm && allocator == AllocatorKind::contiguous) {
      refuse(s_.engine.kv_allocator ? "/engine/kv_allocator" : "/engine/scheduler",
             "scheduler vllm grows requests block by block: it needs kv_allocator paged");
    }
  }

 private:
  [[nodiscard]] std::string origin(const std::string& pointer) const {
    const auto found = s_.given.find(pointer);
    return found == s_.given.end() ? s_.file : found->second;
  }
  [[noreturn]] void missing(const std::string& pointer, std::string_view wanted) const {
    throw ConfigError(fmt::format("{}: {}: missing: expected {}", s_.file, pointer, wanted));
  }
  [[noreturn]] void refuse(const std::string& pointer, std::string_view why) const {
    throw ConfigError(fmt::format("{}: {}: {}", origin(pointer), pointer, why));
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
