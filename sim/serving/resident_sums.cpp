#include "sim/serving/resident_sums.hpp"

#include <fmt/format.h>

namespace headroom {

void ResidentSums::check_same(const ResidentSums& expected) const {
  const DecodeSet& decodes = expected.decodes_;
  HEADROOM_CHECK(
      decodes.size() == decodes_.size() && decodes.context_sum() == decodes_.context_sum() &&
          decodes.kept_sum() == decodes_.kept_sum() &&
          decodes.ids_per_cycle() == decodes_.ids_per_cycle() &&
          expected.other_kept_ == other_kept_ && expected.residents_ == residents_ &&
          expected.waiting_ == waiting_ && expected.waiting_tokens_ == waiting_tokens_,
      fmt::format("sums: {} decodes, {} tokens; requests: {} decodes, {} tokens", decodes_.size(),
                  decodes_.context_sum(), decodes.size(), decodes.context_sum()));
  for (StepCount steps = 1; steps <= static_cast<StepCount>(decodes.growth().size()); ++steps) {
    HEADROOM_CHECK(decodes.blocks_needed(steps) == decodes_.blocks_needed(steps),
                   "block phases differ from the requests' lengths");
  }
}

}  // namespace headroom
