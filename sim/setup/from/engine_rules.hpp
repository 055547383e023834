#pragma once
// What engines conclude from several flags together. Called when all flags are read.

#include "sim/setup/from/draft.hpp"

namespace headroom {

// The method that vLLM infers from the drafter's name; what has no meaning without a method, or
// beside it, is left out with a note.
void settle_drafter(Draft& draft);

// vLLM turns its hybrid KV cache manager off for a KV connector (vllm/config/vllm.py).
void settle_kv_connector(Draft& draft);

}  // namespace headroom
