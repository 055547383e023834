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

// Cells that no running request has; as many as anybody could want where slots have their own.
TokenCount free_cells(const NaiveState& state) {
  const Scenario& s = state.scenario;
  if (s.shared_cells == 0) return s.max_num_seqs * s.max_model_len;
  TokenCount free = s.shared_cells;
  for (const std::size_t request : state.running) free -= state.sequences[request].computed;
  return free;
}

std::vector<PlannedRow> fail_and_plan_again(NaiveState& state) {
  state.fail_slots();
  return plan_llamacpp(state);
}

}  // namespace

std::vector<PlannedRow> plan_llamacpp(NaiveState& state) {
  give_slots(state);
  TokenCount free = free_cells(state);
  std::vector<PlannedRow> rows;
  const std::vector<std::size_t> decodes = decoding(state);
  if (static_cast<TokenCount>(decodes.size()) > free) return fail_and_plan_again(state);
  plan_decodes(state, decodes, rows);
  free -= static_cast<TokenCount>(rows.size());
  TokenCount budget = state.scenario.max_num_batched_tokens - static_cast<TokenCount>(rows.size());
  for (const Slot& slot : state.slots) {
    if (slot.request == kFreeSlot || budget <= 0 || free <= 0) continue;
    const Sequence& seq = state.sequences[slot.request];
    if (seq.decodes) continue;
    const TokenCount tokens = std::min({seq.known() - seq.computed, budget, free});
    const auto waits = std::find(state.waiting.begin(), state.waiting.end(), slot.request);
    if (waits != state.waiting.end()) state.start(slot.request);
    rows.push_back(state.plan_row(slot.request, tokens));
    budget -= tokens;
    free -= tokens;
  }
  const bool has_prompts = std::any_of(state.slots.begin(), state.slots.end(), [&](const Slot& s) {
    return s.request != kFreeSlot && !state.sequences[s.request].decodes;
  });
  if (rows.empty() && has_prompts) return fail_and_plan_again(state);
  return rows;
}

}  // namespace headroom::oracle
