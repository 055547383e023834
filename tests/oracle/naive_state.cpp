#include "tests/oracle/naive_state.hpp"

#include <algorithm>

#include "sim/kernel/check.hpp"

namespace headroom::oracle {

NaiveState::NaiveState(const Scenario& s)
    : scenario(s),
      blocks(s.memory == Memory::paged ? s.kv_blocks : 0, s.block_size,
             s.prefix_caching && s.policy == Policy::vllm),
      cells(s.memory == Memory::contiguous ? s.kv_tokens : 0) {
  sequences.resize(s.arrivals.size());
  result.requests.resize(s.arrivals.size());
}

// docs/semantics.md 3 and 11.
void NaiveState::arrive(std::size_t request) {
  const Arrival& arrival = scenario.arrivals[request];
  Sequence& seq = sequences[request];
  RequestResult& out = result.requests[request];
  seq.prompt = arrival.prompt_tokens;
  const TokenCount room = scenario.max_model_len - seq.prompt;
  seq.max = arrival.max_tokens > 0 ? TokenCount{arrival.max_tokens} : room;
  seq.output = std::min(TokenCount{arrival.output_tokens}, seq.max);
  const TokenCount pool = scenario.memory == Memory::paged
                              ? scenario.kv_blocks * scenario.block_size
                              : scenario.kv_tokens;
  const TokenCount least = seq.prompt + (scenario.policy == Policy::vllm ? 1 : seq.max);
  if (room <= 0 || seq.max > room || least > pool) {
    seq.left = true;
    out.outcome = Outcome::rejected;
    out.finish_ns = now;
    return;
  }
  out.queued_ns = now;
  waiting.push_back(request);
}

bool NaiveState::try_reserve(std::size_t request, TokenCount tokens) {
  if (scenario.memory == Memory::paged) return try_grow(request, tokens);
  if (!cells.reserve(request, tokens)) return false;
  note_peaks();
  return true;
}

bool NaiveState::try_grow(std::size_t request, TokenCount tokens) {
  if (!blocks.grow(request, tokens)) return false;
  note_peaks();
  return true;
}

void NaiveState::release(std::size_t request, bool keep_identity) {
  if (scenario.memory == Memory::paged) {
    blocks.release(request, sequences[request].computed,
                   keep_identity ? KvRelease::preempted : KvRelease::finished);
  } else {
    cells.release(request);
  }
}

void NaiveState::start_head() {
  running.push_back(waiting.front());
  waiting.erase(waiting.begin());
}

void NaiveState::preempt_last() {
  const std::size_t victim = running.back();
  release(victim, true);
  sequences[victim].computed = 0;
  sequences[victim].decodes = false;
  running.pop_back();
  waiting.insert(waiting.begin(), victim);
  ++result.requests[victim].preemptions;
}

PlannedRow NaiveState::plan_row(std::size_t request, TokenCount tokens) {
  Sequence& seq = sequences[request];
  PlannedRow planned;
  planned.row = {request, tokens, seq.decodes, false};
  planned.context_before = seq.computed;
  seq.computed += tokens;
  if (!seq.decodes) seq.decodes = seq.computed == seq.pad + seq.known();
  planned.row.samples = seq.decodes;
  RequestResult& out = result.requests[request];
  if (out.first_scheduled_ns < 0) out.first_scheduled_ns = now;
  return planned;
}

bool NaiveState::end_step(const std::vector<StepRow>& rows, TickSum instant) {
  bool any_token = false;
  for (const StepRow& row : rows) {
    if (!row.samples) continue;
    const Sequence& seq = sequences[row.request];
    if (seq.left || seq.has_all_tokens()) {
      ++result.totals.ghost_rows;
    } else {
      yield_token(row.request, instant);
      any_token = true;
    }
  }
  if (batch_keeps_rows()) {
    finish_static_batch(instant);
  } else {
    finish_sequences(instant);
  }
  for (const std::size_t request : leaving_) {
    if (!sequences[request].left) withdraw(request);
  }
  leaving_.clear();
  return any_token;
}

// docs/semantics.md 13.
void NaiveState::give_up(std::size_t request, bool plans_now, bool in_flight) {
  sequences[request].given_up = true;
  const bool runs = std::find(running.begin(), running.end(), request) != running.end();
  if (!runs && !in_flight) return withdraw(request);
  if (batch_keeps_rows()) return;  // it cannot be interrupted
  if (plans_now) return withdraw(request);
  leaving_.push_back(request);
}

void NaiveState::withdraw(std::size_t request) {
  const auto seat = std::find(running.begin(), running.end(), request);
  if (seat != running.end()) {
    release(request, false);
    running.erase(seat);
  } else {
    waiting.erase(std::find(waiting.begin(), waiting.end(), request));
    if (scenario.memory == Memory::paged) blocks.forget_request(request);
  }
  sequences[request].left = true;
  result.requests[request].outcome = Outcome::cancelled;
  result.requests[request].finish_ns = now;
}

void NaiveState::yield_token(std::size_t request, TickSum instant) {
  Sequence& seq = sequences[request];
  RequestResult& out = result.requests[request];
  ++seq.generated;
  out.output_tokens = seq.generated;
  if (seq.generated == 1) {
    out.first_token_ns = floor_ns(instant);
  } else if (!scenario.responds_at_end) {  // then they all arrive together, without gaps
    const TickSum gap = instant - seq.last_token;
    ++result.totals.gaps;
    result.totals.gap_ticks += gap;
    result.totals.gap_ticks_squared += gap * gap;
  }
  seq.last_token = instant;
  if (batch_keeps_rows() && seq.has_all_tokens()) out.finish_ns = floor_ns(instant);
}

void NaiveState::finish(std::size_t request, TickSum instant) {
  sequences[request].left = true;
  result.requests[request].outcome =
      sequences[request].given_up ? Outcome::cancelled : Outcome::finished;
  result.requests[request].finish_ns = floor_ns(instant);
}

// Running ones give their KV back in the order of the list; a preempted one has none.
void NaiveState::finish_sequences(TickSum instant) {
  std::vector<std::size_t> still_running;
  for (const std::size_t request : running) {
    if (!sequences[request].has_all_tokens()) {
      still_running.push_back(request);
      continue;
    }
    release(request, false);
    finish(request, instant);
  }
  running = still_running;
  std::vector<std::size_t> still_waiting;
  for (const std::size_t request : waiting) {
    if (!sequences[request].has_all_tokens()) {
      still_waiting.push_back(request);
      continue;
    }
    blocks.forget_request(request);
    finish(request, instant);
  }
  waiting = still_waiting;
}

void NaiveState::finish_static_batch(TickSum instant) {
  for (const std::size_t request : running) {
    if (!sequences[request].has_all_tokens()) return;
  }
  for (const std::size_t request : running) {
    const TimeNs last_token_ns = result.requests[request].finish_ns;
    release(request, false);
    finish(request, instant);
    if (scenario.responds_at_end) {
      result.requests[request].first_token_ns = floor_ns(instant);
    } else {
      result.requests[request].finish_ns = last_token_ns;
    }
  }
  running.clear();
}

void NaiveState::note_peaks() {
  Totals& totals = result.totals;
  totals.peak_used_blocks = std::max(totals.peak_used_blocks, blocks.used_blocks());
  totals.peak_used_tokens = std::max(totals.peak_used_tokens, cells.used_tokens());
}

}  // namespace headroom::oracle
