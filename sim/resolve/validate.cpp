// What a scenario must say, and what may not stand together.

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

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
    if (s_.model.empty())
      s_.refuse_missing("/model", "a model from the catalog, or a config.json (--set model=NAME)");
    if (s_.device.name.empty())
      s_.refuse_missing("/device", "a device from the catalog (--set device=NAME)");
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

namespace {

// What a scenario cannot do without, and an example of it.
struct Needed {
  std::string_view path;
  std::string_view example;
};

std::vector<Needed> needed_of_workload(const Scenario& s) {
  const WorkloadSection& w = s.workload;
  std::vector<Needed> needed;
  const bool listed = !w.classes.empty() || !w.trace.file.empty() || !w.servegen.directory.empty();
  const auto below = [&](std::string_view section) {
    return !s.given_below(fmt::format("/workload/{}", section)).empty();
  };
  if (listed || below("trace") || below("servegen")) return needed;
  const bool counted = w.num_requests || w.num_sessions || w.duration_s;
  if (!counted) needed.push_back({"workload.num_requests", R"("num_requests": 1000)"});
  if (!w.closed_loop.users && !below("arrivals")) {
    needed.push_back({"workload.arrivals", R"("arrivals": 5)"});
  }
  if (s.is_given("/workload/joint_lengths")) return needed;
  if (!below("prompt")) needed.push_back({"workload.prompt", R"("prompt": 3000)"});
  if (!below("output")) needed.push_back({"workload.output", R"("output": 400)"});
  return needed;
}

// Where several things are missing, all of them at once, with a scenario to copy from. One alone is
// explained where it is read.
void check_needed(const Scenario& s) {
  std::vector<Needed> top;
  if (s.model.empty()) top.push_back({"model", R"("model": "llama-3.1-8b")"});
  if (s.device.name.empty()) top.push_back({"device", R"("device": "h100-sxm")"});
  const std::vector<Needed> workload = needed_of_workload(s);
  if (top.size() + workload.size() < 2) return;
  std::string paths;
  const auto block_of = [&paths](const std::vector<Needed>& needed) {
    std::string block;
    for (const Needed& one : needed) {
      paths += fmt::format("{}{}", paths.empty() ? "" : ", ", one.path);
      block += fmt::format("{}{}", block.empty() ? "" : ", ", one.example);
    }
    return block;
  };
  std::string block = block_of(top);
  if (const std::string inner = block_of(workload); !inner.empty()) {
    block += fmt::format(R"({}"workload": {{{}}})", block.empty() ? "" : ", ", inner);
  }
  throw ConfigError(
      Complaint{.kind = ErrorKind::missing,
                .origin = s.file,
                .problem = fmt::format("missing: {}; for example {{{}}}", paths, block)});
}

}  // namespace

void validate(const Scenario& scenario) {
  check_needed(scenario);
  validate_system(scenario);
  validate_workload(scenario);
}

}  // namespace headroom
