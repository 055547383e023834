#pragma once
// How a checkpoint is quantised: quantization_config of config.json, or hf_quant_config.json.
// Patterns say layer by layer which part is stored how; a part is quantised when most of its
// elements are.

#include <optional>

#include "hardware/llm/hf_reader.hpp"

namespace headroom {

// Replaces the formats of `in.model` (and of the prediction layers) as the checkpoint declares
// them; sets kv_dtype. `separate` is the content of hf_quant_config.json, null without one: what
// config.json itself declares goes first (vLLM). ConfigError for a method that is not known.
void apply_quantization(HfIntake& in, const std::optional<HfFields>& separate);

}  // namespace headroom
