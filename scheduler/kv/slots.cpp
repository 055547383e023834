#include "scheduler/kv/slots.hpp"

#include <algorithm>
#include <limits>

#include "sim/kernel/check.hpp"

namespace headroom {
namespace {

// No limit but the slot's own.
constexpr TokenCount kAllCells = std::numeric_limits<TokenCount>::max() / 2;

}  // namespace

SlotKv::SlotKv(const SlotKvOptions& options)
    : options_(options), slots_(static_cast<std::size_t>(options.slots)) {
  HEADROOM_CHECK(options.slots >= 1 && options.slot_tokens >= 1, "slots that hold something");
  pool_.block_tokens = 1;
  pool_.grows_with_decode = shares_cells();
  pool_.total_blocks = shares_cells() ? options.shared_cells : options.slots * options.slot_tokens;
  update_pool(pool_.total_blocks, 0);
}

TokenCount SlotKv::cached_prefix(RequestId id, const Request& request) const {
  if (!options_.cache_prompt || request.prompt_logprobs) return 0;
  const std::int32_t has = slot_of(id);
  const std::int32_t slot = has >= 0 ? has : best_free_slot(&request);
  if (slot < 0) return 0;
  // At least one token is computed: it yields the logits.
  return std::min<TokenCount>(common_tokens(slots_[static_cast<std::size_t>(slot)], request),
                              request.known_tokens - 1);
}

TokenCount SlotKv::room() const {
  return shares_cells() ? pool_.free_blocks - waiting_ : kAllCells;
}

TokenCount SlotKv::longest(RequestId id) const {
  if (!shares_cells()) return options_.slot_tokens;
  const Slot& slot = slots_.at(static_cast<std::size_t>(slot_of(id)));
  return std::min(options_.slot_tokens, slot.cells + slot.kept + room());
}

bool SlotKv::try_grow(const KvGrowth& growth) {
  if (growth.id >= slot_of_.size()) slot_of_.resize(growth.id + 1, kNoSlot);
  const std::int32_t has = slot_of_[growth.id];
  if (has >= 0 && shares_cells()) {
    return try_grow_shared(slots_[static_cast<std::size_t>(has)], growth.hold_tokens);
  }
  if (has >= 0) {
    HEADROOM_CHECK(growth.hold_tokens <= options_.slot_tokens, "growth beyond the slot");
    return true;
  }
  const TokenCount most = std::max({growth.hold_tokens, growth.fit_tokens, growth.final_tokens});
  if (most > options_.slot_tokens) return false;
  const std::int32_t best = best_free_slot(growth.request);
  if (best < 0) return false;
  Slot& slot = slots_[static_cast<std::size_t>(best)];
  if (shares_cells()) {
    if (growth.hold_tokens > room()) return false;
    waiting_ += slot.kept;
  } else {
    slot.cells = options_.slot_tokens;
  }
  slot.taken = true;
  slot_of_[growth.id] = best;
  update_pool(-slot.cells, -slot.content_tokens);
  return !shares_cells() || growth.hold_tokens == 0 || try_grow_shared(slot, growth.hold_tokens);
}

// The first cells of a request are those of the content that it goes on behind; the rest of it is
// overwritten or cleared.
bool SlotKv::try_grow_shared(Slot& slot, TokenCount hold_tokens) {
  HEADROOM_CHECK(hold_tokens <= options_.slot_tokens, "growth beyond the slot");
  const TokenCount more = std::max<TokenCount>(0, hold_tokens - slot.cells);
  if (more > slot.kept + room()) return false;
  if (more > 0 && slot.cells == 0) {
    waiting_ -= slot.kept;
    forget_content(slot);
  }
  slot.cells += more;
  update_pool(-more, 0);
  give_up_idle_content();
  return true;
}

void SlotKv::forget_content(Slot& slot) {
  kept_ -= slot.kept;
  slot.kept = 0;
  slot.content.clear();
  slot.content_tokens = 0;
}

// Cells of idle slots count as free; what they keep goes when it does not fit beside what is taken.
void SlotKv::give_up_idle_content() {
  while (kept_ > pool_.free_blocks) {
    const auto first =
        std::ranges::find_if(slots_, [](const Slot& slot) { return !slot.taken && slot.kept > 0; });
    HEADROOM_CHECK(first != slots_.end(), "kept cells of no idle slot");
    update_pool(0, -first->content_tokens);
    forget_content(*first);
  }
}

void SlotKv::take(BlockCount blocks) {
  HEADROOM_CHECK(shares_cells() && blocks <= room(), "decodes take cells that are free");
  update_pool(-blocks, 0);
  give_up_idle_content();
}

void SlotKv::release(RequestId id, const Request& request, TokenCount held_tokens, KvRelease,
                     TokenCount) {
  const std::int32_t has = slot_of(id);
  if (has < 0) return;
  Slot& slot = slots_[static_cast<std::size_t>(has)];
  TokenCount freed = slot.cells;
  if (shares_cells()) {
    if (slot.cells == 0) waiting_ -= slot.kept;
    freed = held_tokens;
  }
  // A request that left before its first step has overwritten nothing.
  if (options_.cache_prompt && held_tokens > 0) remember(slot, request, held_tokens);
  slot.taken = false;
  slot.cells = 0;
  slot.given_back = ++releases_;
  slot_of_[id] = kNoSlot;
  update_pool(freed, slot.content_tokens);
  give_up_idle_content();
}

void SlotKv::on_engine_lost() {
  slots_.assign(slots_.size(), {});
  slot_of_.clear();
  releases_ = 0;
  kept_ = waiting_ = 0;
  update_pool(pool_.total_blocks - pool_.free_blocks, -pool_.cached_blocks);
}

std::int32_t SlotKv::best_free_slot(const Request* request) const {
  std::int32_t similar = kNoSlot;
  std::int32_t oldest = kNoSlot;
  TokenCount most = 0;
  if (request != nullptr && options_.slot_prompt_similarity > 0) {
    most = static_cast<TokenCount>(options_.slot_prompt_similarity *
                                   static_cast<double>(request->known_tokens));
  }
  std::uint64_t oldest_rank = 0;
  for (std::int32_t i = 0; i < slots(); ++i) {
    const Slot& slot = slots_[static_cast<std::size_t>(i)];
    if (slot.taken) continue;
    if (oldest < 0 || slot.given_back <= oldest_rank) {
      oldest = i;
      oldest_rank = slot.given_back;
    }
    if (request == nullptr || options_.slot_prompt_similarity <= 0) continue;
    // More than a share x of whole tokens is more than floor(x).
    const TokenCount common = common_tokens(slot, *request);
    if (common > most) {
      similar = i;
      most = common;
    }
  }
  return similar >= 0 ? similar : oldest;
}

// Pieces match one by one; where lengths differ, over the shorter one and no further.
TokenCount SlotKv::common_tokens(const Slot& slot, const Request& request) {
  TokenCount common = 0;
  const std::size_t pieces = std::min(slot.content.size(), request.prefix.size());
  for (std::size_t i = 0; i < pieces; ++i) {
    const PrefixSegment& had = slot.content[i];
    const PrefixSegment& wants = request.prefix[i];
    if (had.id != wants.id) break;
    common += std::min(had.tokens, wants.tokens);
    if (had.tokens != wants.tokens) break;
  }
  return common;
}

void SlotKv::remember(Slot& slot, const Request& request, TokenCount held_tokens) {
  forget_content(slot);
  if (shares_cells()) {
    slot.kept = held_tokens;
    kept_ += held_tokens;
  }
  for (const PrefixSegment& piece : request.prefix) {
    const TokenCount room = held_tokens - slot.content_tokens;
    if (room <= 0) return;
    const auto tokens = static_cast<std::int32_t>(std::min<TokenCount>(piece.tokens, room));
    slot.content.push_back({piece.id, tokens});
    slot.content_tokens += tokens;
  }
  // The answer can be found only behind a prompt that is known to its end.
  const TokenCount answer = held_tokens - request.prompt_tokens;
  if (request.output_segment == 0 || slot.content_tokens != request.prompt_tokens || answer <= 0) {
    return;
  }
  slot.content.push_back({request.output_segment, static_cast<std::int32_t>(answer)});
  slot.content_tokens += answer;
}

void SlotKv::update_pool(TokenCount free_change, TokenCount cached_change) {
  pool_.free_blocks += free_change;
  pool_.cached_blocks += cached_change;
  pool_.largest_hole = std::min<TokenCount>(pool_.free_blocks, options_.slot_tokens);
}

}  // namespace headroom
