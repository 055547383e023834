#pragma once
// Which drafts of a speculative decoder the target model accepts (ENGINES.md 5): draft j of a step
// is accepted with its conditional rate, given that those before it were.
//
// Every output position of a request has one draw of its own, made from the seed, the request's
// number and the position alone. So the same drafts are accepted whatever else is in the batch,
// however the run is cut, and after a preemption.

#include <cstdint>
#include <vector>

namespace headroom {

class DraftAcceptance {
 public:
  DraftAcceptance() = default;  // no drafts
  // `rates[j]`: that the (j+1)-th draft of a step is accepted if all before it are; in [0, 1].
  DraftAcceptance(std::uint64_t seed, std::vector<double> rates);

  // Drafts of a step at most; 0 = no speculative decoding.
  [[nodiscard]] std::int32_t drafts() const { return static_cast<std::int32_t>(rates_.size()); }
  // How many of `drafts` are accepted for request number `index`, which has `generated` tokens.
  [[nodiscard]] std::int32_t accepted(std::uint64_t index, std::int32_t generated,
                                      std::int32_t drafts) const;

 private:
  std::uint64_t key_ = 0;
  std::vector<double> rates_;
};

}  // namespace headroom
