#include "sim/resolve/run_time_memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "hardware/environment.hpp"
#include "hardware/llm/dtype.hpp"
#include "sim/kernel/check.hpp"
#include "sim/resolve/startup_budget.hpp"

namespace headroom {
namespace {

ByteCount bytes_from_mib(double mib) { return static_cast<ByteCount>(mib * 1048576.0 + 0.5); }

// Of the margin all is free while the engine runs, whether it was left over on purpose
// (gpu_memory_utilization) or not.
DeviceLedger device_after_start(const MemoryBudget& budget) {
  DeviceLedger device(budget.capacity_bytes);
  for (std::size_t i = 0; i < kMemoryPurposeCount; ++i) {
    const auto purpose = static_cast<MemoryPurpose>(i);
    if (purpose == MemoryPurpose::margin) continue;
    const LedgerRefusal refusal = device.charge(purpose, budget.terms[purpose]);
    HEADROOM_CHECK(refusal == LedgerRefusal::none, "a budget beyond the device's capacity");
  }
  return device;
}

// Activations that are over when log-probabilities are made: all but the hidden states, of which
// each token of the step has one.
ByteCount reusable_bytes(const Resolved& resolved, const MemoryBudget& budget) {
  const ByteCount hidden = std::int64_t{resolved.max_num_batched_tokens} * resolved.model.hidden *
                           activation_bytes(resolved.model.dtype);
  return std::max<ByteCount>(0, budget.terms[MemoryPurpose::activations] - hidden);
}

}  // namespace

ByteCount logprob_bytes_per_token(const ModelSpec& model) {
  constexpr std::int64_t kFloat32 = 4;
  return model.vocab * (activation_bytes(model.dtype) + kFloat32);
}

RunTimeMemory run_time_memory(const Resolved& resolved, const MemoryBudget& budget) {
  const Scenario& s = resolved.scenario;
  RunTimeMemoryOptions options;
  options.device_bytes_per_hour = bytes_from_mib(s.engine.memory_growth_mib_per_hour);
  options.host_bytes_per_hour = bytes_from_mib(s.environment.host_growth_mib_per_hour);
  if (s.workload.prompt_logprobs_share > 0) {
    options.logprob_bytes_per_token = logprob_bytes_per_token(resolved.model);
    options.reusable_bytes = reusable_bytes(resolved, budget);
  }
  const bool asked = options.device_bytes_per_hour > 0 || options.host_bytes_per_hour > 0 ||
                     options.logprob_bytes_per_token > 0;
  if (!asked) return {};
  const HostRequest request = host_request(resolved);
  options.device = device_after_start(budget);
  options.shared = shares_memory(request);
  options.host = host_after_start(resolved.environment, request, budget);
  return RunTimeMemory(std::move(options));
}

std::optional<MemoryGrowthEnd> memory_growth(const Resolved& resolved, const MemoryBudget& budget) {
  const RunTimeMemory memory = run_time_memory(resolved, budget);
  if (memory.fails_ns() == kNever) return std::nullopt;
  const MemoryShortage shortage = memory.growth_shortage(memory.fails_ns());
  MemoryGrowthEnd end;
  end.lasts_s = static_cast<double>(memory.fails_ns()) / 1e9;
  end.kind = shortage.kind;
  end.text = fmt::format(
      "memory grows by {} MiB/h on the device and {} MiB/h on the host: {:.2f} GiB are free, so "
      "the engine dies after {:.2f} h ({})",
      resolved.scenario.engine.memory_growth_mib_per_hour,
      resolved.scenario.environment.host_growth_mib_per_hour, gib_from_bytes(shortage.free_bytes),
      end.lasts_s / 3600, name_of(shortage.kind));
  return end;
}

}  // namespace headroom
