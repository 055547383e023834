#include "tests/oracle/naive_policies.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "sim/kernel/check.hpp"

namespace headroom::oracle {
namespace {

// Before the rows of a plan: who is gone since the latest step becomes idle.
void note_batch(NaiveState& state) {
  const std::set<std::int32_t> now = state.adapters_of_batch();
  std::vector<std::int32_t> gone;
  for (const std::int32_t adapter : state.adapters.batch) {
    if (!now.contains(adapter)) gone.push_back(adapter);
  }
  state.adapters.idle.insert(state.adapters.idle.begin(), gone.begin(), gone.end());
  state.adapters.batch = now;
}

// The first of the queue whose adapter may join; the end of it: nobody's.
std::size_t first_allowed(const NaiveState& state) {
  std::set<std::int32_t> used = state.adapters.batch;
  used.insert(state.adapters.joined.begin(), state.adapters.joined.end());
  std::size_t place = 0;
  for (; place < state.waiting.size(); ++place) {
    const std::int32_t adapter = state.sequences[state.waiting[place]].adapter;
    const bool full = static_cast<std::int64_t>(used.size()) == state.scenario.max_loras;
    if (adapter == 0 || used.contains(adapter) || !full) break;
  }
  return place;
}

// The next to be admitted: the head of the queue, or the smallest (priority, arrival).
std::size_t next_waiting(const NaiveState& state) {
  if (state.scenario.adapters > 0) return state.waiting[first_allowed(state)];
  if (!state.scenario.priorities) return state.waiting.front();
  const auto first = [&state](std::size_t a, std::size_t b) {
    return std::pair(state.scenario.arrivals[a].priority, a) <
           std::pair(state.scenario.arrivals[b].priority, b);
  };
  return *std::min_element(state.waiting.begin(), state.waiting.end(), first);
}

// The next to give way: the last of the running list, or the largest (priority, arrival).
std::size_t next_victim(const NaiveState& state) {
  if (!state.scenario.priorities) return state.running.back();
  const auto first = [&state](std::size_t a, std::size_t b) {
    return std::pair(state.scenario.arrivals[a].priority, a) <
           std::pair(state.scenario.arrivals[b].priority, b);
  };
  return *std::max_element(state.running.begin(), state.running.end(), first);
}

// Every decoding sequence takes the block of its next token, in list order; who finds none pushes
// others out, or itself. Whether anybody was pushed out.
bool make_room_for_decodes(NaiveState& state) {
  bool preempted = false;
  for (const std::size_t request : decoding(state)) {
    const auto runs = [&] {
      return std::find(state.running.begin(), state.running.end(), request) != state.running.end();
    };
    while (runs() && !state.try_grow(request, state.sequences[request].computed + 1)) {
      state.preempt(next_victim(state));
      preempted = true;
    }
  }
  return preempted;
}

TokenCount uncut_chunk(const NaiveState& state, TokenCount left) {
  const Scenario& s = state.scenario;
  const bool alone = state.running.size() + state.waiting.size() == 1;
  const bool cuts = s.long_prefill_token_threshold > 0 && (s.threshold_cuts_lone_prompts || !alone);
  return cuts ? std::min(left, s.long_prefill_token_threshold) : left;
}

// What prompts in progress get of the budget, in order of admission.
std::vector<Piece> continued_prompts(const NaiveState& state) {
  TokenCount budget = state.scenario.max_num_batched_tokens;
  for (const std::size_t request : state.running) {
    if (state.sequences[request].takes_decode()) --budget;
  }
  std::vector<Piece> pieces;
  for (const std::size_t request : state.running) {
    const Sequence& seq = state.sequences[request];
    if (seq.decodes || budget <= 0) continue;
    const TokenCount tokens = std::min(uncut_chunk(state, seq.known() - seq.computed), budget);
    pieces.push_back({request, tokens});
    budget -= tokens;
  }
  return pieces;
}

BlockCount lacks(const NaiveState& state, const std::vector<Piece>& pieces) {
  BlockCount blocks = 0;
  for (const Piece& piece : pieces) {
    blocks += lacks(state, piece.request, state.sequences[piece.request].computed + piece.tokens);
  }
  return blocks;
}

bool make_room_for_prompts(NaiveState& state) {
  bool preempted = false;
  while (lacks(state, continued_prompts(state)) > state.blocks.free_blocks()) {
    state.preempt(next_victim(state));
    preempted = true;
  }
  return preempted;
}

// `request` may start now with `tokens` behind a prefix hit of `hit` tokens.
bool fits(const NaiveState& state, std::size_t request, TokenCount hit, TokenCount tokens,
          bool something_scheduled) {
  const BlockCount need = uses_up(state, request, hit, hit + tokens);
  const TokenCount known = state.sequences[request].known();
  const BlockCount gate = state.scenario.reserve_full_isl ? uses_up(state, request, hit, known) : 0;
  const bool others = !state.running.empty() || something_scheduled;
  // Of all blocks, with the one that is never used.
  const auto all = static_cast<double>(state.scenario.kv_blocks + 1);
  const auto share = static_cast<BlockCount>(std::floor(state.scenario.watermark * all));
  const BlockCount kept = others ? share : 0;
  return std::max(need, gate) + kept <= state.blocks.free_blocks();
}

void admit_waiting(NaiveState& state, TokenCount budget, std::vector<PlannedRow>& rows) {
  while (!state.waiting.empty() && budget > 0 && has_seat(state)) {
    if (first_allowed(state) == state.waiting.size()) return;
    const std::size_t request = next_waiting(state);
    if (state.sequences[request].in_stages) return;
    const TokenCount known = state.sequences[request].known();
    const TokenCount hit = state.blocks.cached_prefix(request, known);
    TokenCount tokens = uncut_chunk(state, known - hit);
    if (!state.scenario.chunked_prefill && tokens > budget) return;
    tokens = std::min(tokens, budget);
    if (!fits(state, request, hit, tokens, !rows.empty())) return;
    state.blocks.touch(request, hit);
    const bool grown = state.try_grow(request, hit + tokens, known);
    HEADROOM_CHECK(grown, "the need was computed before");
    state.start(request, hit);
    rows.push_back(state.plan_row(request, tokens));
    const std::int32_t adapter = state.sequences[request].adapter;
    if (adapter != 0) state.adapters.joined.push_back(adapter);
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

// Decodes take their tokens first, then prompts in progress share what is left (vllm.hpp).
std::vector<PlannedRow> plan_vllm(NaiveState& state) {
  const bool for_decodes = make_room_for_decodes(state);
  const bool for_prompts = make_room_for_prompts(state);
  note_batch(state);
  std::vector<PlannedRow> rows;
  const std::vector<Piece> pieces = continued_prompts(state);
  plan_decodes(state, decoding(state), rows);
  for (const Piece& piece : pieces) {
    const Sequence& seq = state.sequences[piece.request];
    const bool grown = state.try_grow(piece.request, seq.computed + piece.tokens, seq.known());
    HEADROOM_CHECK(grown, "room was made");
    rows.push_back(state.plan_row(piece.request, piece.tokens));
  }
  if (for_decodes || for_prompts) return rows;
  TokenCount budget = state.scenario.max_num_batched_tokens;
  for (const PlannedRow& planned : rows) budget -= planned.row.tokens;
  admit_waiting(state, budget, rows);
  return rows;
}

std::vector<PlannedRow> plan_orca(NaiveState& state) {
  std::vector<PlannedRow> rows;
  plan_decodes(state, decoding(state), rows);
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
