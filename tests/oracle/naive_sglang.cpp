// SGLang: sglang.hpp, sglang_order.hpp, sglang_retraction.hpp, ENGINES.md 3.4.

#include <algorithm>
#include <tuple>

#include "sim/kernel/check.hpp"
#include "tests/oracle/naive_policies.hpp"

namespace headroom::oracle {
namespace {

constexpr TokenCount kMostOutputSetAside = 4096;
constexpr TokenCount kNoLimit = TokenCount{1} << 40;

TokenCount free_tokens(const NaiveState& state) {
  return state.blocks.free_blocks() * state.scenario.block_size;
}

// Whom no empty pool could take: known tokens and a page, output to come apart.
bool can_never_run(const NaiveState& state, const Sequence& seq) {
  return seq.known() + state.scenario.block_size >= state.scenario.pool_tokens();
}

// Output a request is taken to ask for: no more than the pool could hold with its prompt.
TokenCount most_output(const NaiveState& state, const Sequence& seq) {
  const Scenario& s = state.scenario;
  const TokenCount room = s.pool_tokens() - s.block_size - 1 - seq.prompt;
  return std::max(TokenCount{0}, std::min(seq.max, room));
}

// Behind `generated` tokens, which are those that have come out.
TokenCount output_to_come(const NaiveState& state, const Sequence& seq, TokenCount generated) {
  return std::clamp(most_output(state, seq) - generated, TokenCount{0}, kMostOutputSetAside);
}

TokenCount page_if(const NaiveState& state, bool wanted) {
  return wanted ? state.scenario.block_size : TokenCount{0};
}

double new_token_ratio(const NaiveState& state) {
  const double start = std::min(1.0, 0.7 * state.scenario.conservativeness);
  const double least = 0.14 * start;
  const double decay = (start - least) / 600.0;
  if (state.sglang.decodes_since == 0) return state.sglang.ratio_from;
  return std::max(
      least, state.sglang.ratio_from - decay * static_cast<double>(state.sglang.decodes_since));
}

void set_ratio(NaiveState& state, double ratio) {
  state.sglang.ratio_from = ratio;
  state.sglang.decodes_since = 0;
}

// For the running batch, those that have finished since included.
double set_aside_for_running(const NaiveState& state) {
  TokenCount wanted = 0;
  for (const std::size_t request : state.sglang.batch) {
    const Sequence& seq = state.sequences[request];
    wanted += output_to_come(state, seq, seq.generated);
  }
  return static_cast<double>(wanted) * new_token_ratio(state);
}

struct Budget {
  TokenCount free = 0;  // that a piece of a prompt can take
  double total = 0;
  TokenCount input = 0;
  TokenCount chunk = 0;
  TokenCount seats = 0;
};

// All that decode. Releases that look at what is out have those whose max_tokens are in flight,
// too.
std::vector<std::size_t> all_decoding(const NaiveState& state) {
  std::vector<std::size_t> requests;
  for (const std::size_t request : state.running) {
    const Sequence& seq = state.sequences[request];
    const bool skips = state.scenario.sglang_rules.skips_last_step && seq.is_ending();
    if (seq.decodes && !skips) requests.push_back(request);
  }
  return requests;
}

// get_next_batch_to_run: the last prefill batch, less those that have finished and one with more
// of its prompt to come, joins the others.
void join_last_batch(NaiveState& state) {
  SglangMemory& memory = state.sglang;
  for (const std::size_t request : memory.last) {
    const Sequence& seq = state.sequences[request];
    if (seq.left || !seq.decodes) memory.batch_is_full = false;
    if (!seq.left && seq.decodes) memory.batch.push_back(request);
  }
  memory.last.clear();
}

// update_running_batch; whether anybody was dropped.
bool drop_finished(NaiveState& state) {
  SglangMemory& memory = state.sglang;
  const auto dropped = std::erase_if(
      memory.batch, [&state](std::size_t request) { return state.sequences[request].left; });
  if (dropped > 0 || memory.batch.empty()) memory.batch_is_full = false;
  return dropped > 0;
}

// _reqs_finishing_inflight; whether there were any.
bool drop_ending(NaiveState& state) {
  SglangMemory& memory = state.sglang;
  if (!state.scenario.sglang_rules.skips_last_step) return false;
  const auto dropped = std::erase_if(memory.batch, [&state](std::size_t request) {
    return !state.sequences[request].left && state.sequences[request].is_ending();
  });
  if (dropped > 0) memory.batch_is_full = false;
  return dropped > 0;
}

BlockCount lacks_for_decodes(const NaiveState& state) {
  BlockCount blocks = 0;
  for (const std::size_t request : all_decoding(state)) {
    blocks += lacks(state, request, state.sequences[request].computed + 1);
  }
  return blocks;
}

// Rows of the request table, less those in use: of the running batch, and of a prompt in pieces.
TokenCount seats_left(const NaiveState& state) {
  const auto& batch = state.sglang.batch;
  auto taken = static_cast<TokenCount>(batch.size());
  if (state.scenario.sglang_rules.counts_rows) {
    taken = std::max(taken, static_cast<TokenCount>(state.running.size()));
  }
  return state.scenario.max_num_seqs - taken;
}

// Decodes that run beside the batch count as its tokens, or take their blocks before it.
Budget budget_for(const NaiveState& state, bool beside) {
  const Scenario& s = state.scenario;
  const TokenCount blocks = beside ? lacks_for_decodes(state) * s.block_size : TokenCount{0};
  const auto counted = s.mixed_chunk ? static_cast<TokenCount>(state.sglang.batch.size()) : 0;
  const TokenCount free = free_tokens(state);
  const TokenCount left = free - (s.mixed_chunk ? counted : blocks);
  return {.free = free - blocks,
          .total = static_cast<double>(left) - set_aside_for_running(state),
          .input = s.max_prefill_tokens - counted,
          .chunk = s.chunked_prefill_size > 0 ? s.chunked_prefill_size - counted : kNoLimit,
          .seats = seats_left(state)};
}

std::size_t next_waiting(const NaiveState& state) {
  if (!state.scenario.longest_output_first) return state.waiting.front();
  const auto smaller = [&state](std::size_t a, std::size_t b) {
    return state.sequences[a].max < state.sequences[b].max;
  };
  return *std::max_element(state.waiting.begin(), state.waiting.end(), smaller);
}

void run(NaiveState& state, std::size_t request, TokenCount tokens, std::vector<PlannedRow>& rows) {
  const Sequence& seq = state.sequences[request];
  const bool grown = state.try_grow(request, seq.computed + tokens, seq.known());
  HEADROOM_CHECK(grown, "a prompt has room when it is admitted");
  rows.push_back(state.plan_row(request, tokens));
}

// `tokens` of `request` are part of the batch now; at the end of its prompt all of its output is
// set aside.
void charge(const NaiveState& state, const Sequence& seq, TokenCount tokens, bool ends,
            Budget& budget) {
  budget.input -= tokens;
  budget.chunk -= tokens;
  TokenCount total = tokens + page_if(state, state.scenario.sglang_rules.adds_page);
  if (ends) total += output_to_come(state, seq, 0);
  budget.total -= static_cast<double>(total);
}

void continue_chunked(NaiveState& state, Budget& budget, std::vector<PlannedRow>& rows) {
  for (const std::size_t request : state.running) {
    const Sequence& seq = state.sequences[request];
    if (seq.decodes) continue;
    const TokenCount rest = seq.known() - seq.computed;
    const TokenCount page = state.scenario.block_size;
    const TokenCount room = ceil_div(seq.computed, page) * page - seq.computed + budget.free;
    TokenCount tokens = std::min({rest, budget.chunk, room});
    const auto spare = static_cast<TokenCount>(budget.total);
    if (state.scenario.sglang_rules.pieces_leave_output && spare > 0) {
      tokens = std::min(tokens, spare);
    }
    if (tokens <= 0) return;
    charge(state, seq, tokens, tokens == rest, budget);
    run(state, request, tokens, rows);
  }
}

// False: nobody else is tried.
bool add(NaiveState& state, std::size_t request, Budget& budget, std::vector<PlannedRow>& rows) {
  const SglangRules& rules = state.scenario.sglang_rules;
  const Sequence& seq = state.sequences[request];
  const TokenCount extend = seq.known();
  // Where all output is asked for again after a retraction, a request alone is served all the same.
  const bool alone = state.sglang.batch.empty() && rows.empty();
  const TokenCount generated = rules.expects_rest || alone ? seq.generated : TokenCount{0};
  const TokenCount wanted =
      extend + output_to_come(state, seq, generated) + page_if(state, rules.tests_page);
  if (static_cast<double>(wanted) >= budget.total) {
    state.sglang.batch_is_full = true;
    return false;
  }
  const bool limited = rules.limits_pieces || state.scenario.chunked_prefill_size == 0;
  const bool too_long = rules.counts_pages ? extend >= budget.input : extend > budget.input;
  if (limited && too_long && !rows.empty()) return false;
  const bool cut = extend > budget.chunk;
  const TokenCount tokens = cut ? budget.chunk : extend;
  if (tokens <= 0) return false;
  state.start(request);
  run(state, request, tokens, rows);
  charge(state, seq, tokens, !cut, budget);
  if (budget.total <= 0) state.sglang.batch_is_full = true;
  return !cut && budget.input > 0 && budget.chunk > 0 && !state.sglang.batch_is_full;
}

std::vector<PlannedRow> prefill_batch(NaiveState& state, bool beside) {
  std::vector<PlannedRow> rows;
  const bool chunked = std::any_of(state.running.begin(), state.running.end(),
                                   [&](std::size_t r) { return !state.sequences[r].decodes; });
  const auto in_batch = static_cast<std::int64_t>(state.sglang.batch.size());
  const bool closed = state.sglang.batch_is_full || state.waiting.empty() ||
                      in_batch >= state.scenario.max_num_seqs;
  if (closed && !chunked) return rows;
  const bool was_full = state.sglang.batch_is_full;
  Budget budget = budget_for(state, beside);
  continue_chunked(state, budget, rows);
  // A prompt that is still not complete stays the only one.
  for (const std::size_t request : state.running) {
    if (!state.sequences[request].decodes) return rows;
  }
  const bool stops = state.scenario.sglang_rules.stops_when_spent;
  // The decodes beside it use it up.
  if (!stops && rows.empty() && budget.chunk <= 0) return rows;
  while (!was_full && !state.waiting.empty()) {
    if (stops && budget.total > 0 && (budget.input <= 0 || budget.chunk <= 0)) break;
    const std::size_t request = next_waiting(state);
    if (can_never_run(state, state.sequences[request])) {
      state.reject(request);
      continue;
    }
    if (static_cast<TokenCount>(rows.size()) >= budget.seats) {
      state.sglang.batch_is_full = true;
      break;
    }
    if (!add(state, request, budget, rows)) break;
  }
  return rows;
}

// First victim first: the shortest output, then the longest prompt, then the last of the batch.
std::vector<std::size_t> victims(const NaiveState& state) {
  const auto& batch = state.sglang.batch;
  std::vector<std::size_t> order(batch.rbegin(), batch.rend());
  std::stable_sort(order.begin(), order.end(), [&state](std::size_t a, std::size_t b) {
    const Sequence& x = state.sequences[a];
    const Sequence& y = state.sequences[b];
    return std::tuple(x.generated, -x.prompt) < std::tuple(y.generated, -y.prompt);
  });
  return order;
}

void retract_one(NaiveState& state, std::size_t request) {
  state.interrupt(request, KvRelease::dropped);
  std::erase(state.sglang.batch, request);
  state.waiting.push_back(request);
}

void retract(NaiveState& state) {
  std::vector<std::size_t> order = victims(state);
  bool first = true;
  while (order.size() > 1 && (first || lacks_for_decodes(state) > state.blocks.free_blocks())) {
    retract_one(state, order.front());
    order.erase(order.begin());
    first = false;
  }
  if (lacks_for_decodes(state) > state.blocks.free_blocks()) {
    retract_one(state, order.front());
    order.clear();
  }
  TokenCount decoded = 0;
  TokenCount most = 0;
  for (const std::size_t request : order) {
    decoded += state.sequences[request].generated;
    most += most_output(state, state.sequences[request]);
  }
  state.sglang.batch_is_full = false;
  state.sglang.batch.assign(order.rbegin(), order.rend());  // it stays in the order of the sort
  const auto remaining = static_cast<TokenCount>(order.size());
  set_ratio(state, std::min(1.0, static_cast<double>(decoded + 20 * remaining) /
                                     static_cast<double>(most + 1)));
}

void take(NaiveState& state, const std::vector<std::size_t>& decodes,
          std::vector<PlannedRow>& rows) {
  for (const std::size_t request : decodes) {
    const bool grown = state.try_grow(request, state.sequences[request].computed + 1);
    HEADROOM_CHECK(grown, "room was made");
    rows.push_back(state.plan_row(request, 1));
  }
}

}  // namespace

std::vector<PlannedRow> plan_sglang(NaiveState& state) {
  join_last_batch(state);
  if (state.scenario.sglang_rules.filters_always) drop_finished(state);
  SglangMemory& memory = state.sglang;
  const bool mixed = state.scenario.mixed_chunk && !all_decoding(state).empty();
  const bool short_of_room = lacks_for_decodes(state) > state.blocks.free_blocks();
  const bool nobody_ran = memory.batch.empty();
  const bool beside = mixed || state.scenario.decodes_go_on;
  const std::vector<std::size_t> decodes =
      beside ? all_decoding(state) : std::vector<std::size_t>{};
  std::vector<PlannedRow> rows;
  if (!beside || !short_of_room) rows = prefill_batch(state, beside);
  if (!rows.empty()) {
    for (const PlannedRow& planned : rows) memory.last.push_back(planned.row.request);
    take(state, decodes, rows);
    if (state.scenario.mixed_chunk) drop_ending(state);
    for (const std::size_t request : memory.batch) {
      if (mixed) memory.last.push_back(request);
    }
    // The flag is the running batch's, and a prefill batch that finds that one empty or takes it in
    // is the next running batch.
    if (state.scenario.mixed_chunk || nobody_ran) memory.batch_is_full = false;
    if (state.scenario.mixed_chunk) memory.batch.clear();
    return rows;
  }
  const bool dropped = drop_finished(state);
  if (drop_ending(state) && short_of_room && !state.scenario.decodes_go_on) return rows;
  if (short_of_room) retract(state);
  take(state, all_decoding(state), rows);
  if (rows.empty() && (short_of_room || dropped)) state.wake_up = state.now;
  if (!rows.empty() && !short_of_room) ++memory.decodes_since;
  const bool none_in_flight = state.steps_in_flight == 0 || state.scenario.decodes_go_on;
  const bool idle = state.waiting.empty() || !state.scenario.sglang_rules.idle_without_queue;
  if (rows.empty() && state.running.empty() && none_in_flight && idle) {
    set_ratio(state, std::min(1.0, 0.7 * state.scenario.conservativeness));
  }
  return rows;
}

}  // namespace headroom::oracle
