#pragma once
// The longest prompts and outputs of a trace.

#include <cstdint>
#include <optional>

#include "workloads/traces/trace.hpp"

namespace headroom {

struct CapReport {
  std::int64_t prompts_cut = 0;
  std::int64_t prompt_tokens_cut = 0;
  std::int64_t outputs_cut = 0;
  std::int64_t output_tokens_cut = 0;
};

// Cuts the ends off: of a prompt and its prefix chain, and of an output, answer first. Caps are
// 1 .. 2^31 - 1 tokens; absent: none.
[[nodiscard]] CapReport cap_lengths(Trace& trace, std::optional<std::int64_t> max_prompt_tokens,
                                    std::optional<std::int64_t> max_output_tokens);

}  // namespace headroom
