#include "scheduler/batching/sglang_drafts.hpp"

#include <algorithm>

#include "sim/kernel/check.hpp"
#include "sim/serving/kv_layout.hpp"

namespace headroom {

void SglangDrafts::begin(RequestId id, TokenCount tokens) {
  if (id >= held_.size()) held_.resize(std::size_t{id} + 1);
  held_[id] = tokens;
}

// Slots that it holds in the next round (SGLang: eagle_info_v2.py, prepare_for_decode).
TokenCount SglangDrafts::wanted(const PlanContext& context, RequestId id) const {
  return std::max(held_[id], computed_by(context.requests[id], context.decodes_planned) + slots_);
}

BlockCount SglangDrafts::blocks_needed(const PlanContext& context, const RequestList& rows) const {
  const std::int32_t page = context.kv.pool().block_tokens;
  BlockCount blocks = 0;
  for (RequestId id = rows.front(); id != kNoRequest; id = rows.after(id)) {
    blocks += headroom::blocks_needed(wanted(context, id), page) -
              headroom::blocks_needed(held_[id], page);
  }
  return blocks;
}

void SglangDrafts::plan(const PlanContext& context, const RequestList& rows, BatchPlan& plan) {
  for (RequestId id = rows.front(); id != kNoRequest; id = rows.after(id)) {
    held_[id] = wanted(context, id);
    const bool grown = context.kv.try_grow(
        {.id = id, .request = &context.requests[id], .hold_tokens = held_[id], .is_unknown = true});
    HEADROOM_CHECK(grown, "slots of a round that were counted");
    plan.verified.push_back({id, tokens_});
  }
}

}  // namespace headroom
