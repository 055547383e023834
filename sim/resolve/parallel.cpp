#include "sim/resolve/parallel.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "scheduler/batching/policies.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/resolve/kv_tier.hpp"

namespace headroom {
namespace {

class Check {
 public:
  explicit Check(const Resolved& resolved) : r_(resolved), s_(resolved.sharding) {}

  void run() const {
    if (s_.pipeline > 1) check_pipeline();
    if (s_.data > 1) check_data();
    if (s_.context > 1) check_context();
    if (s_.expert_parallel) check_experts();
    check_settings();
  }

 private:
  void check_pipeline() const {
    const char* const at = "/engine/pipeline_parallel_size";
    if (!r_.scheduler->traits.has_stages) {
      refuse_of_others(at, "a run models pipeline stages only with schedulers",
                       &BatchTraits::has_stages);
    }
    check_common(at);
    if (s_.data > 1)
      r_.scenario.refuse(at, "a run models pipeline stages or data ranks, but not both");
  }

  void check_data() const {
    const char* const at = "/engine/data_parallel_size";
    if (!r_.scheduler->traits.has_data_ranks) {
      refuse_of_others(at, "a run models data ranks only with scheduler",
                       &BatchTraits::has_data_ranks);
    }
    if (!has_experts(r_.model)) {
      r_.scenario.refuse(at, fmt::format("{} has no experts, so its data ranks are independent "
                                         "engines: simulate one with its share of the traffic",
                                         r_.model.id));
    }
    check_common(at);
    if (host_tier_bytes(r_) > 0)
      r_.scenario.refuse(at, "a second KV tier is modelled for one rank only; switch it off");
  }

  void check_context() const {
    const std::string& level = r_.scenario.cost.level;
    if (level != "kernels" && level != "table") return;
    r_.scenario.refuse("/engine/decode_context_parallel_size",
                       fmt::format("cost level {} has attention as it was measured on ranks that "
                                   "keep every token",
                                   level),
                       ErrorKind::unsupported);
  }

  void check_common(const char* at) const {
    const std::string& level = r_.scenario.cost.level;
    if (level == "affine") {
      r_.scenario.refuse(
          at,
          "cost level affine gives the time of a whole step, so a split has no effect: remove it");
    }
    if (level == "table")
      r_.scenario.refuse(at, "kernel times cover only the tensor-parallel share of one rank");
    if (r_.scenario.engine.enable_lora) {
      r_.scenario.refuse(at, "LoRA adapters are modelled on tensor-parallel ranks only",
                         ErrorKind::unsupported);
    }
    if (r_.scenario.engine.speculative.is_on() && (s_.data == 1 || !r_.rounds.pauses_ranks)) {
      r_.scenario.refuse(at, "speculative decoding is modelled on tensor-parallel ranks only",
                         ErrorKind::unsupported);
    }
  }

  void check_experts() const {
    const char* const at = "/engine/enable_expert_parallel";
    if (!has_experts(r_.model))
      r_.scenario.refuse_unused(at, fmt::format(": {} has no experts", r_.model.id));
    if (s_.tensor * s_.data == 1) r_.scenario.refuse_unused(at, ": one rank holds every expert");
    if (r_.scenario.cost.level == "table") {
      r_.scenario.refuse(at, "kernel times cover only the tensor-parallel share of one rank");
    }
  }

  void check_settings() const {
    const std::int64_t devices = s_.devices();
    unused("/device/per_node", devices == 1, "there is one device");
    const bool affine = r_.scenario.cost.level == "affine";
    if (r_.scenario.cost.level == "kernels") check_links();
    for (const char* place :
         {"/device/per_node", "/device/nic_gb_per_s", "/device/nic_latency_us"}) {
      unused(place, affine, "cost level affine gives the time of a whole step");
    }
    for (const char* port : {"/device/nic_gb_per_s", "/device/nic_latency_us"}) {
      unused(port, devices <= r_.scenario.device.per_node,
             fmt::format("all {} devices are on one node (device.per_node)", devices));
    }
    for (const char* together :
         {"/engine/all2all_backend", "/engine/attention_dp_enable_balance",
          "/engine/attention_dp_time_out_iters", "/engine/attention_dp_batching_wait_iters",
          "/engine/load_balance_method"}) {
      unused(together, s_.data == 1, "there is one data rank");
    }
    unused("/engine/all2all_backend", !s_.expert_parallel,
           "every rank has a part of each expert, so it gets all tokens (enable_expert_parallel)");
    unused("/cost/expert_load_factor", !s_.expert_parallel || s_.tensor * s_.data == 1,
           "every rank has a part of each expert (enable_expert_parallel)");
  }

  void check_links() const {
    const char* const why =
        "cost level kernels has collectives and experts as they were measured within one node";
    for (const char* place : kLinkOptions) unused(place, true, why);
    if (s_.devices() > r_.scenario.device.per_node) {
      r_.scenario.refuse("/cost/level",
                         fmt::format("{}: {} devices are on several", why, s_.devices()),
                         ErrorKind::unsupported);
    }
  }

  void unused(const char* pointer, bool is, const std::string& why) const {
    if (is && r_.scenario.is_given(pointer)) r_.scenario.refuse_unused(pointer, ": " + why);
  }

  // "... vllm, trtllm and orca": those that have the trait.
  [[noreturn]] void refuse_of_others(const char* at, std::string_view what,
                                     bool BatchTraits::*trait) const {
    const std::vector<std::string_view> names = policies_that(trait);
    const auto last = std::prev(names.end());
    const std::string list =
        names.size() == 1 ? std::string(*last)
                          : fmt::format("{} and {}", fmt::join(names.begin(), last, ", "), *last);
    r_.scenario.refuse(at, fmt::format("{} {}", what, list), ErrorKind::unsupported);
  }

  const Resolved& r_;
  const Sharding& s_;
};

std::int32_t times(std::int32_t value, std::int64_t factor) {
  return static_cast<std::int32_t>(std::min<std::int64_t>(value * factor, INT32_MAX));
}

}  // namespace

bool asks_for_links(const Scenario& scenario, const Sharding& sharding) {
  return sharding.devices() > scenario.device.per_node ||
         std::ranges::any_of(kLinkOptions,
                             [&](const char* option) { return scenario.is_given(option); });
}

StepLimits rank_limits(const Resolved& resolved) {
  const std::int64_t stages = resolved.sharding.pipeline;
  const bool seats = resolved.scheduler->traits.seats_per_stage;
  return {.max_num_seqs = times(resolved.max_num_seqs, seats ? stages : 1),
          .max_num_batched_tokens = resolved.max_num_batched_tokens};
}

StepLimits step_limits(const Resolved& resolved) {
  const std::int64_t ranks = resolved.sharding.data;
  const StepLimits rank = rank_limits(resolved);
  return {.max_num_seqs = times(rank.max_num_seqs, ranks),
          .max_num_batched_tokens = times(rank.max_num_batched_tokens, ranks)};
}

TokenCount engine_pool_tokens(const Resolved& resolved, const MemoryBudget& budget) {
  return pool_tokens(resolved, budget) * resolved.sharding.data;
}

ParallelOptions parallel_options(const Resolved& resolved) {
  const Scenario& s = resolved.scenario;
  ParallelOptions options;
  options.sharding = resolved.sharding;
  options.nodes.devices_per_node = s.device.per_node;
  options.nodes.nic_bytes_per_s = s.device.nic_gb_per_s * 1e9;
  options.nodes.nic_latency_ns = s.device.nic_latency_us * 1e3;
  options.all2all = s.engine.all2all_backend == "allgather_reducescatter"
                        ? All2All::allgather_reducescatter
                        : All2All::deepep;
  options.expert_load_factor = s.cost.expert_load_factor;
  return options;
}

void check_parallel(const Resolved& resolved) { Check(resolved).run(); }

std::vector<std::string> parallel_warnings(const Resolved& resolved) {
  const Sharding& s = resolved.sharding;
  std::vector<std::string> warnings;
  if (s.pipeline > 1 && resolved.scheduler->traits.stages_in_turn) {
    warnings.push_back(
        fmt::format("a batch goes through the layers of {} devices one device after the other; "
                    "parts of a long prompt that the engine computes on several at once, and step "
                    "times of several devices, were not compared with measured runs",
                    s.pipeline));
  } else if (s.pipeline > 1) {
    warnings.push_back(
        fmt::format("{} pipeline stages work on as many micro-batches at once; their step times "
                    "were not compared with measured runs",
                    s.pipeline));
  }
  if (s.data > 1) {
    warnings.push_back(
        fmt::format("{} data ranks step together, as long as the slowest of them takes; their step "
                    "times were not compared with measured runs",
                    s.data));
  }
  if (s.context > 1) {
    warnings.push_back(
        fmt::format("decode_context_parallel_size {}: each rank reads one part in {} of a context, "
                    "but the exchange of queries and results between them is not priced: real "
                    "steps are longer",
                    s.context, s.context));
  }
  if (s.devices() > resolved.scenario.device.per_node) {
    warnings.push_back(fmt::format(
        "ranks on several nodes: communication uses {} GB/s and {} us per device port as given, "
        "not measured",
        resolved.scenario.device.nic_gb_per_s, resolved.scenario.device.nic_latency_us));
  }
  return warnings;
}

}  // namespace headroom
