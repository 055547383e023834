#pragma once
// What a token of the pool costs SGLang where attention keeps compressed entries (DeepSeek V4):
// pools of entries, of windows and of compressors' states, all sized from the tokens of the first
// (model_executor/pool_configurator.py: DSV4PoolConfigurator, 0.5.12 to 0.5.16).

#include <optional>

#include "hardware/llm/model_spec.hpp"
#include "sim/engines/sglang/defaults.hpp"

namespace headroom {

struct CompressedPool {
  double bytes_per_token = 0;  // of the pool of entries, with its share of the others
  // Of a running request, from 0.5.16 on; before, these states are in the bytes of a token.
  ByteCount bytes_per_request = 0;
};

// Nothing where no layer of `stage` keeps compressed entries. `window_ratio` is
// swa_full_tokens_ratio; its default stands for 0.1 here (arg_groups/deepseek_v4_hook.py).
[[nodiscard]] std::optional<CompressedPool> sglang_compressed_pool(const ModelSpec& model,
                                                                   const Sharding& sharding,
                                                                   std::int64_t stage,
                                                                   SglangRelease release,
                                                                   double window_ratio);

}  // namespace headroom
