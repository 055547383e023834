// vLLM V0 and Sarathi-Serve: whole_prompt_batch.hpp, ENGINES.md 3.2 and 3.8.

#include <algorithm>

#include "sim/kernel/check.hpp"
#include "tests/oracle/naive_policies.hpp"

namespace headroom::oracle {
namespace {

// Free blocks less those that belong to prompts in progress.
BlockCount free_to_take(const NaiveState& state) {
  BlockCount set_aside = 0;
  for (const std::size_t request : state.running) {
    const Sequence& seq = state.sequences[request];
    if (!seq.decodes) set_aside += lacks(state, request, seq.known());
  }
  return state.blocks.free_blocks() - set_aside;
}

// All decodes take their blocks; who finds none pushes out the last. Whether anybody was.
bool decode(NaiveState& state, std::vector<PlannedRow>& rows) {
  bool preempted = false;
  for (const std::size_t request : decoding(state)) {
    const auto runs = [&] {
      return std::find(state.running.begin(), state.running.end(), request) != state.running.end();
    };
    const TokenCount tokens = state.sequences[request].computed + 1;
    while (runs() && lacks(state, request, tokens) > free_to_take(state)) {
      state.preempt_last();
      preempted = true;
    }
    if (!runs()) break;  // it was the last
    const bool grown = state.try_grow(request, tokens);
    HEADROOM_CHECK(grown, "room was made");
  }
  plan_decodes(state, decoding(state), rows);
  if (preempted && rows.empty()) state.wake_up = state.now;  // the next one may start at once
  return preempted;
}

bool can_never_start(const NaiveState& state, TokenCount known, bool whole) {
  const Scenario& s = state.scenario;
  if (whole && known > s.max_num_batched_tokens) return true;
  return ceil_div(known, s.block_size) + share_of_pool(s) > s.kv_blocks;
}

void admit(NaiveState& state, TokenCount budget, bool whole, std::vector<PlannedRow>& rows) {
  while (!state.waiting.empty() && has_seat(state) && budget > 0) {
    const std::size_t request = state.waiting.front();
    const TokenCount known = state.sequences[request].known();
    if (can_never_start(state, known, whole)) {
      state.reject(request);
      continue;
    }
    const TokenCount hit = state.blocks.cached_prefix(request, known);
    // All its blocks must be free, found ones as well, also those that others hold.
    const BlockCount need = ceil_div(known, state.scenario.block_size);
    if (need + share_of_pool(state.scenario) > free_to_take(state)) return;
    TokenCount tokens = known - hit;
    if (whole && tokens > budget) return;
    tokens = std::min(tokens, budget);
    state.blocks.touch(request, hit);
    const bool grown = state.try_grow(request, hit + tokens, known);
    HEADROOM_CHECK(grown, "the need was computed before");
    state.start(request, hit);
    rows.push_back(state.plan_row(request, tokens));
    budget -= tokens;
  }
}

std::vector<PlannedRow> plan_decode_first(NaiveState& state) {
  std::vector<PlannedRow> rows;
  const bool preempted = decode(state, rows);
  TokenCount budget = state.scenario.max_num_batched_tokens - static_cast<TokenCount>(rows.size());
  for (const std::size_t request : state.running) {
    const Sequence& seq = state.sequences[request];
    if (seq.decodes || budget <= 0) continue;
    const TokenCount tokens = std::min(seq.known() - seq.computed, budget);
    const bool grown = state.try_grow(request, seq.computed + tokens, seq.known());
    HEADROOM_CHECK(grown, "its blocks were set aside");
    rows.push_back(state.plan_row(request, tokens));
    budget -= tokens;
  }
  if (!preempted) admit(state, budget, false, rows);
  return rows;
}

}  // namespace

std::vector<PlannedRow> plan_sarathi(NaiveState& state) { return plan_decode_first(state); }

std::vector<PlannedRow> plan_vllm_v0(NaiveState& state) {
  if (state.scenario.chunked_prefill) return plan_decode_first(state);
  std::vector<PlannedRow> rows;
  admit(state, state.scenario.max_num_batched_tokens, true, rows);
  if (rows.empty()) decode(state, rows);
  return rows;
}

}  // namespace headroom::oracle
