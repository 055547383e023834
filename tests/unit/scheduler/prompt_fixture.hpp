#pragma once
// Requests with named texts, given to a pool without an engine around it.

#include <catch2/catch.hpp>
#include <cstdint>
#include <utility>
#include <vector>

#include "scheduler/kv/paged.hpp"

namespace headroom::test {

// A request whose prompt is `pieces` and then `own` tokens that nobody else has.
struct Prompt {
  std::vector<PrefixSegment> pieces;
  Request request;

  Prompt(std::uint64_t index, std::vector<PrefixSegment> parts, std::int32_t own = 0,
         std::uint64_t answer = 0)
      : pieces(std::move(parts)) {
    request.index = index;
    request.prompt_tokens = own;
    for (const PrefixSegment& piece : pieces) request.prompt_tokens += piece.tokens;
    request.known_tokens = request.prompt_tokens;
    request.prefix = pieces;
    request.output_segment = answer;
  }
  Prompt(const Prompt&) = delete;
  Prompt& operator=(const Prompt&) = delete;
};

// Admits the whole of what is known in one chunk and returns its hit; -1 = refused.
inline TokenCount try_admit(KvAllocator& kv, RequestId id, const Prompt& prompt) {
  const TokenCount cached = kv.cached_prefix(id, prompt.request);
  const bool fits = kv.try_grow({.id = id,
                                 .request = &prompt.request,
                                 .cached_tokens = cached,
                                 .hold_tokens = prompt.request.known_tokens});
  return fits ? cached : -1;
}

// The same where it must fit.
inline TokenCount admit(KvAllocator& kv, RequestId id, const Prompt& prompt) {
  const TokenCount cached = try_admit(kv, id, prompt);
  REQUIRE(cached >= 0);
  return cached;
}

inline void finish(KvAllocator& kv, RequestId id, const Prompt& prompt, TokenCount held) {
  kv.release(id, prompt.request, held, KvRelease::finished);
}

}  // namespace headroom::test
