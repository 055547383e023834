#pragma once
// LoRA adapters of a run: what the engine's options and the workload's say, as the slots of a
// replica and the price of its steps.

#include <memory>

#include "hardware/cost/factory.hpp"
#include "sim/resolve/resolve.hpp"
#include "sim/serving/adapter_slots.hpp"

namespace headroom {

// ConfigError: options that do not go together, or a device whose path to the host is not known.
void check_lora(const Resolved& resolved);

// Host memory for the adapters that vLLM keeps there, of all ranks together; 0 without LoRA.
[[nodiscard]] ByteCount lora_host_bytes(const Resolved& resolved);

[[nodiscard]] std::optional<AdapterSlots> adapter_slots(const Resolved& resolved);

// `choice` with the adapters' kernels.
[[nodiscard]] std::unique_ptr<StepCost> with_adapters(const Resolved& resolved, CostChoice choice);

}  // namespace headroom
