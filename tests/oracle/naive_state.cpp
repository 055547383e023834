#include "tests/oracle/naive_state.hpp"

#include <algorithm>

#include "sim/kernel/check.hpp"

namespace headroom::oracle {

NaiveState::NaiveState(const Scenario& s)
    : scenario(s),
      blocks(s.memory == Memory::paged ? s.kv_blocks : 0, s.block_size, s.prefix_caching),
      cells(s.memory == Memory::contiguous ? s.kv_tokens : 0),
      api(s.api_server) {
  sequences.resize(s.arrivals.size());
  result.requests.resize(s.arrivals.size());
  if (s.memory == Memory::slots) slots.resize(static_cast<std::size_t>(s.max_num_seqs));
  sglang.ratio_from = std::min(1.0, 0.7 * s.conservativeness);
  for (std::int64_t a = s.adapters; a > std::max<std::int64_t>(0, s.adapters - s.max_cpu_loras);
       --a) {
    adapters.idle.push_back(static_cast<std::int32_t>(a));
  }
}

// The answer is told too if the whole prompt is, and it has a name.
void NaiveState::introduce(std::size_t request) {
  std::vector<Token> beginning;
  const std::int32_t adapter = sequences[request].adapter;
  const auto append = [&](const PrefixSegment& piece) {
    for (std::int64_t at = 0; at < piece.tokens; ++at) {
      beginning.push_back({false, piece.id, at, adapter});
    }
  };
  for (const PrefixSegment& piece : pieces_of(scenario, request)) append(piece);
  const Sequence& seq = sequences[request];
  const std::uint64_t answer = scenario.arrivals[request].output_segment;
  if (answer != 0 && static_cast<TokenCount>(beginning.size()) == seq.prompt) {
    append({answer, static_cast<std::int32_t>(seq.max)});
  }
  blocks.introduce(request, std::move(beginning));
}

// docs/semantics.md 3 and 11.
void NaiveState::arrive(std::size_t request) {
  const Arrival& arrival = scenario.arrivals[request];
  Sequence& seq = sequences[request];
  RequestResult& out = result.requests[request];
  seq.prompt = arrival.prompt_tokens;
  seq.adapter = arrival.adapter;
  const TokenCount room = scenario.max_model_len - seq.prompt;
  seq.max = arrival.max_tokens > 0 ? TokenCount{arrival.max_tokens} : room;
  seq.output = std::min(TokenCount{arrival.output_tokens}, seq.max);
  const TokenCount least = seq.prompt + (scenario.reserves() ? seq.max : 1);
  if (room <= 0 || seq.max > room || least > scenario.pool_tokens()) {
    seq.left = true;
    out.outcome = Outcome::rejected;
    out.finish_ns = now;
    if (api.exists()) tell(request, ticks_from_ns(now));
    return;
  }
  out.queued_ns = now;
  if (scenario.prefix_caching) introduce(request);
  waiting.push_back(request);
}

bool NaiveState::try_reserve(std::size_t request, TokenCount tokens) {
  if (scenario.memory == Memory::paged) return try_grow(request, tokens);
  if (!cells.reserve(request, tokens)) return false;
  note_peaks();
  return true;
}

bool NaiveState::try_grow(std::size_t request, TokenCount tokens, TokenCount known) {
  if (!blocks.grow(request, tokens, known)) return false;
  note_peaks();
  return true;
}

void NaiveState::release(std::size_t request, KvRelease how) {
  switch (scenario.memory) {
    case Memory::paged: blocks.release(request, sequences[request].with_content(), how); return;
    case Memory::contiguous: cells.release(request); return;
    case Memory::slots: break;
  }
  std::int64_t latest = 0;
  for (const Slot& slot : slots) latest = std::max(latest, slot.given_back);
  for (Slot& slot : slots) {
    if (slot.request == request) slot = {kFreeSlot, latest + 1};
  }
}

void NaiveState::start(std::size_t request, TokenCount hit) {
  waiting.erase(std::find(waiting.begin(), waiting.end(), request));
  running.push_back(request);
  sequences[request].computed = hit;
  sequences[request].admission = ++admissions_;
  result.totals.cached_tokens += hit;
}

void NaiveState::interrupt(std::size_t request, KvRelease how) {
  release(request, how);
  sequences[request].computed = 0;
  sequences[request].decodes = false;
  leave_running(request);
  ++result.requests[request].preemptions;
}

void NaiveState::preempt(std::size_t request) {
  interrupt(request, KvRelease::preempted);
  waiting.insert(waiting.begin(), request);
}

void NaiveState::leave_running(std::size_t request) {
  running.erase(std::find(running.begin(), running.end(), request));
}

void NaiveState::reject(std::size_t request) {
  waiting.erase(std::find(waiting.begin(), waiting.end(), request));
  if (scenario.memory == Memory::paged) blocks.forget_request(request);
  lose(request, Outcome::rejected);
}

void NaiveState::fail_slots() {
  for (Slot& slot : slots) {
    if (slot.request == kFreeSlot) continue;
    std::erase(waiting, slot.request);
    std::erase(running, slot.request);
    lose(slot.request, Outcome::lost_to_oom);
  }
  slots.assign(slots.size(), {});
}

void NaiveState::lose(std::size_t request, Outcome outcome) {
  sequences[request].left = true;
  result.requests[request].outcome = outcome;
  result.requests[request].finish_ns = now;
  if (api.exists()) tell(request, ticks_from_ns(now));
}

PlannedRow NaiveState::plan_row(std::size_t request, TokenCount tokens) {
  Sequence& seq = sequences[request];
  PlannedRow planned;
  planned.row = {request, tokens, seq.decodes, false};
  planned.context_before = seq.computed;
  seq.computed += tokens;
  if (!seq.decodes) seq.decodes = seq.computed == seq.pad + seq.known();
  planned.row.samples = seq.decodes;
  seq.in_stages = seq.decodes && !scenario.stages.empty();
  RequestResult& out = result.requests[request];
  if (out.first_scheduled_ns < 0) out.first_scheduled_ns = now;
  return planned;
}

std::set<std::int32_t> NaiveState::adapters_of_batch() const {
  std::set<std::int32_t> used;
  for (const std::size_t request : running) {
    const Sequence& seq = sequences[request];
    if (seq.adapter != 0 && !seq.is_ending()) used.insert(seq.adapter);
  }
  return used;
}

// Whoever is among the first max_loras of batch and idle ones together is on the device.
Ticks NaiveState::load_adapters() {
  Ticks ticks = 0;
  for (const std::int32_t adapter : adapters.joined) {
    if (adapters.batch.contains(adapter)) continue;
    const auto found = std::find(adapters.idle.begin(), adapters.idle.end(), adapter);
    const bool in_memory = found != adapters.idle.end();
    const auto before =
        static_cast<std::int64_t>(adapters.batch.size()) + (found - adapters.idle.begin());
    if (!in_memory || before >= scenario.max_loras) {
      ++result.totals.adapter_loads;
      ticks += scenario.adapter_load;
    }
    if (in_memory) {
      adapters.idle.erase(found);
    } else {
      ++result.totals.adapter_reads;
      ticks += scenario.adapter_read;
    }
    adapters.batch.insert(adapter);
    while (static_cast<std::int64_t>(adapters.batch.size() + adapters.idle.size()) >
           scenario.max_cpu_loras) {
      adapters.idle.pop_back();
    }
  }
  adapters.joined.clear();
  return ticks;
}

bool NaiveState::end_step(const std::vector<StepRow>& rows, TickSum instant) {
  std::vector<std::size_t> yield;
  for (const StepRow& row : rows) {
    if (!row.samples) continue;
    Sequence& seq = sequences[row.request];
    seq.in_stages = false;
    if (seq.left || seq.has_all_tokens()) {
      ++result.totals.ghost_rows;
    } else {
      yield.push_back(row.request);
    }
  }
  const auto tokens = static_cast<TokenCount>(yield.size());
  const TickSum written = api.exists() ? api.put_out(tokens, instant) : instant;
  for (const std::size_t request : yield) yield_token(request, written);
  if (batch_keeps_rows()) {
    finish_static_batch(instant);
  } else {
    finish_sequences(instant);
  }
  if (api.exists()) answer_finished(instant);
  finished_.clear();
  for (const std::size_t request : leaving_) {
    if (!sequences[request].left) withdraw(request);
  }
  leaving_.clear();
  return !yield.empty();
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
    release(request, KvRelease::finished);
    leave_running(request);
  } else {
    waiting.erase(std::find(waiting.begin(), waiting.end(), request));
    if (scenario.memory == Memory::paged) blocks.forget_request(request);
    if (scenario.memory == Memory::slots) release(request, KvRelease::finished);
  }
  sequences[request].left = true;
  RequestResult& out = result.requests[request];
  out.outcome = Outcome::cancelled;
  out.finish_ns = now;
  if (out.first_token_ns > now) out.first_token_ns = -1;
}

void NaiveState::yield_token(std::size_t request, TickSum instant) {
  Sequence& seq = sequences[request];
  RequestResult& out = result.requests[request];
  ++seq.generated;
  out.output_tokens = seq.generated;
  if (seq.generated == 1) {
    out.first_token_ns = api.exists() ? api.received(instant) : floor_ns(instant);
  } else if (!scenario.responds_at_end) {  // then they all arrive together,
                                           // without gaps
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
  finished_.push_back(request);
}

// In the order of their latest admissions.
void NaiveState::answer_finished(TickSum instant) {
  std::sort(finished_.begin(), finished_.end(), [this](std::size_t a, std::size_t b) {
    return sequences[a].admission < sequences[b].admission;
  });
  for (const std::size_t request : finished_) tell(request, instant);
}

// What became of a request is on its way to the client. If its patience ends before that, or ended
// before a first token was there, it has gone by then.
void NaiveState::tell(std::size_t request, TickSum instant) {
  RequestResult& out = result.requests[request];
  if (out.outcome != Outcome::cancelled) {
    out.finish_ns = api.answer(out.outcome == Outcome::finished, instant);
    const Arrival& arrival = scenario.arrivals[request];
    const bool begun =
        out.first_token_ns >= 0 && out.first_token_ns <= arrival.first_token_deadline_ns;
    TimeNs patience = arrival.deadline_ns;
    if (!begun) patience = std::min(patience, arrival.first_token_deadline_ns);
    if (out.finish_ns > patience) {
      out.outcome = Outcome::cancelled;
      out.finish_ns = patience;
    }
  }
  if (out.first_token_ns > out.finish_ns) out.first_token_ns = -1;
}

// Running ones give their KV back in the order of the list; a preempted one has none.
void NaiveState::finish_sequences(TickSum instant) {
  std::vector<std::size_t> still_running;
  for (const std::size_t request : running) {
    if (!sequences[request].has_all_tokens()) {
      still_running.push_back(request);
      continue;
    }
    release(request, KvRelease::finished);
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
    release(request, KvRelease::finished);
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
