#pragma once
// Prompts and outputs in the tokens of another model.

#include <cstdint>
#include <vector>

#include "sim/kernel/decimal_factor.hpp"
#include "sim/serving/prefix.hpp"

namespace headroom {

// The `thought` part of an output and the rest, each times its factor.
[[nodiscard]] inline Int128 scaled_output(std::int32_t output, std::int32_t thought,
                                          const DecimalFactor& answer,
                                          const DecimalFactor& thinking) {
  return answer.product(std::int64_t{output} - thought) + thinking.product(thought);
}

// What a prompt begins with. Places in a prompt are scaled, not lengths of segments: a segment ends
// at the product of where it ended. So no rounding adds up, and what two prompts have in common is
// scaled exactly as a prompt of this length. Below 1 segments of different lengths may become
// equally long, or nothing: then each id, also that of the answer, represents everything before it
// as well.
class ScaledPrefix {
 public:
  // Appends to `segments`.
  ScaledPrefix(const DecimalFactor& factor, std::vector<PrefixSegment>& segments)
      : factor_(factor), segments_(segments) {}

  void add(const PrefixSegment& segment) {
    const std::uint64_t id = id_behind(segment.id);
    chain_ = mixed_id(id, static_cast<std::uint64_t>(segment.tokens));
    before_ += segment.tokens;
    const auto end = static_cast<std::int64_t>(factor_.product(before_));
    if (end == end_) {
      ++merged_;
      return;
    }
    segments_.push_back({.id = id, .tokens = static_cast<std::int32_t>(end - end_)});
    end_ = end;
  }

  // The id of what follows.
  [[nodiscard]] std::uint64_t id_behind(std::uint64_t id) const {
    return factor_.value() < 1.0 ? mixed_id(chain_, id) : id;
  }
  // Segments that shrank to nothing.
  [[nodiscard]] std::int64_t merged() const { return merged_; }

 private:
  const DecimalFactor& factor_;
  std::vector<PrefixSegment>& segments_;
  std::uint64_t chain_ = 0;  // ids and lengths up to here
  std::int64_t before_ = 0;  // tokens of the traffic up to here
  std::int64_t end_ = 0;     // tokens now
  std::int64_t merged_ = 0;
};

}  // namespace headroom
