#include "workloads/trace_source.hpp"

#include <catch2/catch.hpp>
#include <map>
#include <memory>
#include <string>

#include "sim/kernel/check.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/kernel/random.hpp"
#include "tests/unit/workloads/made_trace.hpp"

namespace headroom::trace_source_test {

namespace {

using Sent = std::vector<std::pair<TimeNs, std::int32_t>>;  // time, prompt tokens

std::shared_ptr<const Trace> shared(Trace trace) {
  return std::make_shared<const Trace>(std::move(trace));
}

// A server that answers every request after `service_ns`, however many there are, but loses those
// with `lost` prompt tokens. Returns what was sent.
Sent serve(TraceSource& source, TimeNs service_ns, std::int32_t lost = -1) {
  Sent sent;
  std::multimap<TimeNs, std::uint64_t> ends;  // those of one time in the order they were sent
  while (true) {
    const TimeNs next_ns = source.next_time();
    if (!ends.empty() && ends.begin()->first <= next_ns) {
      const auto [now_ns, index] = *ends.begin();
      ends.erase(ends.begin());
      const bool is_lost = sent.at(index).second == lost;
      source.on_done(index, is_lost ? Outcome::cancelled : Outcome::finished, now_ns);
      CHECK(source.next_time() >= now_ns);
      continue;
    }
    if (next_ns == kNever) return sent;
    const Arrival arrival = source.take();
    CHECK(arrival.time_ns == next_ns);
    ends.emplace(next_ns + service_ns, sent.size());
    sent.emplace_back(next_ns, arrival.prompt_tokens);
  }
}

// A file of LLMServingSim: a session with tools of 1000 and 500 ns, and a single request.
Trace agent() {
  return made_trace::of(
      {{.time_ns = 0, .prompt_tokens = 1, .session = 5},
       {.prompt_tokens = 2, .session = 5, .after_previous_ns = 1000, .timeless = true},
       {.prompt_tokens = 3, .session = 5, .after_previous_ns = 500, .timeless = true},
       {.time_ns = 700, .prompt_tokens = 4}});
}

// Sessions of a trace with times only.
Trace chats() {
  return made_trace::of({{.time_ns = 0, .prompt_tokens = 1, .session = 5},
                         {.time_ns = 50, .prompt_tokens = 2, .session = 6},
                         {.time_ns = 100, .prompt_tokens = 3, .session = 5},
                         {.time_ns = 900, .prompt_tokens = 4, .session = 5}});
}

constexpr TraceSourceOptions kClosed = {.sessions = SessionReplay::closed};

}  // namespace

TEST_CASE("a row gives all that its file states of it", "[workloads]") {
  Trace made = made_trace::of({{.time_ns = 3,
                                .prompt_tokens = 40,
                                .output_tokens = 8,
                                .session = 5,
                                .output_segment = 9,
                                .prefix = {{1, 16}, {2, 16}}},
                               {.time_ns = 4}});
  made.classes = {"chat", "code"};
  made.details[0].class_id = 1;
  made.details[0].priority = -2;
  made.details[0].max_tokens = 30;
  made.details[0].thinking_tokens = 6;
  made.details[0].gives_up_ns = 50;
  const auto trace = shared(std::move(made));
  TraceSource source(trace, {.class_id = 10});
  const Arrival a = source.take();
  CHECK(a.time_ns == 3);
  CHECK(a.prompt_tokens == 40);
  CHECK(a.output_tokens == 8);
  CHECK(a.thinking_tokens == 6);
  CHECK(a.max_tokens == 30);
  CHECK(a.class_id == 11);
  CHECK(a.priority == -2);
  CHECK(a.session == 5);
  CHECK(a.output_segment == 9);
  CHECK(a.deadline_ns == 53);
  CHECK(a.prefix.data() == trace->segments.data());  // the trace's own memory
  CHECK(a.prefix.size() == 2);
  const Arrival b = source.take();
  CHECK(b.class_id == 10);
  CHECK(b.session == kNoSession);
  CHECK(b.prefix.empty());
  CHECK(b.thinking_tokens == 0);
  CHECK(b.deadline_ns == kNever);
}

TEST_CASE("an output that is cut has no more thinking than is left of it", "[workloads]") {
  Trace made = made_trace::of({{.output_tokens = 100}, {.output_tokens = 100}});
  for (TraceDetail& detail : made.details) detail.thinking_tokens = 40;
  made.details[0].max_tokens = 30;
  TraceSource source(shared(std::move(made)), {});
  CHECK(source.take().thinking_tokens == 30);
  CHECK(source.take().thinking_tokens == 40);
}

TEST_CASE("what a row declares is kept by default, and cuts its output", "[workloads]") {
  Trace made = made_trace::of({{.output_tokens = 100}, {.output_tokens = 100}});
  made.details[0].max_tokens = 30;
  const auto trace = shared(std::move(made));
  const auto declared = [&](const MaxTokensOptions& options, std::int64_t cut) {
    TraceSource source(trace, {.max_tokens = options});
    const std::int32_t first = source.take().max_tokens;
    const std::int32_t second = source.take().max_tokens;
    CHECK(source.outputs_cut() == cut);
    return std::pair(first, second);
  };
  CHECK(declared({}, 1) == std::pair(30, 0));
  CHECK(declared({.rule = MaxTokensRule::value, .value = 60}, 2) == std::pair(60, 60));
  CHECK(declared({.rule = MaxTokensRule::value, .value = 200}, 0) == std::pair(200, 200));
  CHECK(declared({.rule = MaxTokensRule::value, .value = 200, .keep_declared = true}, 1) ==
        std::pair(30, 200));
}

TEST_CASE("a turn with a gap is sent so long after the answer before it", "[workloads]") {
  TraceSource source(shared(agent()), {});
  CHECK(source.sessions() == SessionReplay::closed);  // rows have no time of their own
  // Answers take 300: 300 + 1000, and 1600 + 500.
  CHECK(serve(source, 300) == Sent{{0, 1}, {700, 4}, {1300, 2}, {2100, 3}});
  CHECK(source.rows_left() == 0);
  CHECK(source.turns_dropped() == 0);
  TraceSource slower(shared(agent()), {});
  CHECK(serve(slower, 5000) == Sent{{0, 1}, {700, 4}, {6000, 2}, {11'500, 3}});
}

TEST_CASE("a turn with a gap and a time uses the gap in a closed loop alone", "[workloads]") {
  Trace made = made_trace::of(
      {{.time_ns = 0, .prompt_tokens = 1, .session = 5},
       {.time_ns = 400, .prompt_tokens = 2, .session = 5, .after_previous_ns = 100}});
  const auto trace = shared(std::move(made));
  TraceSource open(trace, {});
  CHECK(open.sessions() == SessionReplay::open);
  CHECK(serve(open, 1000) == Sent{{0, 1}, {400, 2}});
  TraceSource late(trace, kClosed);
  CHECK(serve(late, 1000) == Sent{{0, 1}, {1100, 2}});
  TraceSource early(trace, kClosed);
  CHECK(serve(early, 10) == Sent{{0, 1}, {110, 2}});
}

TEST_CASE("in a trace with times only a turn waits for the answer before it", "[workloads]") {
  TraceSource open(shared(chats()), {});
  CHECK(serve(open, 300) == Sent{{0, 1}, {50, 2}, {100, 3}, {900, 4}});
  TraceSource closed(shared(chats()), kClosed);
  CHECK(serve(closed, 300) == Sent{{0, 1}, {50, 2}, {300, 3}, {900, 4}});
  TraceSource slow(shared(chats()), kClosed);
  CHECK(serve(slow, 500) == Sent{{0, 1}, {50, 2}, {500, 3}, {1000, 4}});
  TraceSource fast(shared(chats()), kClosed);
  CHECK(serve(fast, 60) == Sent{{0, 1}, {50, 2}, {100, 3}, {900, 4}});
}

TEST_CASE("rows at their own time run beside each other in a trace that states gaps",
          "[workloads]") {
  // Two subagents, of which the second takes another turn.
  const Trace trace =
      made_trace::of({{.time_ns = 0, .prompt_tokens = 1, .session = 5},
                      {.time_ns = 10, .prompt_tokens = 2, .session = 5},
                      {.time_ns = 20, .prompt_tokens = 3, .session = 5},
                      {.time_ns = 30, .prompt_tokens = 4, .session = 5, .after_previous_ns = 7}});
  TraceSource source(shared(trace), kClosed);
  CHECK(serve(source, 300) == Sent{{0, 1}, {10, 2}, {20, 3}, {327, 4}});
}

TEST_CASE("a client whose request is lost sends no further turn", "[workloads]") {
  TraceSource source(shared(agent()), {});
  CHECK(serve(source, 300, 2) == Sent{{0, 1}, {700, 4}, {1300, 2}});
  CHECK(source.turns_dropped() == 1);
  CHECK(source.rows_left() == 0);
  TraceSource first(shared(agent()), {});
  CHECK(serve(first, 300, 1) == Sent{{0, 1}, {700, 4}});
  CHECK(first.turns_dropped() == 2);
  for (const Outcome outcome : {Outcome::rejected, Outcome::lost_to_oom}) {
    TraceSource other(shared(agent()), {});
    static_cast<void>(other.take());
    other.on_done(0, outcome, 1);
    CHECK(other.turns_dropped() == 2);
    CHECK(other.rows_left() == 1);
  }
  // Open loop: the trace is played whatever happens.
  TraceSource open(shared(chats()), {});
  CHECK(serve(open, 300, 1).size() == 4);
  CHECK(open.turns_dropped() == 0);
}

TEST_CASE("a turn that waits for its time is dropped with its session", "[workloads]") {
  // Row 2 waits behind row 1, which has its answer, when row 0 is lost.
  Trace trace =
      made_trace::of({{.time_ns = 0, .prompt_tokens = 1, .session = 5},
                      {.time_ns = 1, .prompt_tokens = 2, .session = 5},
                      {.time_ns = 2, .prompt_tokens = 3, .session = 5, .after_previous_ns = 100},
                      {.time_ns = 500, .prompt_tokens = 4, .session = 5}});
  TraceSource source(shared(trace), kClosed);
  static_cast<void>(source.take());
  static_cast<void>(source.take());
  source.on_done(1, Outcome::finished, 10);
  CHECK(source.next_time() == 110);
  source.on_done(0, Outcome::lost_to_oom, 20);
  CHECK(source.next_time() == kNever);
  CHECK(source.turns_dropped() == 2);
  CHECK_THROWS_AS(source.take(), InternalError);
}

TEST_CASE("a session whose earlier turns are not in the trace begins at its own time",
          "[workloads]") {
  Trace trace = made_trace::of(
      {{.time_ns = 8, .prompt_tokens = 2, .session = 5, .after_previous_ns = 9, .timeless = true},
       {.time_ns = 8, .prompt_tokens = 3, .session = 5, .after_previous_ns = 1, .timeless = true}});
  TraceSource source(shared(trace), {});
  CHECK(serve(source, 300) == Sent{{8, 2}, {309, 3}});
}

TEST_CASE("the first rows alone are replayed on demand", "[workloads]") {
  TraceSource source(shared(agent()), {.num_requests = 2});
  CHECK(serve(source, 300) == Sent{{0, 1}, {1300, 2}});
  CHECK(source.rows_left() == 0);
}

TEST_CASE("a gap beyond all time is not run into", "[workloads]") {
  Trace trace = made_trace::of({{.time_ns = 0, .session = 5},
                                {.time_ns = 1, .session = 5, .after_previous_ns = kLatestTraceNs}});
  TraceSource source(shared(trace), kClosed);
  static_cast<void>(source.take());
  CHECK_THROWS_AS(source.on_done(0, Outcome::finished, 100), ConfigError);
}

TEST_CASE("runs that share a trace do not touch each other", "[workloads]") {
  const auto trace = shared(made_trace::random(3, 400));
  TraceSource first(trace, kClosed);
  TraceSource second(trace, kClosed);
  static_cast<void>(first.take());
  const Sent all = serve(second, 2500);
  CHECK(all.size() == 400);
  TraceSource third(trace, kClosed);
  CHECK(serve(third, 2500) == all);
}

namespace {

// Closed-loop replay by looking at all rows each time, for random losses and service times.
struct NaiveReplay {
  const Trace& trace;
  bool states_gaps;
  std::vector<TimeNs> sent, ended;  // -1: not yet
  std::vector<bool> dropped;

  explicit NaiveReplay(const Trace& t, bool gaps)
      : trace(t),
        states_gaps(gaps),
        sent(t.rows.size(), -1),
        ended(t.rows.size(), -1),
        dropped(t.rows.size()) {}

  [[nodiscard]] std::optional<std::size_t> previous(std::size_t row) const {
    if (trace.details[row].session == kNoSession) return {};
    for (std::size_t i = row; i-- > 0;) {
      if (trace.details[i].session == trace.details[row].session) return i;
    }
    return {};
  }
  [[nodiscard]] TimeNs due(std::size_t row) const {
    if (sent[row] >= 0 || dropped[row]) return kNever;
    const std::optional<std::size_t> before = previous(row);
    const TimeNs gap = trace.details[row].after_previous_ns;
    if (!before || (states_gaps && gap < 0)) return trace.rows[row].time_ns;
    if (ended[*before] < 0) return kNever;
    return gap >= 0 ? ended[*before] + gap : std::max(ended[*before], trace.rows[row].time_ns);
  }
  [[nodiscard]] std::pair<TimeNs, std::size_t> next() const {
    std::pair<TimeNs, std::size_t> first = {kNever, 0};
    for (std::size_t i = 0; i < sent.size(); ++i) {
      if (due(i) != kNever) first = std::min(first, {due(i), i});
    }
    return first;
  }
  void lose(std::size_t row) {
    const std::uint64_t session = trace.details[row].session;
    for (std::size_t i = row + 1; session != kNoSession && i < sent.size(); ++i) {
      if (trace.details[i].session == session && sent[i] < 0) dropped[i] = true;
    }
  }
};

Trace random_sessions(std::uint64_t seed, bool gaps) {
  Trace trace = made_trace::random(seed, 80);
  RandomStream stream(seed, "gaps");
  for (TraceDetail& detail : trace.details) {
    const std::int64_t gap = stream.uniform_int(-3, 4);
    if (gaps && detail.session != kNoSession && gap >= 0) detail.after_previous_ns = gap * 700;
  }
  return trace;
}

}  // namespace

TEST_CASE("closed-loop replay is that of looking at every row each time", "[workloads]") {
  std::int64_t lost_turns = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const bool gaps = seed % 3 != 0;
    const Trace trace = random_sessions(seed, gaps);
    TraceSource source(shared(trace), kClosed);
    NaiveReplay naive(trace, gaps);
    RandomStream stream(seed, "service");
    std::vector<std::size_t> row_of;                 // by index
    std::multimap<TimeNs, std::uint64_t> in_flight;  // index by end
    while (true) {
      const auto [time_ns, row] = naive.next();
      REQUIRE(source.next_time() == time_ns);
      if (!in_flight.empty() && in_flight.begin()->first <= time_ns) {
        const auto [now_ns, index] = *in_flight.begin();
        in_flight.erase(in_flight.begin());
        const bool is_lost = stream.uniform() < 0.05;
        source.on_done(index, is_lost ? Outcome::cancelled : Outcome::finished, now_ns);
        if (is_lost) {
          naive.lose(row_of[index]);
        } else {
          naive.ended[row_of[index]] = now_ns;
        }
        continue;
      }
      if (time_ns == kNever) break;
      const Arrival arrival = source.take();
      naive.sent[row] = time_ns;
      REQUIRE(arrival.time_ns == time_ns);
      REQUIRE(arrival.prompt_tokens == trace.rows[row].prompt_tokens);
      REQUIRE(arrival.session == trace.details[row].session);
      row_of.push_back(row);
      in_flight.emplace(time_ns + stream.uniform_int(0, 9000), row_of.size() - 1);
    }
    CHECK(source.turns_dropped() == std::ranges::count(naive.dropped, true));
    CHECK(source.rows_left() == 0);
    lost_turns += source.turns_dropped();
  }
  CHECK(lost_turns > 100);
}

TEST_CASE("replays that a trace does not allow are refused", "[workloads]") {
  const auto refuses = [](Trace trace, const TraceSourceOptions& options, const char* message) {
    CHECK_THROWS_MATCHES(TraceSource(shared(std::move(trace)), options), ConfigError,
                         Catch::Message(message));
  };
  refuses(agent(), {.sessions = SessionReplay::open},
          "trace: sessions is open; allowed: closed, because some rows have no time of their own "
          "but follow the previous answer");
  Trace lengths = made_trace::at({0, 0});
  lengths.clock = TraceClock::none;
  refuses(lengths, {}, "trace: it has no arrival times, so it needs an arrival process");
  Trace classes = made_trace::at({0, 0});
  classes.classes.resize(256);
  refuses(classes, {}, "trace: it has 256 classes, numbered from 0; allowed: 0 .. 254");
  refuses(chats(), {.class_id = -1},
          "trace: it has 1 classes, numbered from -1; allowed: 0 .. 254");
  refuses(chats(), {.num_requests = -1}, "num_requests is -1; allowed: 0 or more");
  Trace two = chats();
  two.classes = {"chat", "code"};
  TraceSourceOptions options;
  options.max_tokens = {.rule = MaxTokensRule::per_class, .per_class = {5}};
  refuses(two, options, "max_tokens: per_class has no value for class 1; it has 1");
}

}  // namespace headroom::trace_source_test
