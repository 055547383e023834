#include "workloads/traces/session_chain.hpp"

#include <algorithm>

namespace headroom {

void SessionChain::add(const PrefixSegment& known) {
  segments_.push_back(known);
  tokens_ += known.tokens;
}

void SessionChain::prompt(std::int32_t kept, std::int32_t added) {
  while (tokens_ > kept) {
    PrefixSegment& last = segments_.back();
    const auto cut = static_cast<std::int32_t>(std::min<std::int64_t>(tokens_ - kept, last.tokens));
    tokens_ -= cut;
    last.tokens -= cut;
    if (last.tokens == 0) segments_.pop_back();
  }
  append(kept - tokens_);
  append(added);
}

std::uint64_t SessionChain::answer(std::int32_t tokens) {
  if (tokens == 0) return 0;
  append(tokens);
  return segments_.back().id;
}

void SessionChain::append(std::int64_t tokens) {
  if (tokens == 0) return;
  segments_.push_back(
      {.id = mixed_id(session_, ++appended_), .tokens = static_cast<std::int32_t>(tokens)});
  tokens_ += tokens;
}

}  // namespace headroom
