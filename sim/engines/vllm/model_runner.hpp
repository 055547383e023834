#pragma once
// Which of its two model runners a release of vLLM takes: the second one became the default model
// by model from 0.22 on, and for all of them in 0.29.

#include <string_view>

#include "hardware/device.hpp"
#include "hardware/engine_version.hpp"
#include "hardware/llm/model_spec.hpp"

namespace headroom {

// Whether Model Runner V2 serves `model` where nobody chose one (VLLM_USE_V2_MODEL_RUNNER).
// `draft_method`: of speculative decoding, "none" without. Rule: vllm/config/vllm.py,
// use_v2_model_runner, at each release; of models that generate text.
[[nodiscard]] bool takes_second_runner(EngineVersion version, const ModelSpec& model,
                                       const DeviceSpec& device, std::string_view draft_method);

}  // namespace headroom
