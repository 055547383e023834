#pragma once
// What vLLM's API server chooses when the user does not: by device, model and release
// (vLLM arg_utils; ENGINES.md 1.1, 6.1).

#include <cstdint>

#include "hardware/device.hpp"
#include "hardware/engine_version.hpp"
#include "hardware/llm/model_spec.hpp"

namespace headroom {

struct VllmDefaults {
  std::int32_t max_num_batched_tokens = 2048;
  std::int32_t max_num_seqs = 256;
  double gpu_memory_utilization = 0.90;
  std::int32_t block_size = 16;
  bool async_scheduling = true;
};
// `v0`: the engine before V1, whose figures are the same on every device (_set_default_args_v0).
[[nodiscard]] VllmDefaults vllm_defaults(const DeviceSpec& device, const ModelSpec& model,
                                         EngineVersion version, bool v0 = false);

}  // namespace headroom
