#include "scheduler/kv/contiguous.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "scheduler/kv/placement_best_fit.hpp"
#include "scheduler/kv/placement_buddy.hpp"
#include "scheduler/kv/placement_first_fit.hpp"
#include "scheduler/kv/placement_next_fit.hpp"
#include "sim/kernel/check.hpp"

namespace headroom {
namespace {

std::unique_ptr<AddressPlacement> make_placement(const ContiguousKvOptions& options) {
  HEADROOM_CHECK(options.tokens >= 1, "an empty address space");
  switch (options.placement) {
    case Placement::first_fit: return std::make_unique<FirstFit>(options.tokens);
    case Placement::best_fit: return std::make_unique<BestFit>(options.tokens);
    case Placement::next_fit: return std::make_unique<NextFit>(options.tokens);
    case Placement::buddy: break;
  }
  HEADROOM_CHECK(!options.compaction, "buddy blocks cannot be moved");
  return std::make_unique<BuddyPlacement>(options.tokens);
}

}  // namespace

ContiguousKv::ContiguousKv(const ContiguousKvOptions& options)
    : options_(options), placement_(make_placement(options)) {
  pool_.block_tokens = 1;
  pool_.grows_with_decode = false;
  pool_.total_blocks = options.tokens;
  // Buddy blocks have sizes of powers of two, so the rest of the pool beside whole blocks is
  // unusable.
  pool_.takes_powers_of_two = options.placement == Placement::buddy;
  update_pool();
}

TokenCount ContiguousKv::cached_prefix(RequestId, const Request&) const { return 0; }

bool ContiguousKv::try_grow(const KvGrowth& growth) {
  if (growth.id >= held_.size()) held_.resize(growth.id + 1);
  Range& held = held_[growth.id];
  if (held.length > 0) {
    HEADROOM_CHECK(growth.hold_tokens <= held.length, "growth beyond the reservation");
    return true;
  }
  const TokenCount length = growth.final_tokens;
  HEADROOM_CHECK(length >= growth.hold_tokens && length > 0, "a reservation holds the request");
  if (length > pool_.largest_hole) return false;
  if (length > placement_->state().largest_hole) compact();
  const std::optional<TokenCount> begin = placement_->place(length);
  HEADROOM_CHECK(begin.has_value(), "a reservation up to the largest hole can be placed");
  held = {*begin, length};
  update_pool();
  return true;
}

void ContiguousKv::take(BlockCount) { HEADROOM_CHECK(false, "a reservation does not grow"); }

void ContiguousKv::release(RequestId id, const Request&, TokenCount, KvRelease, TokenCount) {
  if (id >= held_.size() || held_[id].length == 0) return;
  const Range freed = std::exchange(held_[id], {});
  placement_->free(freed.begin, freed.length);
  update_pool();
}

void ContiguousKv::on_engine_lost() {
  placement_ = make_placement(options_);
  held_.clear();
  traffic_ = {};
  update_pool();
}

std::optional<TokenCount> ContiguousKv::address_of(RequestId id) const {
  if (id >= held_.size() || held_[id].length == 0) return std::nullopt;
  return held_[id].begin;
}

void ContiguousKv::compact() {
  to_pack_.clear();
  for (RequestId id = 0; id < held_.size(); ++id) {
    if (held_[id].length > 0) to_pack_.push_back(id);
  }
  std::sort(to_pack_.begin(), to_pack_.end(),
            [this](RequestId a, RequestId b) { return held_[a].begin < held_[b].begin; });
  TokenCount end = 0;
  for (const RequestId id : to_pack_) {
    Range& range = held_[id];
    if (range.begin != end) traffic_.moved_tokens += range.length;
    range.begin = end;
    end += range.length;
  }
  placement_->pack(end);
}

void ContiguousKv::update_pool() {
  const PlacementState& state = placement_->state();
  pool_.free_blocks = state.free_tokens;
  pool_.largest_hole = options_.compaction ? state.free_tokens : state.largest_hole;
}

}  // namespace headroom
