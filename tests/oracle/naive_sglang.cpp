// SGLang: sglang.hpp, sglang_order.hpp, sglang_retraction.hpp, ENGINES.md 3.4.

#include <algorithm>
#include <cmath>
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

TokenCount output_to_come(const NaiveState& state, const Sequence& seq) {
  const TokenCount wanted = most_output(state, seq) - seq.planned_output();
  return std::clamp(wanted, TokenCount{0}, kMostOutputSetAside);
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

TokenCount set_aside_for_running(const NaiveState& state) {
  TokenCount wanted = 0;
  for (const std::size_t request : state.running) {
    const Sequence& seq = state.sequences[request];
    if (seq.decodes) wanted += output_to_come(state, seq);
  }
  return static_cast<TokenCount>(std::floor(static_cast<double>(wanted) * new_token_ratio(state)));
}

struct Budget {
  TokenCount free = 0;
  TokenCount total = 0;
  TokenCount input = 0;
  TokenCount chunk = 0;
};

// All that decode, those whose max_tokens are in flight too: this engine looks at what is out.
std::vector<std::size_t> all_decoding(const NaiveState& state) {
  std::vector<std::size_t> requests;
  for (const std::size_t request : state.running) {
    if (state.sequences[request].decodes) requests.push_back(request);
  }
  return requests;
}

// get_next_batch_to_run: the last prefill batch, less those that have finished, joins the others.
void join_last_batch(NaiveState& state) {
  SglangMemory& memory = state.sglang;
  for (const std::size_t request : memory.last) {
    const Sequence& seq = state.sequences[request];
    if (seq.left) memory.batch_is_full = false;
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

BlockCount lacks_for_decodes(const NaiveState& state) {
  BlockCount blocks = 0;
  for (const std::size_t request : all_decoding(state)) {
    blocks += lacks(state, request, state.sequences[request].computed + 1);
  }
  return blocks;
}

Budget budget_for(const NaiveState& state, TokenCount decodes_beside) {
  const Scenario& s = state.scenario;
  // Decodes that run beside the batch count as its tokens, or take their blocks before it.
  const bool apart = s.decodes_go_on && decodes_beside == 0;
  const TokenCount taken = apart ? lacks_for_decodes(state) * s.block_size : decodes_beside;
  const TokenCount free = free_tokens(state) - taken;
  return {.free = free,
          .total = free - set_aside_for_running(state),
          .input = s.max_prefill_tokens - decodes_beside,
          .chunk = s.chunked_prefill_size > 0 ? s.chunked_prefill_size - decodes_beside : kNoLimit};
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

TokenCount whole_pages(const NaiveState& state, TokenCount tokens) {
  return std::max(TokenCount{0}, tokens) / state.scenario.block_size * state.scenario.block_size;
}

void continue_chunked(NaiveState& state, Budget& budget, std::vector<PlannedRow>& rows) {
  for (const std::size_t request : state.running) {
    const Sequence& seq = state.sequences[request];
    if (seq.decodes) continue;
    const TokenCount rest = seq.known() - seq.computed;
    const TokenCount page = state.scenario.block_size;
    const TokenCount room = ceil_div(seq.computed, page) * page - seq.computed + budget.free;
    const TokenCount most = std::min(budget.chunk, room);
    const TokenCount tokens = rest <= most ? rest : whole_pages(state, most);
    if (tokens == 0) return;
    // Then nobody else is tried unless it is complete: it counts like a new one.
    budget.total -= tokens + output_to_come(state, seq) + state.scenario.block_size;
    run(state, request, tokens, rows);
    budget.input -= tokens;
    budget.chunk -= tokens;
  }
}

// False: nobody else is tried.
bool add(NaiveState& state, std::size_t request, Budget& budget, std::vector<PlannedRow>& rows) {
  const Sequence& seq = state.sequences[request];
  const TokenCount extend = seq.known();
  const TokenCount total = extend + output_to_come(state, seq) + state.scenario.block_size;
  if (total >= budget.total) {
    state.sglang.batch_is_full = true;
    return false;
  }
  if (extend > budget.input && !rows.empty()) return false;
  const bool cut = extend > budget.chunk;
  const TokenCount tokens = cut ? whole_pages(state, budget.chunk) : extend;
  if (tokens == 0) return false;
  state.start(request);
  run(state, request, tokens, rows);
  budget.total -= total;
  budget.input -= extend;
  budget.chunk -= extend;
  return !cut && budget.input > 0 && budget.chunk > 0;
}

std::vector<PlannedRow> prefill_batch(NaiveState& state, TokenCount decodes_beside) {
  std::vector<PlannedRow> rows;
  const bool chunked = std::any_of(state.running.begin(), state.running.end(),
                                   [&](std::size_t r) { return !state.sequences[r].decodes; });
  const auto seats_left = [&state, &rows] {
    return state.scenario.max_num_seqs -
           static_cast<std::int64_t>(state.sglang.batch.size() + rows.size());
  };
  const bool closed = state.sglang.batch_is_full || state.waiting.empty() || seats_left() <= 0;
  if (closed && !chunked) return rows;
  Budget budget = budget_for(state, decodes_beside);
  continue_chunked(state, budget, rows);
  // A prompt that is still not complete stays the only one.
  for (const std::size_t request : state.running) {
    if (!state.sequences[request].decodes) return rows;
  }
  if (rows.empty() && budget.chunk <= 0) return rows;  // the decodes beside it use it up
  while (!state.waiting.empty() && !state.sglang.batch_is_full) {
    const std::size_t request = next_waiting(state);
    if (can_never_run(state, state.sequences[request])) {
      state.reject(request);
      continue;
    }
    if (seats_left() <= 0) {
      state.sglang.batch_is_full = true;
      break;
    }
    if (!add(state, request, budget, rows)) break;
  }
  return rows;
}

// First victim first: the shortest output, then the longest prompt, then the latest admission.
std::vector<std::size_t> victims(const NaiveState& state) {
  std::vector<std::size_t> order;
  for (auto r = state.running.rbegin(); r != state.running.rend(); ++r) {
    if (state.sequences[*r].decodes) order.push_back(*r);
  }
  std::stable_sort(order.begin(), order.end(), [&state](std::size_t a, std::size_t b) {
    const Sequence& x = state.sequences[a];
    const Sequence& y = state.sequences[b];
    return std::tuple(x.planned_output(), -x.prompt) < std::tuple(y.planned_output(), -y.prompt);
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
    decoded += state.sequences[request].planned_output();
    most += most_output(state, state.sequences[request]);
  }
  state.sglang.batch_is_full = false;
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
  SglangMemory& memory = state.sglang;
  const bool mixed = state.scenario.mixed_chunk && !all_decoding(state).empty();
  const bool short_of_room = lacks_for_decodes(state) > state.blocks.free_blocks();
  const bool nobody_ran = memory.batch.empty();
  const bool beside = mixed || state.scenario.decodes_go_on;
  const std::vector<std::size_t> decodes =
      beside ? all_decoding(state) : std::vector<std::size_t>{};
  std::vector<PlannedRow> rows;
  if (!beside || !short_of_room) {
    rows = prefill_batch(state, mixed ? static_cast<TokenCount>(memory.batch.size()) : 0);
  }
  if (!rows.empty()) {
    const std::size_t prompts = rows.size();
    take(state, decodes, rows);
    for (std::size_t i = 0; i < (mixed ? rows.size() : prompts); ++i) {
      memory.last.push_back(rows[i].row.request);
    }
    // The flag is the running batch's, and a prefill batch that finds that one empty or takes it in
    // is the next running batch.
    if (state.scenario.mixed_chunk || nobody_ran) memory.batch_is_full = false;
    if (state.scenario.mixed_chunk) memory.batch.clear();
    return rows;
  }
  const bool dropped = drop_finished(state);
  if (short_of_room) retract(state);
  take(state, all_decoding(state), rows);
  if (rows.empty() && (short_of_room || dropped)) state.wake_up = state.now;
  if (!rows.empty() && !short_of_room) ++memory.decodes_since;
  const bool none_in_flight = state.steps_in_flight == 0 || state.scenario.decodes_go_on;
  if (rows.empty() && state.running.empty() && none_in_flight) {
    set_ratio(state, std::min(1.0, 0.7 * state.scenario.conservativeness));
  }
  return rows;
}

}  // namespace headroom::oracle
