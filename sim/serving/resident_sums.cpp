#include "sim/serving/resident_sums.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "sim/kernel/check.hpp"
#include "sim/serving/rank_pools.hpp"

namespace headroom {
namespace {

void check_same_rows(const DecodeSet& sums, const DecodeSet& requests) {
  HEADROOM_CHECK(
      requests.size() == sums.size() && requests.context_sum() == sums.context_sum() &&
          requests.kept_sum() == sums.kept_sum() &&
          requests.ids_per_cycle() == sums.ids_per_cycle(),
      fmt::format("sums: {} decodes, {} tokens; requests: {} decodes, {} tokens", sums.size(),
                  sums.context_sum(), requests.size(), requests.context_sum()));
  HEADROOM_CHECK(std::ranges::equal(requests.growth(), sums.growth()),
                 "block phases differ from the requests' lengths");
}

}  // namespace

ResidentSums::ResidentSums(const KvAllocator& kv, std::int32_t decode_block_tokens,
                           std::int32_t micro_batches)
    : kv_(&kv), decode_block_tokens_(decode_block_tokens), decodes_(decode_block_tokens) {
  if (kv.ranks() != nullptr) rank_decodes_.assign(kv.ranks()->count(), decodes_);
  if (micro_batches > 1) others_.assign(static_cast<std::size_t>(micro_batches), decodes_);
}

TokenCount ResidentSums::kept_in_others() const {
  TokenCount tokens = 0;
  for (const DecodeSet& other : others_) tokens += other.kept_sum();
  return tokens;
}

void ResidentSums::check_same(const ResidentSums& expected) const {
  HEADROOM_CHECK(expected.other_kept_ == other_kept_ && expected.residents_ == residents_ &&
                     expected.waiting_ == waiting_ && expected.waiting_tokens_ == waiting_tokens_,
                 fmt::format("sums: {} residents, {} wait; requests: {} residents, {} wait",
                             residents_, waiting_, expected.residents_, expected.waiting_));
  check_same_rows(decodes_, expected.decodes_);
  for (std::size_t i = 0; i < others_.size(); ++i) check_same_rows(others_[i], expected.others_[i]);
  for (std::size_t rank = 0; rank < rank_decodes_.size(); ++rank) {
    check_same_rows(rank_decodes_[rank], expected.rank_decodes_[rank]);
  }
}

}  // namespace headroom
