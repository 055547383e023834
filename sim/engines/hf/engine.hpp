#pragma once
// Hugging Face transformers: model.generate.

#include <string>

#include "sim/engines/engine.hpp"

namespace headroom {

// Options that only `generate` has (transformers: generation/configuration_utils.py).
struct HfOptions {
  std::string attn_implementation = "sdpa";
  std::string cache_implementation = "dynamic";
};

[[nodiscard]] const Engine& hf_engine();

}  // namespace headroom
