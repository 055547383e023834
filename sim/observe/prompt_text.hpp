#pragma once
// The prompts that are sent: made-up text of the lengths, and with the shared beginnings, that the
// workload asks for. Equal pieces (PrefixSegment) become equal tokens; all else differs from
// request to request, so that a prefix cache finds what the simulated one finds.

#include <cstdint>
#include <string>
#include <vector>

#include "sim/serving/request.hpp"

namespace headroom {

enum class PromptForm : std::uint8_t {
  token_ids,  // a list of ids: the count is exact
  words       // text; the server's own count, and what it says of two probes, sets the length
};

// How lengths become prompts, as the server was found to count them.
struct PromptRule {
  PromptForm form = PromptForm::token_ids;
  std::vector<std::int32_t> ids = {};  // to draw from; at least two
  std::int64_t added_tokens = 0;       // that the server puts in front (a start token)
  double tokens_per_word = 1;          // of words, beside added_tokens
};

// JSON: "[17,4711,...]" or "\"so far back ...\"". `salt` tells runs apart: with the same one the
// same requests have the same prompts.
[[nodiscard]] std::string prompt_json(const PromptRule& rule, const Arrival& arrival,
                                      std::uint64_t index, std::uint64_t salt);

// So many words of made-up text.
[[nodiscard]] std::string made_up_words(std::int64_t words, std::uint64_t seed);

}  // namespace headroom
