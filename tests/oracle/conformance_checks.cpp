#include "tests/oracle/conformance_checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <span>
#include <tuple>
#include <utility>

#include "sim/kernel/check.hpp"
#include "sim/serving/kv_layout.hpp"
#include "tests/support/randomly_cut.hpp"

namespace headroom::test {
namespace {

// --- traffic ------------------------------------------------------------------------------------

class TrafficMaker {
 public:
  TrafficMaker(std::uint64_t seed, bool impatient) : random_(seed), impatient_(impatient) {}

  Traffic make() {
    Traffic traffic;
    for (int i = 0; i < 36; ++i) {
      if (below(2) == 0) now_ += below(8) == 0 ? below(3000) * kUs : below(60'000);
      Arrival arrival;
      arrival.time_ns = now_;
      arrival.priority = below(3);
      arrival.class_id = below(2);
      set_lengths(arrival);
      set_prefix(arrival, traffic);
      if (impatient_ && below(3) == 0) set_deadline(arrival);
      traffic.arrivals.push_back(arrival);
    }
    return traffic;
  }

 private:
  std::int32_t below(std::int32_t n) {
    return static_cast<std::int32_t>(random_() % static_cast<std::uint64_t>(n));
  }

  void set_lengths(Arrival& arrival) {
    arrival.prompt_tokens = 1 + (below(4) == 0 ? below(110) : below(24));
    if (below(20) == 0) arrival.prompt_tokens += 100;
    arrival.output_tokens = below(4) == 0 ? 1 : 1 + below(40);
    switch (below(4)) {
      case 0: arrival.max_tokens = 0; break;  // not declared
      case 1: arrival.max_tokens = arrival.output_tokens + below(20); break;
      case 2: arrival.max_tokens = std::max(1, arrival.output_tokens - below(4)); break;  // cut
      default: arrival.max_tokens = arrival.output_tokens;
    }
  }

  // A third of the requests are turns of three sessions, a third begin with a shared text.
  void set_prefix(Arrival& arrival, Traffic& traffic) {
    const std::int32_t kind = below(3);
    if (kind == 0) return;
    std::vector<PrefixSegment> pieces;
    if (kind == 1) {
      const std::int32_t text = below(3);
      pieces.push_back({static_cast<std::uint64_t>(1 + text), 9 + 12 * text});
      arrival.prompt_tokens = std::max(arrival.prompt_tokens, pieces.front().tokens);
    } else {
      take_turn(arrival, pieces);
    }
    traffic.prompts.push_back(std::move(pieces));
    arrival.prefix = traffic.prompts.back();
  }

  void take_turn(Arrival& arrival, std::vector<PrefixSegment>& pieces) {
    Session& session = sessions_[static_cast<std::size_t>(below(3))];
    const std::int32_t more = 1 + below(20);
    if (session.tokens + more > 100) session = {};
    session.pieces.push_back({next_piece_++, more});
    session.tokens += more;
    pieces = session.pieces;
    arrival.prompt_tokens = session.tokens;
    arrival.output_segment = next_piece_++;
    const std::int32_t answer = arrival.max_tokens > 0
                                    ? std::min(arrival.output_tokens, arrival.max_tokens)
                                    : arrival.output_tokens;
    session.pieces.push_back({arrival.output_segment, answer});
    session.tokens += answer;
  }

  void set_deadline(Arrival& arrival) {
    const TimeNs time = arrival.time_ns + below(2'000) * kUs;
    (below(2) == 0 ? arrival.deadline_ns : arrival.first_token_deadline_ns) = time;
  }

  struct Session {
    std::vector<PrefixSegment> pieces;
    std::int32_t tokens = 0;
  };
  std::mt19937_64 random_;
  bool impatient_;
  TimeNs now_ = 0;
  Session sessions_[3];
  std::uint64_t next_piece_ = 100;
};

// --- comparison ---------------------------------------------------------------------------------

auto key_of(const RequestRecord& r) {
  return std::tuple(r.index, r.queued_ns, r.first_scheduled_ns, r.first_token_ns, r.finish_ns,
                    r.output_tokens, r.preemptions, r.outcome);
}
auto key_of(const EngineEvent& e) {
  return std::tuple(e.kind, e.time_ns, e.request, e.tokens, e.cached_tokens, e.was_waiting);
}
auto key_of(const PolicyStep& s) {
  return std::tuple(s.begin_ns, s.end_ns, s.decode_rows, s.chunk_rows, s.chunk_tokens,
                    s.used_blocks);
}

template <typename T>
std::string first_unequal(const char* what, std::span<const T> a, std::span<const T> b,
                          bool same_length) {
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (key_of(a[i]) != key_of(b[i])) return fmt::format("{} {} differ", what, i);
  }
  if (a.size() == b.size() || !same_length) return {};
  return fmt::format("{} against {} {}", a.size(), b.size(), what);
}

// A run that makes no progress is stopped by a number of events, which jumps and single steps reach
// at different times: how often somebody was preempted by then says nothing, nor does the end.
std::vector<RequestRecord> requests_from(const PolicyRun& run, std::uint64_t first) {
  std::vector<RequestRecord> records = run.requests;
  std::erase_if(records, [first](const RequestRecord& r) { return r.index < first; });
  for (RequestRecord& record : records) {
    if (record.outcome == Outcome::unfinished) record.preemptions = 0;
  }
  return records;
}
std::vector<EngineEvent> events_from(const PolicyRun& run, std::uint64_t first) {
  std::vector<EngineEvent> events = run.events;
  std::erase_if(events, [&](const EngineEvent& e) {
    return e.request < first ||
           (e.kind == EngineEventKind::oom && run.reason == StopReason::no_progress);
  });
  return events;
}

// Runs and compares; what the simulator's own contracts refuse is a difference too.
std::string compared(const std::function<std::string()>& compare) {
  try {
    return compare();
  } catch (const InternalError& error) {
    return error.what();
  }
}

// --- checks -------------------------------------------------------------------------------------

// What a request holds while it waits for its next token is more than the pool has.
bool outgrew(const CheckedRun& run, const RequestRecord& record) {
  const TokenCount known = TokenCount{record.prompt_tokens} + record.output_tokens;
  return known > run.longest_tokens;
}

// So small that every policy finds room for it: a step takes prompt and output at once, and the
// pool holds the longest context, and a few blocks more than this request (watermarks, estimates).
bool fits_for_sure(const CheckedRun& run, const RequestRecord& r) {
  const std::int32_t whole = r.prompt_tokens + r.max_tokens;
  const TokenCount few_blocks = 5 * run.pool.block_tokens;
  return whole <= std::min(kConformanceModelLen, run.size.step_tokens) &&
         run.pool.largest_hole / run.row.ranks * run.pool.block_tokens >= kConformanceModelLen &&
         whole + few_blocks <= run.longest_tokens;
}

std::string wrong_outcome(const CheckedRun& run, const RequestRecord& record) {
  const Arrival& arrival = run.arrivals[record.index];
  switch (record.outcome) {
    case Outcome::finished: return {};
    case Outcome::rejected:
      return fits_for_sure(run, record) ? "was rejected though it fits" : std::string{};
    case Outcome::cancelled: {
      const TimeNs first = std::min(arrival.deadline_ns, arrival.first_token_deadline_ns);
      return record.finish_ns < first ? "was cancelled before its deadline" : std::string{};
    }
    case Outcome::lost_to_oom:
      return run.row.may_die ? std::string{} : "was lost though this engine cannot die";
    case Outcome::lost_to_fault: return "was lost to a fault, and there are none";
    case Outcome::unfinished: break;
  }
  if (run.run.reason != StopReason::no_progress) return "is unfinished though the run drained";
  const bool stuck = std::ranges::any_of(run.run.requests, [&](const RequestRecord& r) {
    return r.outcome == Outcome::unfinished && outgrew(run, r);
  });
  return stuck ? std::string{} : "is unfinished though nobody has outgrown the pool";
}

// Whether somebody who waits during [from, to) has outgrown the pool: he holds up the queue.
bool blocked_for_good(const CheckedRun& run, TimeNs from, TimeNs to) {
  return std::ranges::any_of(run.run.requests, [&](const RequestRecord& r) {
    const bool is_here =
        r.queued_ns >= 0 && r.queued_ns <= from && (r.finish_ns < 0 || r.finish_ns >= to);
    return is_here && outgrew(run, r);
  });
}

// Nothing runs in [from, to).
std::string idle_wait(const CheckedRun& run, TimeNs from, TimeNs to) {
  TimeNs allowed = run.row.idle_while_some_wait_ns;
  for (const EngineEvent& event : run.run.events) {
    if (event.kind == EngineEventKind::engine_lost) allowed += run.row.restart_ns;
  }
  for (const RequestRecord& r : run.run.requests) {
    if (r.queued_ns < 0) continue;
    const TimeNs begin = std::max(r.queued_ns, from);
    const TimeNs end = std::min(r.finish_ns < 0 ? kNever : r.finish_ns, to);
    if (end - begin <= allowed || blocked_for_good(run, begin, end)) continue;
    return fmt::format("request {} waits from {} ns to {} ns, and nothing runs", r.index, begin,
                       end);
  }
  return {};
}

}  // namespace

Traffic random_traffic(std::uint64_t seed, bool impatient) {
  return TrafficMaker(seed, impatient).make();
}

std::vector<Arrival> behind_passers_by(const Traffic& traffic, bool reversed) {
  std::vector<Arrival> arrivals;
  for (std::uint64_t i = 0; i < kPassersBy; ++i) {
    Arrival arrival;
    // All at once they take all slots and leave them in their order, so that the last one is on
    // top; one after the other they take the first slot only.
    arrival.time_ns = arrival.deadline_ns = reversed ? 0 : static_cast<TimeNs>(i);
    arrival.prompt_tokens = arrival.output_tokens = arrival.max_tokens = 1;
    arrivals.push_back(arrival);
  }
  for (Arrival arrival : traffic.arrivals) {
    arrival.time_ns += kUs;
    for (TimeNs* deadline : {&arrival.deadline_ns, &arrival.first_token_deadline_ns}) {
      if (*deadline != kNever) *deadline += kUs;
    }
    arrivals.push_back(arrival);
  }
  return arrivals;
}

CheckedRun checked_run(const ConformanceRow& row, const EngineSize& size, int depth,
                       const std::vector<Arrival>& arrivals) {
  PolicySetup setup = row.make(size);
  setup.options.pipeline_depth = depth;
  const KvPoolState pool = setup.kv->pool();
  const TokenCount most = setup.options.max_step_tokens;
  const TokenCount longest = setup.kv->sequence().longest(pool.total_blocks / row.ranks);
  return {row, arrivals, size, pool, longest, most, run_policy(std::move(setup), arrivals)};
}

std::string unaccounted(const CheckedRun& run) {
  const std::vector<RequestRecord>& records = run.run.requests;
  if (records.size() != run.arrivals.size()) return "not one record for each request";
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (records[i].index != i) return fmt::format("request {} has no record", i);
    const std::string wrong = wrong_outcome(run, records[i]);
    if (!wrong.empty()) return fmt::format("request {} {}", i, wrong);
  }
  const bool all_left = std::ranges::none_of(
      records, [](const RequestRecord& r) { return r.outcome == Outcome::unfinished; });
  return all_left == (run.run.reason == StopReason::drained) ? std::string{} : "a wrong reason";
}

std::string lost_tokens(const CheckedRun& run) {
  std::int64_t out = 0;
  for (const RequestRecord& r : run.run.requests) {
    const std::int32_t wanted = std::min(run.arrivals[r.index].output_tokens, r.max_tokens);
    if (r.outcome == Outcome::finished && r.output_tokens != wanted) {
      return fmt::format("request {} has {} of {} tokens", r.index, r.output_tokens, wanted);
    }
    out += r.output_tokens;
  }
  std::int64_t rows = 0;
  TokenCount computed = 0;
  for (const PolicyStep& step : run.run.steps) {
    rows += step.decode_rows + step.chunk_rows;
    computed += step.chunk_tokens;
  }
  if (rows < out) return fmt::format("{} tokens from {} rows", out, rows);
  TokenCount admitted = 0;
  bool whole = !run.row.pads;
  for (const EngineEvent& event : run.run.events) {
    if (event.kind == EngineEventKind::admitted) admitted += event.tokens - event.cached_tokens;
    const bool interrupts =
        event.kind == EngineEventKind::preempted || event.kind == EngineEventKind::cancelled;
    whole = whole && !interrupts && event.kind != EngineEventKind::oom;
  }
  const bool right = whole ? computed == admitted : run.row.pads || computed <= admitted;
  if (right) return {};
  return fmt::format("{} prompt tokens computed, {} admitted", computed, admitted);
}

std::string exceeded_limits(const CheckedRun& run) {
  for (const PolicyStep& step : run.run.steps) {
    const std::int64_t rows = step.decode_rows + step.chunk_rows;
    const TokenCount tokens = step.decode_rows + step.chunk_tokens;
    const bool right = rows >= 1 && rows <= run.size.seats * run.row.ranks &&
                       tokens <= run.max_step_tokens && step.used_blocks >= 0 &&
                       step.used_blocks <= run.pool.total_blocks;
    if (right) continue;
    return fmt::format("{} rows, {} tokens, {} blocks in the step at {} ns", rows, tokens,
                       step.used_blocks, step.begin_ns);
  }
  return {};
}

std::string idleness(const CheckedRun& run) {
  TimeNs free_since = 0;
  for (const PolicyStep& step : run.run.steps) {
    if (step.begin_ns > free_since) {
      std::string wait = idle_wait(run, free_since, step.begin_ns);
      if (!wait.empty()) return wait;
    }
    free_since = step.end_ns;
  }
  return idle_wait(run, free_since, kNever);
}

std::string difference(const PolicyRun& a, const PolicyRun& b, std::uint64_t first) {
  if (a.reason != b.reason) return "reasons differ";
  const bool whole = a.reason == StopReason::drained;
  std::string found = first_unequal<RequestRecord>("requests", requests_from(a, first),
                                                   requests_from(b, first), true);
  if (found.empty()) {
    found =
        first_unequal<EngineEvent>("events", events_from(a, first), events_from(b, first), whole);
  }
  return found.empty() ? first_unequal<PolicyStep>("steps", a.steps, b.steps, whole) : found;
}

std::string cut_difference(const SetupMaker& make, const std::vector<Arrival>& arrivals,
                           std::uint64_t cuts) {
  return compared([&] {
    const PolicyRun jumps = run_policy(make(), arrivals);
    PolicySetup single = make();
    single.options.single_step = true;
    std::string found = difference(jumps, run_policy(std::move(single), arrivals));
    for (std::uint64_t seed = 1; seed <= cuts && found.empty(); ++seed) {
      PolicySetup cut = make();
      cut.scheduler = std::make_unique<RandomlyCut>(std::move(cut.scheduler), seed);
      found = difference(jumps, run_policy(std::move(cut), arrivals));
    }
    return found;
  });
}

std::string repeat_difference(const SetupMaker& make, const std::vector<Arrival>& arrivals) {
  return compared(
      [&] { return difference(run_policy(make(), arrivals), run_policy(make(), arrivals)); });
}

std::string numbering_difference(const SetupMaker& make, const Traffic& traffic) {
  return compared([&] {
    return difference(run_policy(make(), behind_passers_by(traffic, false)),
                      run_policy(make(), behind_passers_by(traffic, true)), kPassersBy);
  });
}

}  // namespace headroom::test
