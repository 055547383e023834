#include "tests/oracle/naive_policies.hpp"

#include <algorithm>
#include <cmath>

namespace headroom::oracle {
namespace {

BlockCount ceil_div(TokenCount tokens, TokenCount size) { return (tokens + size - 1) / size; }

bool has_seat(const NaiveState& state) {
  return static_cast<std::int64_t>(state.running.size()) < state.scenario.max_num_seqs;
}

// Grows `request`, pushing out the last of the running list as often as needed. False: it pushed
// out itself.
bool grow_or_preempt(NaiveState& state, std::size_t request, TokenCount tokens, bool& preempted) {
  while (!state.try_grow(request, tokens)) {
    const std::size_t victim = state.running.back();
    state.preempt_last();
    preempted = true;
    if (victim == request) return false;
  }
  return true;
}

// Blocks kept free for the running ones when a waiting request asks (ENGINES.md 2.1).
BlockCount watermark_blocks(const NaiveState& state, bool something_scheduled) {
  if (state.running.empty() && !something_scheduled) return 0;
  const auto total = static_cast<double>(state.scenario.kv_blocks);
  return static_cast<BlockCount>(std::floor(state.scenario.watermark * total));
}

// The head of the queue, if it may start now with `tokens` after a prefix hit of `hit` tokens.
bool head_fits(const NaiveState& state, TokenCount known, TokenCount hit, TokenCount tokens,
               bool something_scheduled) {
  const TokenCount b = state.scenario.block_size;
  const BlockCount hit_in_free_list = hit / b;  // a waiting request holds none of its blocks
  const BlockCount need = ceil_div(hit + tokens, b) - hit / b + hit_in_free_list;
  const BlockCount gate =
      state.scenario.reserve_full_isl ? ceil_div(known, b) - hit / b + hit_in_free_list : 0;
  const BlockCount kept = watermark_blocks(state, something_scheduled);
  return std::max(need, gate) + kept <= state.blocks.free_blocks();
}

void admit_waiting(NaiveState& state, TokenCount budget, std::vector<PlannedRow>& rows) {
  while (!state.waiting.empty() && budget > 0 && has_seat(state)) {
    const std::size_t request = state.waiting.front();
    Sequence& seq = state.sequences[request];
    const TokenCount hit = state.blocks.cached_prefix(request, seq.known());
    TokenCount tokens = seq.known() - hit;
    if (!state.scenario.chunked_prefill && tokens > budget) return;
    tokens = std::min(tokens, budget);
    if (!head_fits(state, seq.known(), hit, tokens, !rows.empty())) return;
    state.blocks.touch(request, hit);
    const bool grown = state.try_grow(request, hit + tokens);
    HEADROOM_CHECK(grown, "the need was computed before");
    state.start_head();
    seq.computed = hit;
    state.result.totals.cached_tokens += hit;
    rows.push_back(state.plan_row(request, tokens));
    budget -= tokens;
  }
}

// Rows that fit together in an empty memory, each `row_tokens` long.
bool rows_fit(const Scenario& s, std::int64_t rows, TokenCount row_tokens) {
  if (s.memory == Memory::contiguous) return rows * row_tokens <= s.kv_tokens;
  return rows * ceil_div(row_tokens, s.block_size) <= s.kv_blocks;
}

// How many requests of the head of the queue form the next batch.
std::int64_t batch_size(const NaiveState& state) {
  const auto queue = static_cast<std::int64_t>(state.waiting.size());
  TokenCount longest_prompt = 0;
  TokenCount largest_max = 0;
  for (std::int64_t n = 0; n < std::min(queue, state.scenario.max_num_seqs); ++n) {
    const Sequence& seq = state.sequences[state.waiting[static_cast<std::size_t>(n)]];
    longest_prompt = std::max(longest_prompt, seq.prompt);
    largest_max = std::max(largest_max, seq.max);
    if (!rows_fit(state.scenario, n + 1, longest_prompt + largest_max)) return n;
  }
  return std::min(queue, state.scenario.max_num_seqs);
}

std::vector<PlannedRow> form_batch(NaiveState& state) {
  if (state.waiting.empty()) return {};
  const bool full = static_cast<std::int64_t>(state.waiting.size()) >= state.scenario.max_num_seqs;
  const TimeNs oldest_ns = state.result.requests[state.waiting.front()].queued_ns;
  const TimeNs latest_ns = oldest_ns + state.scenario.batch_wait_ns;
  if (!full && state.now < latest_ns) {
    state.wake_up = latest_ns;
    return {};
  }
  const std::int64_t size = batch_size(state);
  HEADROOM_CHECK(size > 0, "a row that fits alone passed the check on arrival");
  for (std::int64_t n = 0; n < size; ++n) state.start_head();
  TokenCount longest_prompt = 0;
  TokenCount largest_max = 0;
  for (const std::size_t request : state.running) {
    longest_prompt = std::max(longest_prompt, state.sequences[request].prompt);
    largest_max = std::max(largest_max, state.sequences[request].max);
  }
  std::vector<PlannedRow> rows;
  for (const std::size_t request : state.running) {
    const bool reserved = state.try_reserve(request, longest_prompt + largest_max);
    HEADROOM_CHECK(reserved, "the rows fit together");
    Sequence& seq = state.sequences[request];
    seq.pad = longest_prompt - seq.prompt;
    state.result.totals.padding_tokens += seq.pad;
    rows.push_back(state.plan_row(request, longest_prompt));
  }
  return rows;
}

}  // namespace

std::vector<PlannedRow> plan_vllm(NaiveState& state) {
  std::vector<PlannedRow> rows;
  TokenCount budget = state.scenario.max_num_batched_tokens;
  bool preempted_now = false;
  // The list gets shorter at its end while this runs.
  for (std::size_t i = 0; i < state.running.size() && budget > 0; ++i) {
    const std::size_t request = state.running[i];
    const Sequence& seq = state.sequences[request];
    if (seq.is_ending()) continue;
    const TokenCount tokens = seq.decodes ? 1 : std::min(seq.known() - seq.computed, budget);
    if (!grow_or_preempt(state, request, seq.computed + tokens, preempted_now)) break;
    rows.push_back(state.plan_row(request, tokens));
    budget -= tokens;
  }
  if (!preempted_now) admit_waiting(state, budget, rows);
  return rows;
}

std::vector<PlannedRow> plan_orca(NaiveState& state) {
  std::vector<PlannedRow> rows;
  for (const std::size_t request : state.running) {
    if (!state.sequences[request].is_ending()) rows.push_back(state.plan_row(request, 1));
  }
  while (!state.waiting.empty() && has_seat(state)) {
    const std::size_t request = state.waiting.front();
    const Sequence& seq = state.sequences[request];
    if (!state.try_reserve(request, seq.prompt + seq.max)) break;
    state.start_head();
    rows.push_back(state.plan_row(request, seq.prompt));
  }
  return rows;
}

std::vector<PlannedRow> plan_static(NaiveState& state) {
  if (state.running.empty()) return form_batch(state);
  std::vector<PlannedRow> rows;
  for (const std::size_t request : state.running) rows.push_back(state.plan_row(request, 1));
  return rows;
}

}  // namespace headroom::oracle
