#include "sim/resolve/lora.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "hardware/cost/lora.hpp"
#include "hardware/cost/ticks.hpp"
#include "sim/resolve/kv_tier.hpp"

namespace headroom {
namespace {

// Two copies and two fills of a matrix's part of the slot, each called from Python
// (vllm/lora/layers: reset_lora, set_lora). An estimate.
constexpr double kCallNs = 5'000;
constexpr double kCallsPerMatrix = 2;

// Of the workload's adapters.
LoraSize adapter_size(const Resolved& r) {
  return lora_size(r.model, r.sharding, 0,
                   {r.scenario.workload.lora.rank, r.scenario.engine.fully_sharded_loras});
}

ByteCount file_bytes(const Resolved& r) {
  return adapter_size(r).elements * lora_element_bytes(r.model);
}

struct LoadNs {
  double load = 0;  // into a slot
  double read = 0;  // from the disk, before that
};

LoadNs load_ns(const Resolved& r) {
  const LoraSize size = adapter_size(r);
  const auto slot_bytes = static_cast<double>(size.rank_elements * lora_element_bytes(r.model));
  return {.load = kCallNs * kCallsPerMatrix * static_cast<double>(size.matrices) +
                  slot_bytes / *host_copy_bytes_per_s(r) * 1e9,
          .read = static_cast<double>(file_bytes(r)) / r.scenario.environment.storage_gb_per_s};
}

}  // namespace

void check_lora(const Resolved& resolved) {
  const Scenario& s = resolved.scenario;
  const LoraSection& adapters = s.workload.lora;
  if (!s.engine.enable_lora) return;
  if (!adapters.count) {
    if (!s.is_given("/engine/max_cpu_loras")) return;
    s.refuse_unused("/engine/max_cpu_loras", "; only with adapters (workload.lora)");
  }
  if (adapters.rank > s.engine.max_lora_rank) {
    s.refuse_value(
        "/workload/lora/rank", fmt::to_string(adapters.rank),
        fmt::format("expected at most engine.max_lora_rank = {}", s.engine.max_lora_rank));
  }
  if (!host_copy_bytes_per_s(resolved)) {
    s.refuse("/workload/lora/count",
             fmt::format("the catalog has no PCIe rate for {}: set engine.kv_offloading_gb_per_s",
                         resolved.device.id),
             ErrorKind::missing);
  }
  const LoadNs one = load_ns(resolved);
  const auto most = static_cast<double>(std::min(s.engine.max_loras, *adapters.count));
  constexpr double kMostNs = static_cast<double>(kMaxStepTicks) / kTicksPerNs;
  if (!(most * (one.load + one.read) < kMostNs)) {
    s.refuse("/workload/lora/count",
             fmt::format("a step could wait longer than 73 minutes for {} adapters of {} s each: "
                         "raise engine.kv_offloading_gb_per_s or environment.storage_gb_per_s, or "
                         "lower engine.max_loras",
                         most, (one.load + one.read) / 1e9));
  }
}

ByteCount lora_host_bytes(const Resolved& resolved) {
  const EngineSection& e = resolved.scenario.engine;
  if (!e.enable_lora || !resolved.scenario.workload.lora.count) return 0;
  // Each rank's process reads whole adapters.
  const std::int64_t kept = std::min(*e.max_cpu_loras, *resolved.scenario.workload.lora.count);
  return kept * file_bytes(resolved) * e.tensor_parallel_size;
}

std::optional<AdapterSlots> adapter_slots(const Resolved& resolved) {
  const EngineSection& e = resolved.scenario.engine;
  if (!e.enable_lora) return std::nullopt;
  AdapterOptions options;
  options.device_slots = static_cast<std::int32_t>(e.max_loras);
  options.host_slots = static_cast<std::int32_t>(*e.max_cpu_loras);
  if (const auto& count = resolved.scenario.workload.lora.count) {
    const LoadNs one = load_ns(resolved);
    options.adapters = static_cast<std::int32_t>(*count);
    options.load_ticks = ticks_from_ns(one.load);
    options.read_ticks = ticks_from_ns(one.read);
  }
  return AdapterSlots(options);
}

std::unique_ptr<StepCost> with_adapters(const Resolved& resolved, CostChoice choice) {
  const EngineSection& e = resolved.scenario.engine;
  if (!e.enable_lora) return std::move(choice.cost);
  // Kernels run over the whole slot, whatever the adapter's own rank.
  const LoraSize size =
      lora_size(resolved.model, resolved.sharding, 0, {e.max_lora_rank, e.fully_sharded_loras});
  LoraCostOptions options = lora_cost_options(size, lora_element_bytes(resolved.model),
                                              choice.weight_bytes_per_s, choice.matrix_flops_per_s);
  options.every_step = resolved.version < kLoraGraphsApart;
  return std::make_unique<LoraCost>(std::move(choice.cost), options);
}

}  // namespace headroom
