#pragma once
// Other token counts for the same texts: another tokenizer, or a model that thinks.

#include <cstdint>
#include <vector>

#include "sim/kernel/decimal_factor.hpp"
#include "workloads/traces/trace.hpp"

namespace headroom {

struct TokenReport {
  std::int64_t prompt_tokens_change = 0;  // by the factors: new sum minus old sum
  std::int64_t output_tokens_change = 0;
  std::int64_t thinking_tokens_added = 0;  // on top of these
  std::int64_t segments_merged = 0;        // of prompts, into what follows: nothing is left
  std::int64_t answers_hidden = 0;         // no later prompt begins with them any more
};

// Prompts times `factor`, 1 token or more. Places in a prompt are scaled, not lengths of segments:
// a segment ends at the product of where it ended. So no rounding adds up, and what two prompts
// have in common is scaled exactly as a prompt of this length. Below 1 segments of different
// lengths may become equally long, or nothing: then each id, also that of the answer, represents
// everything before it as well. ConfigError: beyond 2^31 - 1 tokens.
void scale_prompts(Trace& trace, const DecimalFactor& factor, TokenReport& report);

// The answer and the thinking part of each output times their factors, the output 1 token or more.
// ConfigError: beyond 2^31 - 1 tokens.
void scale_outputs(Trace& trace, const DecimalFactor& answer, const DecimalFactor& thinking,
                   TokenReport& report);

// `added[i]` >= 0 tokens of thinking in front of the answer of row i. The KV of this answer then
// stands behind thinking, which chat templates leave out of later prompts: it loses its identity.
void add_thinking(Trace& trace, const std::vector<std::int32_t>& added, TokenReport& report);

}  // namespace headroom
