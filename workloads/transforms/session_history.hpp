#pragma once
// Identities for the prompts of sessions whose file states none (BurstGPT): what a turn says is
// assumed to be behind all that was said before it. An assumption: of BurstGPT's follow-up turns
// about a quarter are shorter than the turns before them (TRACES.md 3.2).

#include <cstdint>
#include <vector>

#include "workloads/traces/trace.hpp"

namespace headroom {

struct HistoryReport {
  std::int64_t rows = 0;                // whose prompt begins with earlier turns
  std::int64_t tokens = 0;              // of these prompts, said in earlier turns
  std::int64_t rows_with_identity = 0;  // of sessions; left as they are
};

// For rows with a session and without a prefix of their own: the prompt is taken to begin with the
// prompt and the answer of the session's row before it, min(prompt + answer before, prompt) tokens;
// what follows is new. Thinking is no part of the answer that is repeated, and an answer behind
// thinking has no identity: chat templates leave thinking out. Behind a row with a prefix of its
// own nothing is known to be shared. `document_tokens` (per row; empty: none) are in front of the
// rest, and have their segment already.
[[nodiscard]] HistoryReport give_history(Trace& trace,
                                         const std::vector<std::int32_t>& document_tokens);

}  // namespace headroom
