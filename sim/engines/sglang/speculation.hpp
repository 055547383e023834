#pragma once
// SGLang's speculative decoding: what its flags mean by release (python/sglang/srt/server_args.py
// to 0.5.13, srt/arg_groups/speculative_hook.py to 0.5.23), and how its rounds run.

#include <cstdint>
#include <string_view>

#include "sim/engines/engine_resolver.hpp"
#include "sim/engines/sglang/defaults.hpp"

namespace headroom {

// speculative_num_steps, speculative_eagle_topk and speculative_num_draft_tokens. The first is
// num_speculative_tokens of a scenario; the last counts the root.
struct SglangDraftShape {
  std::int64_t steps = 3;
  std::int64_t topk = 1;
  std::int64_t tokens = 4;
  friend constexpr bool operator==(const SglangDraftShape&, const SglangDraftShape&) = default;
};
// Where the user names none of them.
[[nodiscard]] SglangDraftShape sglang_draft_shape(SglangRelease release, const ModelSpec& model,
                                                  std::string_view method);

// What the default memory fraction keeps back memory for.
[[nodiscard]] SglangSpeculation sglang_speculation(std::string_view method);

// Requests that run together where the user names no number; data ranks share them out.
inline constexpr std::int64_t kSglangRequestsWithDrafts = 48;

// Fills the options of drafts and what they imply, and says how rounds run. With drafts only.
void resolve_sglang_speculation(EngineResolver& r, SglangRelease release);

}  // namespace headroom
