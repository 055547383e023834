#include "sim/serving/resident_sums.hpp"

#include <fmt/format.h>

#include "sim/kernel/check.hpp"
#include "sim/serving/rank_pools.hpp"

namespace headroom {
namespace {

void check_same_rows(const DecodeSet& expected, const DecodeSet& counted) {
  HEADROOM_CHECK(
      expected.size() == counted.size() && expected.context_sum() == counted.context_sum() &&
          expected.kept_sum() == counted.kept_sum() &&
          expected.ids_per_cycle() == counted.ids_per_cycle(),
      fmt::format("sums: {} decodes, {} tokens; requests: {} decodes, {} tokens", counted.size(),
                  counted.context_sum(), expected.size(), expected.context_sum()));
  for (StepCount steps = 1; steps <= static_cast<StepCount>(expected.growth().size()); ++steps) {
    HEADROOM_CHECK(expected.blocks_needed(steps) == counted.blocks_needed(steps),
                   "block phases differ from the requests' lengths");
  }
}

}  // namespace

ResidentSums::ResidentSums(const KvAllocator& kv, std::int32_t decode_block_tokens)
    : kv_(&kv), decode_block_tokens_(decode_block_tokens), decodes_(decode_block_tokens) {
  if (kv.ranks() != nullptr) rank_decodes_.assign(kv.ranks()->count(), decodes_);
}

void ResidentSums::check_same(const ResidentSums& expected) const {
  HEADROOM_CHECK(expected.other_kept_ == other_kept_ && expected.residents_ == residents_ &&
                     expected.waiting_ == waiting_ && expected.waiting_tokens_ == waiting_tokens_,
                 fmt::format("sums: {} in the batch, {} wait; requests: {} in the batch, {} wait",
                             residents_, waiting_, expected.residents_, expected.waiting_));
  check_same_rows(expected.decodes_, decodes_);
  for (std::size_t rank = 0; rank < rank_decodes_.size(); ++rank) {
    check_same_rows(expected.rank_decodes_[rank], rank_decodes_[rank]);
  }
}

}  // namespace headroom
