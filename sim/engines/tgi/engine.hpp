#pragma once
// Text Generation Inference.

#include <cstdint>
#include <optional>
#include <string>

#include "sim/engines/engine.hpp"

namespace headroom {

// Options that only TGI has; defaults: launcher/src/main.rs (ENGINES.md 6.4).
struct TgiOptions {
  std::optional<std::int64_t> max_batch_prefill_tokens;
  std::optional<std::int64_t> max_batch_total_tokens;
  std::int64_t max_concurrent_requests = 128;
  double cuda_memory_fraction = 1.0;
  std::optional<std::string> attention;
};

extern const EngineLaunch kTgiLaunch;
[[nodiscard]] const Engine& tgi_engine();

}  // namespace headroom
