// VERIFICATION C11 and C12 (closed loops against the production event loop), and what traffic must
// not depend on: schedulers, routers, the number of replicas.

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/routing/round_robin.hpp"
#include "sim/metrics/recorder.hpp"
#include "tests/laws/law_support.hpp"
#include "tests/support/production.hpp"
#include "workloads/synthetic_source.hpp"
#include "workloads/traffic_source.hpp"

namespace headroom::laws::closed_loop_law_test {
namespace {

DurationOptions exponential_time(double mean_s) {
  return {.law = DurationLaw::exponential, .mean_s = mean_s};
}

// Users of decode-only requests: a prompt of one token, priced like a decode, and 200 tokens out.
TrafficOptions loop_of(std::int64_t users, double think_s, std::int64_t requests) {
  TrafficOptions options;
  options.closed_loop = ClosedLoopOptions{.users = users, .think_time = exponential_time(think_s)};
  options.num_requests = requests;
  options.classes.resize(1);
  options.classes[0].output = fixed(200);
  return options;
}
Experiment decode_only(Ticks a, Ticks b) {
  Experiment e;
  e.cost = {.step = a, .decode_row = b, .chunk_row = b};
  return e;
}

std::vector<RequestRecord> records_of(const Experiment& experiment, const TrafficOptions& options,
                                      std::uint64_t seed) {
  TrafficSource source(options, seed);
  Recorder recorder({.timeline = {.interval_ns = 0}});
  run_replica(experiment, source, recorder);
  return {recorder.records().begin(), recorder.records().end()};
}

// --- C11: 20 clients who think for Z = 10 s, steps of 10 + .25 n ms, L = 200 tokens --------------
// n requests in the system are served at rate n / (L (a + b n)) in all. Product form of a station
// where clients think and a shared processor: P(n) ~ N! / (N - n)! Z^-n prod L (a + b i) / i.

struct ClosedLoop {
  double requests_per_s = 0;
  double sojourn_s = 0;
};
ClosedLoop product_form(int clients, double think_s, double a_ms, double b_ms, double tokens) {
  std::vector<double> weights{1.0};
  double thinking = 0;
  for (int n = 1; n <= clients; ++n) {
    const double service_s = tokens * (a_ms + b_ms * n) / n / 1000;
    weights.push_back(weights.back() * (clients - n + 1) / think_s * service_s);
  }
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (int n = 0; n <= clients; ++n) {
    thinking += weights[static_cast<std::size_t>(n)] / sum * (clients - n);
  }
  const double rate = thinking / think_s;
  return {rate, clients / rate - think_s};
}

struct Measured {
  Estimate requests_per_s;
  Estimate sojourn_s;
};

Estimate estimate_of(const std::vector<double>& values) {
  const auto count = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return {mean, std::sqrt(squares / (count - 1) / count)};
}

// Over the steady window of runs of different seeds.
Measured measured_loop(const Experiment& experiment, double think_s, std::int64_t requests) {
  std::vector<double> rates;
  std::vector<double> sojourns;
  for (std::uint64_t seed = 1; seed <= kReplications; ++seed) {
    LawRun run;
    run.records = records_of(experiment, loop_of(20, think_s, requests), seed);
    const auto gaps = static_cast<double>(run.steady().size() - 1);
    rates.push_back(gaps / static_cast<double>(run.to_ns() - run.from_ns()) * 1e9);
    sojourns.push_back(run.sojourn_ms() / 1000);
  }
  return {estimate_of(rates), estimate_of(sojourns)};
}

// Bias: one mean step, 10 + .25 * 3.64 = 10.9 ms, in T; X = N / (Z + T) falls by the same share.
bool closed_loop_holds(const Experiment& experiment, double think_s, std::int64_t requests) {
  const ClosedLoop law = product_form(20, 10, 10, .25, 200);
  const Measured m = measured_loop(experiment, think_s, requests);
  const double step_s = .0109;
  const bool sojourn = law_holds("C11 T", law.sojourn_s, m.sojourn_s, step_s);
  const double rate_bias = law.requests_per_s * step_s / (10 + law.sojourn_s);
  return law_holds("C11 X", law.requests_per_s, m.requests_per_s, rate_bias) && sojourn;
}

TEST_CASE("law C11: clients who think and a shared engine have the product form") {
  const ClosedLoop law = product_form(20, 10, 10, .25, 200);
  CHECK(law.requests_per_s == Approx(1.6364).epsilon(1e-4));
  CHECK(law.sojourn_s == Approx(2.222).epsilon(1e-3));
  REQUIRE(closed_loop_holds(decode_only(10 * kMs, kMs / 4), 10, 16'000));
}

TEST_CASE("law C11 refuses another think time and slower steps") {
  REQUIRE_FALSE(closed_loop_holds(decode_only(10 * kMs, kMs / 4), 10.5, 2000));
  REQUIRE_FALSE(closed_loop_holds(decode_only(10 * kMs, kMs / 4), 9.5, 2000));
  REQUIRE_FALSE(closed_loop_holds(slower(decode_only(10 * kMs, kMs / 4)), 10, 2000));
}

// --- C12: 32 clients who do not think, equal lengths ---------------------------------------------
// All decode together: each step takes 10 + .25 * 32 = 18 ms, a request 200 of them; the next one
// comes in the very nanosecond. 32 tokens in 18 ms: 1777.8 a second.

TEST_CASE("law C12: clients who never think keep the batch full, exactly") {
  const auto records = records_of(decode_only(10 * kMs, kMs / 4), loop_of(32, 0, 3200), 1);
  REQUIRE(records.size() == 3200);
  TimeNs end_ns = 0;
  for (const RequestRecord& record : records) {
    REQUIRE(record.arrival_ns % 3'600'000'000 == 0);  // 200 * 18 ms
    REQUIRE(record.finish_ns == record.arrival_ns + 3'600'000'000);
    end_ns = std::max(end_ns, record.finish_ns);
  }
  CHECK(end_ns == 100 * TimeNs{3'600'000'000});
  CHECK(3200.0 * 200 / (static_cast<double>(end_ns) / 1e9) == Approx(1777.8).epsilon(1e-4));
  // With 31 clients steps are shorter and fewer requests share them.
  const auto fewer = records_of(decode_only(10 * kMs, kMs / 4), loop_of(31, 0, 3100), 1);
  CHECK(fewer.front().finish_ns == 200 * TimeNs{17'750'000});
}

// --- what traffic does not depend on -------------------------------------------------------------

// Notes what is taken, as text.
class NotedSource final : public WorkloadSource {
 public:
  explicit NotedSource(const TrafficOptions& options) : inner(options, 7) {}
  [[nodiscard]] TimeNs next_time() override { return inner.next_time(); }
  [[nodiscard]] Arrival take() override {
    const Arrival a = inner.take();
    if (a.session != kNoSession) {
      sessions[a.session] += fmt::format(" {}+{}", a.prompt_tokens, a.output_tokens);
    }
    arrivals.push_back(fmt::format("{} {} {} {}", a.time_ns, a.class_id, a.session, a.deadline_ns));
    return a;
  }
  void on_done(std::uint64_t index, Outcome outcome, TimeNs now_ns) override {
    ++done[outcome];
    inner.on_done(index, outcome, now_ns);
  }

  TrafficSource inner;
  std::vector<std::string> arrivals;
  std::map<std::uint64_t, std::string> sessions;  // what each says, turn by turn
  std::map<Outcome, std::int64_t> done;
};

class BusiestRouter final : public Router {
 public:
  [[nodiscard]] std::uint32_t route(const Arrival&, std::span<const ReplicaLoad> loads) override {
    std::uint32_t busiest = 0;
    for (std::uint32_t i = 1; i < loads.size(); ++i) {
      if (loads[i].running > loads[busiest].running) busiest = i;
    }
    return busiest;
  }
};

// A small engine: 16 sequences, 256 tokens a step, steps of 2 ms and more.
oracle::Scenario engine(oracle::Policy policy = oracle::Policy::vllm) {
  oracle::Scenario s;
  s.policy = policy;
  s.memory = policy == oracle::Policy::vllm ? oracle::Memory::paged : oracle::Memory::contiguous;
  s.max_num_seqs = 16;
  s.max_num_batched_tokens = 256;
  s.max_model_len = 4000;
  s.block_size = 16;
  s.kv_blocks = 600;
  s.kv_tokens = 9600;
  s.cost = {.step = 2 * kMs, .decode_row = kMs / 20, .chunk_token = kMs / 100};
  return s;
}

StopReason run_on(WorkloadSource& source, const std::vector<oracle::Scenario>& engines,
                  std::unique_ptr<Router> router, FleetTotals* totals = nullptr) {
  std::vector<ReplicaParts> parts;
  parts.reserve(engines.size());
  for (const oracle::Scenario& one : engines) parts.push_back(test::make_parts(one));
  Recorder recorder({.timeline = {.interval_ns = 0}});
  Fleet fleet({}, std::move(parts), std::move(router), source, recorder);
  const StopReason reason = fleet.run({});
  recorder.finish(fleet.totals().end_ns);  // checks Little's law and the cost identity
  if (totals != nullptr) *totals = fleet.totals();
  return reason;
}

TrafficOptions open_traffic() {
  TrafficOptions options;
  options.arrivals.rate_per_s = 20.0;
  options.num_sessions = 2000;
  options.classes.resize(2);
  for (std::int32_t i = 0; i < 2; ++i) {
    TrafficClass& one = options.classes[static_cast<std::size_t>(i)];
    one.name = i == 0 ? "chat" : "batch";
    one.class_id = i;
    one.prompt = {.law = LengthLaw::uniform, .min = 10, .max = 300};
    one.output = {.law = LengthLaw::uniform, .min = 1, .max = 100};
  }
  options.classes[0].patience.answer = DurationOptions{.mean_s = 60.0};
  return options;
}

TEST_CASE("law: lengths, routers and replicas change no arrival of an open loop") {
  NotedSource base(open_traffic());
  run_on(base, {engine()}, std::make_unique<RoundRobinRouter>());
  REQUIRE(base.arrivals.size() == 2000);
  NotedSource three(open_traffic());
  run_on(three, {engine(), engine(), engine()}, std::make_unique<RoundRobinRouter>());
  CHECK(three.arrivals == base.arrivals);
  NotedSource busiest(open_traffic());
  run_on(busiest, {engine(), engine()}, std::make_unique<BusiestRouter>());
  CHECK(busiest.arrivals == base.arrivals);
  TrafficOptions options = open_traffic();
  options.classes[0].output = {.law = LengthLaw::geometric, .mean = 70.0};
  options.classes[1].prompt = fixed(5);
  NotedSource lengths(options);
  run_on(lengths, {engine()}, std::make_unique<RoundRobinRouter>());
  CHECK(lengths.arrivals == base.arrivals);
  // Sessions wait for their answers: there the replicas do change when turns come.
  options.classes[0].sessions.turns = fixed(3);
  NotedSource one(options);
  run_on(one, {engine()}, std::make_unique<RoundRobinRouter>());
  NotedSource two(options);
  run_on(two, {engine(), engine()}, std::make_unique<RoundRobinRouter>());
  CHECK(one.arrivals != two.arrivals);
}

// Growing contexts that all fit, open or closed loop.
TrafficOptions talks(bool closed) {
  TrafficOptions options;
  options.num_sessions = 600;
  options.arrivals.rate_per_s = 3.0;
  if (closed) {
    options.closed_loop = ClosedLoopOptions{.users = 25, .think_time = exponential_time(1.0)};
  }
  options.classes.resize(1);
  TrafficClass& one = options.classes[0];
  one.prompt = {.law = LengthLaw::uniform, .min = 10, .max = 100};
  one.output = {.law = LengthLaw::uniform, .min = 1, .max = 60};
  one.sessions.turns = {.law = LengthLaw::uniform, .min = 1, .max = 6};
  one.sessions.think_time = exponential_time(2.0);
  return options;
}

TEST_CASE("law: the scheduler changes no length of any turn of any session") {
  for (const bool closed : {false, true}) {
    NotedSource base(talks(closed));
    run_on(base, {engine()}, std::make_unique<RoundRobinRouter>());
    CHECK(base.inner.totals().sessions_completed == 600);
    for (const auto policy : {oracle::Policy::orca, oracle::Policy::static_batch}) {
      NotedSource other(talks(closed));
      run_on(other, {engine(policy)}, std::make_unique<RoundRobinRouter>());
      CHECK(other.arrivals != base.arrivals);
      std::size_t compared = 0;
      for (const auto& [session, said] : other.sessions) {
        const auto found = base.sessions.find(session);
        if (found == base.sessions.end()) continue;  // another user came first with the last ones
        REQUIRE(said == found->second);
        ++compared;
      }
      CHECK(compared > 550);
    }
  }
}

// Wrong: lengths drawn in the order in which turns are sent.
TEST_CASE("the law of schedulers refuses lengths drawn in the order of the turns") {
  const auto said_in_order = [](oracle::Policy policy) {
    NotedSource source(talks(false));
    run_on(source, {engine(policy)}, std::make_unique<RoundRobinRouter>());
    SyntheticOptions options;
    options.prompt = {.law = LengthLaw::uniform, .min = 10, .max = 100};
    SyntheticSource drawn(options, 7);
    std::map<std::string, std::string> sessions;
    for (const std::string& arrival : source.arrivals) {
      const std::string session = arrival.substr(arrival.find(' '));
      sessions[session] += fmt::format(" {}", drawn.take().prompt_tokens);
    }
    return sessions;
  };
  CHECK(said_in_order(oracle::Policy::vllm) != said_in_order(oracle::Policy::orca));
}

TEST_CASE("law: a cancelled or rejected turn ends its session, and all are accounted for") {
  TrafficOptions options = talks(false);
  options.arrivals.rate_per_s = 20.0;  // too many: clients give up
  options.classes[0].prompt.max = 1500;
  options.classes[0].patience.first_token = exponential_time(4.0);
  NotedSource source(options);
  REQUIRE(run_on(source, {engine()}, std::make_unique<RoundRobinRouter>()) == StopReason::drained);
  const TrafficTotals& totals = source.inner.totals();
  CHECK(totals.sessions_started == 600);
  CHECK(totals.sessions_started == totals.sessions_completed + totals.ended_early());
  CHECK(totals.ended_early() == totals.ended_cancelled + totals.ended_rejected);
  CHECK(totals.ended_cancelled > 50);
  CHECK(totals.ended_cancelled < source.done[Outcome::cancelled]);  // the others: last turns
  CHECK(totals.ended_rejected > 10);
  CHECK(totals.ended_rejected < source.done[Outcome::rejected]);
  CHECK(source.inner.live_sessions() == 0);
}

TEST_CASE("a hundred thousand requests of a closed loop are all accounted for") {
  TrafficOptions options = talks(true);
  options.closed_loop->users = 60;
  options.num_sessions.reset();
  options.num_requests = 100'000;
  options.classes[0].system_prompts = {.count = 20, .exponent = 1.0, .tokens = fixed(100)};
  options.classes[0].patience.answer = exponential_time(60.0);
  NotedSource source(options);
  FleetTotals totals;
  REQUIRE(run_on(source, {engine(), engine(), engine()}, std::make_unique<RoundRobinRouter>(),
                 &totals) == StopReason::drained);
  std::int64_t left = 0;
  for (const auto& [outcome, count] : source.done) left += count;
  CHECK(totals.arrived == 100'000);
  CHECK(left == 100'000);
  const TrafficTotals& sent = source.inner.totals();
  CHECK(sent.turns_sent == 100'000);
  CHECK(sent.sessions_started == sent.sessions_completed + sent.ended_early());
  // All pauses but those that the end cut short led to a turn.
  const std::int64_t further_turns = sent.turns_sent - sent.sessions_started;
  CHECK(sent.think_pauses >= further_turns);
  CHECK(sent.think_pauses <= further_turns + 60);
  CHECK(source.done[Outcome::finished] > 90'000);
  CHECK(source.done[Outcome::cancelled] > 100);
  CHECK(source.inner.live_sessions() == 0);
  CHECK(source.inner.awaited_requests() == 0);
}

}  // namespace
}  // namespace headroom::laws::closed_loop_law_test
