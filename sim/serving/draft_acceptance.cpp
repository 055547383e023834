#include "sim/serving/draft_acceptance.hpp"

#include <utility>

#include "sim/kernel/check.hpp"
#include "sim/kernel/random.hpp"
#include "sim/serving/prefix.hpp"

namespace headroom {

DraftAcceptance::DraftAcceptance(std::uint64_t seed, std::vector<double> rates)
    : key_(RandomStream(seed, "speculation/acceptance").bits()), rates_(std::move(rates)) {
  for (const double rate : rates_) {
    HEADROOM_CHECK(rate >= 0 && rate <= 1, "an acceptance rate is a probability");
  }
}

std::int32_t DraftAcceptance::accepted(std::uint64_t index, std::int32_t generated,
                                       std::int32_t drafts) const {
  HEADROOM_CHECK(drafts <= this->drafts(), "more drafts than the drafter makes");
  const std::uint64_t request = mixed_id(key_, index);
  for (std::int32_t j = 0; j < drafts; ++j) {
    const auto position = static_cast<std::uint64_t>(std::int64_t{generated} + j);
    // Uniform in [0, 1): a rate of 1 always accepts, a rate of 0 never.
    const double u = static_cast<double>(mixed_id(request, position) >> 11) * 0x1p-53;
    if (u >= rates_[static_cast<std::size_t>(j)]) return j;
  }
  return drafts;
}

}  // namespace headroom
