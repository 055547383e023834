// TGI v3: tgi.hpp, ENGINES.md 3.5.

#include <algorithm>
#include <cmath>

#include "sim/kernel/check.hpp"
#include "tests/oracle/naive_policies.hpp"

namespace headroom::oracle {
namespace {

enum class Prompts { whole, cut };

// The first ones of the queue that fit into seats, memory and budget together.
std::vector<Piece> next_entries(const NaiveState& state, TokenCount budget, Prompts prompts) {
  std::vector<Piece> entries;
  std::int64_t seats =
      state.scenario.max_num_seqs - static_cast<std::int64_t>(state.running.size());
  BlockCount free = state.blocks.free_blocks();
  for (const std::size_t request : state.waiting) {
    const Sequence& seq = state.sequences[request];
    const BlockCount need = ceil_div(seq.prompt + seq.max, state.scenario.block_size);
    if (seats == 0 || budget <= 0 || need > free) break;
    if (prompts == Prompts::whole && seq.prompt > budget) break;
    entries.push_back({request, std::min(seq.prompt, budget)});
    --seats;
    free -= need;
    budget -= entries.back().tokens;
  }
  return entries;
}

void admit(NaiveState& state, const std::vector<Piece>& entries, std::vector<PlannedRow>& rows) {
  state.router = {.joined_others = !state.running.empty(), .step_since = false, .tokens_since = 1};
  for (const Piece& entry : entries) {
    const Sequence& seq = state.sequences[entry.request];
    const bool reserved = state.try_reserve(entry.request, seq.prompt + seq.max);
    HEADROOM_CHECK(reserved, "the need was computed before");
    state.start(entry.request);
    rows.push_back(state.plan_row(entry.request, entry.tokens));
  }
}

// How many entries at least may interrupt those that run.
std::int64_t least_entries(const NaiveState& state) {
  if (state.router.tokens_since >= state.scenario.max_waiting_tokens) return 1;
  const auto running = static_cast<double>(state.running.size());
  const double share = std::floor(state.scenario.waiting_served_ratio * running);
  return std::max(std::int64_t{1}, static_cast<std::int64_t>(share));
}

// Those that no batch could ever hold, for as long as one is the first to wait.
void refuse_too_long(NaiveState& state, TokenCount budget) {
  while (!state.waiting.empty() && state.sequences[state.waiting.front()].prompt > budget) {
    state.reject(state.waiting.front());
  }
}

std::vector<PlannedRow> plan_apart(NaiveState& state) {
  const TokenCount b = state.scenario.block_size;
  const TokenCount budget = ceil_div(state.scenario.max_batch_prefill_tokens, b) * b;
  refuse_too_long(state, budget);
  std::vector<PlannedRow> rows;
  const std::vector<std::size_t> decodes = decoding(state);
  const RouterMemory& router = state.router;
  const bool must_decode = router.joined_others && !router.step_since && !decodes.empty();
  if (!must_decode) {
    const std::vector<Piece> entries = next_entries(state, budget, Prompts::whole);
    if (!entries.empty() && static_cast<std::int64_t>(entries.size()) >= least_entries(state)) {
      admit(state, entries, rows);
      return rows;
    }
  }
  plan_decodes(state, decodes, rows);
  if (rows.empty()) return rows;
  state.router.step_since = true;
  ++state.router.tokens_since;
  return rows;
}

// The prompt that was cut goes on first.
void continue_cut_prompt(NaiveState& state, TokenCount& budget, std::vector<PlannedRow>& rows) {
  for (const std::size_t request : state.running) {
    const Sequence& seq = state.sequences[request];
    if (seq.decodes || budget <= 0) continue;
    const TokenCount tokens = std::min(seq.known() - seq.computed, budget);
    rows.push_back(state.plan_row(request, tokens));
    budget -= tokens;
  }
}

std::vector<PlannedRow> plan_mixed(NaiveState& state) {
  std::vector<PlannedRow> rows;
  plan_decodes(state, decoding(state), rows);
  TokenCount budget =
      state.scenario.max_batch_prefill_tokens - static_cast<TokenCount>(rows.size());
  continue_cut_prompt(state, budget, rows);
  const bool must_pass = state.router.joined_others && !state.router.step_since && !rows.empty();
  const std::vector<Piece> entries =
      must_pass ? std::vector<Piece>{} : next_entries(state, budget, Prompts::cut);
  if (!entries.empty()) {
    admit(state, entries, rows);
  } else if (!rows.empty()) {
    state.router.step_since = true;
  }
  return rows;
}

}  // namespace

std::vector<PlannedRow> plan_tgi(NaiveState& state) {
  return state.scenario.chunked_prefill ? plan_mixed(state) : plan_apart(state);
}

}  // namespace headroom::oracle
