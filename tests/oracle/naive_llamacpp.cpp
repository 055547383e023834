// llama.cpp's server without cached prompts: llamacpp.hpp, scheduler/kv/slots.hpp.

#include <algorithm>

#include "tests/oracle/naive_policies.hpp"

namespace headroom::oracle {
namespace {

// The free slot that was given back the longest ago; of those never used, the last one.
Slot* free_slot(NaiveState& state) {
  Slot* best = nullptr;
  for (Slot& slot : state.slots) {
    if (slot.request != kFreeSlot) continue;
    if (best == nullptr || slot.given_back <= best->given_back) best = &slot;
  }
  return best;
}

bool has_slot(const NaiveState& state, std::size_t request) {
  return std::any_of(state.slots.begin(), state.slots.end(),
                     [request](const Slot& slot) { return slot.request == request; });
}

void give_slots(NaiveState& state) {
  for (const std::size_t request : state.waiting) {
    if (has_slot(state, request)) continue;
    Slot* slot = free_slot(state);
    if (slot == nullptr) return;
    slot->request = request;
  }
}

}  // namespace

std::vector<PlannedRow> plan_llamacpp(NaiveState& state) {
  give_slots(state);
  std::vector<PlannedRow> rows;
  plan_decodes(state, decoding(state), rows);
  TokenCount budget = state.scenario.max_num_batched_tokens - static_cast<TokenCount>(rows.size());
  for (const Slot& slot : state.slots) {
    if (slot.request == kFreeSlot || budget <= 0) continue;
    const Sequence& seq = state.sequences[slot.request];
    if (seq.decodes) continue;
    const TokenCount tokens = std::min(seq.known() - seq.computed, budget);
    const auto waits = std::find(state.waiting.begin(), state.waiting.end(), slot.request);
    if (waits != state.waiting.end()) state.start(slot.request);
    rows.push_back(state.plan_row(slot.request, tokens));
    budget -= tokens;
  }
  return rows;
}

}  // namespace headroom::oracle
