// TensorRT-LLM: trtllm.hpp, trtllm_capacity.hpp, ENGINES.md 3.3.

#include <algorithm>

#include "sim/kernel/check.hpp"
#include "tests/oracle/naive_policies.hpp"

namespace headroom::oracle {
namespace {

bool may_pause(const NaiveState& state) {
  return state.scenario.capacity == Capacity::max_utilization;
}

// Tokens that a request's blocks are for from its start on.
TokenCount owned_tokens(const NaiveState& state, const Sequence& seq) {
  return may_pause(state) ? seq.known() : seq.prompt + seq.max;
}

// Free blocks less those that started requests own and do not hold yet.
BlockCount free_to_take(const NaiveState& state) {
  BlockCount owned = 0;
  for (const std::size_t request : state.running) {
    const Sequence& seq = state.sequences[request];
    if (may_pause(state) && seq.decodes) continue;  // one step ahead, no more
    owned += lacks(state, request, owned_tokens(state, seq));
  }
  return state.blocks.free_blocks() - owned;
}

// Whether anybody was paused.
bool decode(NaiveState& state, std::vector<PlannedRow>& rows) {
  bool paused = false;
  for (const std::size_t request : decoding(state)) {
    const auto runs = [&] {
      return std::find(state.running.begin(), state.running.end(), request) != state.running.end();
    };
    const TokenCount tokens = state.sequences[request].computed + 1;
    while (may_pause(state) && runs() && lacks(state, request, tokens) > free_to_take(state)) {
      state.preempt_last();
      paused = true;
    }
    if (!runs()) break;  // it was the last
    const bool grown = state.try_grow(request, tokens);
    HEADROOM_CHECK(grown, "room was made, or owned");
  }
  plan_decodes(state, decoding(state), rows);
  if (paused && rows.empty()) state.wake_up = state.now;
  return paused;
}

// Tokens of a prompt's first piece in a step; 0: it does not run.
TokenCount first_piece(const Scenario& s, TokenCount rest, TokenCount left) {
  if (!s.chunked_prefill) return rest <= left ? rest : 0;
  const TokenCount unit = s.block_size;
  if (s.equal_progress) return std::min(unit, rest) <= left ? std::min(unit, rest) : 0;
  return rest <= left ? rest : left / unit * unit;
}

// A paused request that has outgrown the pool, or the tokens of a step, is none: it stalls, and the
// queue behind it.
bool can_never_run(const NaiveState& state, const Sequence& seq) {
  const Scenario& s = state.scenario;
  return !s.chunked_prefill && seq.prompt > s.max_num_batched_tokens;
}

// Prompts that run in this step, with their first pieces: started ones, then waiting ones. Nobody
// starts in a step in which somebody is paused.
std::vector<Piece> choose_prompts(NaiveState& state, bool paused, TokenCount& left) {
  std::vector<Piece> pieces;
  for (const std::size_t request : state.running) {
    const Sequence& seq = state.sequences[request];
    if (seq.decodes) continue;
    const TokenCount tokens = first_piece(state.scenario, seq.known() - seq.computed, left);
    if (tokens == 0) return pieces;
    pieces.push_back({request, tokens});
    left -= tokens;
  }
  const bool one_batch = state.scenario.capacity == Capacity::static_batch;
  if (paused || (one_batch && !state.running.empty())) return pieces;
  BlockCount free = free_to_take(state);
  auto active = static_cast<std::int64_t>(state.running.size());
  const std::vector<std::size_t> queue = state.waiting;
  for (const std::size_t request : queue) {
    const Sequence& seq = state.sequences[request];
    if (active == state.scenario.max_num_seqs) break;
    if (can_never_run(state, seq)) {
      state.reject(request);
      continue;
    }
    const BlockCount need = ceil_div(owned_tokens(state, seq), state.scenario.block_size);
    const TokenCount tokens = first_piece(state.scenario, seq.known(), left);
    if (need > free || tokens == 0 || seq.in_stages) break;
    pieces.push_back({request, tokens});
    free -= need;
    left -= tokens;
    ++active;
  }
  return pieces;
}

// One unit each in turn, until nobody takes any more.
void deal_equally(const NaiveState& state, TokenCount left, std::vector<Piece>& pieces) {
  for (bool dealt = true; dealt;) {
    dealt = false;
    for (Piece& piece : pieces) {
      const Sequence& seq = state.sequences[piece.request];
      const TokenCount rest = seq.known() - seq.computed - piece.tokens;
      const TokenCount tokens = std::min(state.scenario.block_size, rest);
      if (tokens == 0 || tokens > left) continue;
      piece.tokens += tokens;
      left -= tokens;
      dealt = true;
    }
  }
}

}  // namespace

std::vector<PlannedRow> plan_trtllm(NaiveState& state) {
  std::vector<PlannedRow> rows;
  const bool paused = decode(state, rows);
  TokenCount left = state.scenario.max_num_batched_tokens - static_cast<TokenCount>(rows.size());
  std::vector<Piece> pieces = choose_prompts(state, paused, left);
  if (state.scenario.chunked_prefill && state.scenario.equal_progress) {
    deal_equally(state, left, pieces);
  }
  for (const Piece& piece : pieces) {
    const auto waits = std::find(state.waiting.begin(), state.waiting.end(), piece.request);
    if (waits != state.waiting.end()) state.start(piece.request);
    const Sequence& seq = state.sequences[piece.request];
    const bool grown = state.try_grow(piece.request, seq.computed + piece.tokens, seq.known());
    HEADROOM_CHECK(grown, "its blocks are its own");
    rows.push_back(state.plan_row(piece.request, piece.tokens));
  }
  return rows;
}

}  // namespace headroom::oracle
