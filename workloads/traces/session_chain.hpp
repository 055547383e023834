#pragma once
// The context of one session as a chain of segments: what its rounds added and what they were
// answered, each with an identity that is private to the session. For formats that say how much of
// a round's prompt was there before, not what it was.

#include <cstdint>
#include <vector>

#include "sim/serving/prefix.hpp"

namespace headroom {

class SessionChain {
 public:
  explicit SessionChain(std::uint64_t session) : session_(session) {}

  // The next prompt continues with a text that has an identity, because other sessions may have it
  // too.
  void add(const PrefixSegment& known);
  // The next prompt: the first `kept` tokens of the context, then `added` new ones; both >= 0.
  // Where the context is shorter, what is missing has an identity of its own. The sum of the two
  // is below 2^31.
  void prompt(std::int32_t kept, std::int32_t added);
  // Its answer goes into the context; returns the identity, 0 when there are no tokens.
  [[nodiscard]] std::uint64_t answer(std::int32_t tokens);

  [[nodiscard]] const std::vector<PrefixSegment>& segments() const { return segments_; }
  [[nodiscard]] std::int64_t tokens() const { return tokens_; }

 private:
  void append(std::int64_t tokens);

  std::uint64_t session_;
  std::uint64_t appended_ = 0;
  std::int64_t tokens_ = 0;
  std::vector<PrefixSegment> segments_;
};

}  // namespace headroom
