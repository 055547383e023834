// Random fleets whose replicas prefill or decode: the same results however their steps are cut,
// nobody lost between two replicas, and decode steps without prompts.

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "scheduler/fleet/fault_schedule.hpp"
#include "sim/metrics/fan_out.hpp"
#include "sim/metrics/recorder.hpp"
#include "sim/metrics/run_digest.hpp"
#include "sim/metrics/summary.hpp"
#include "tests/laws/scenario_runs.hpp"
#include "tests/support/apart.hpp"
#include "tests/support/production.hpp"

namespace headroom::laws::disaggregation_law_test {
namespace {

using oracle::Scenario;

constexpr std::size_t kPrefills = 2;
constexpr std::size_t kReplicas = 4;

struct ApartCase {
  std::string router = "least_outstanding";
  bool prefill_token_counts = false;
  double mtbf = 0;  // of the arrivals' time
  bool resend = false;
  bool patience = false;  // clients give up
  TokenCount max_local_prefill_tokens = -1;
  std::int64_t max_prefill_queue = -1;
  std::int64_t link_bytes_per_s = 1'000'000'000'000;  // a token has 1000 bytes: 1 ns
  TimeNs link_latency_ns = 100;
};

// What steps and events say that records do not.
class ApartSink final : public MetricsSink {
 public:
  void on_steps(const StepRun& run) override {
    if (run.replica >= kPrefills) mixed_steps += run.shape->chunk_tokens > run.shape->chunk_rows;
    if (run.replica < kPrefills) decode_rows += run.shape->decode_rows;
  }
  void on_request(const RequestRecord& record) override { records.push_back(record); }
  void on_event(const EngineEvent&) override {}
  void on_idle(std::uint16_t, TickSum, const ReplicaState&) override {}

  std::int64_t mixed_steps = 0;  // of decode replicas, with more than the last token of a prompt
  std::int64_t decode_rows = 0;  // of prefill replicas
  std::vector<RequestRecord> records;
};

using RecordKey = std::tuple<std::uint64_t, std::uint16_t, TimeNs, TimeNs, TimeNs, Outcome>;
using TransferKey =
    std::tuple<std::uint64_t, std::uint16_t, std::uint16_t, TimeNs, TimeNs, TimeNs, BlockCount>;

struct ApartRun {
  std::vector<RecordKey> keys;
  std::vector<TransferKey> transfers;
  std::string digest;
  FleetTotals totals;
  RequestCounts counts;
  TokenCount tokens_out = 0;
  std::int64_t mixed_steps = 0;
  std::int64_t decode_rows = 0;
  StopReason reason = StopReason::drained;
  std::vector<RequestRecord> records;
};

TimeNs span_of(const Scenario& s) {
  return s.arrivals.empty() ? 1 : std::max<TimeNs>(10, s.arrivals.back().time_ns);
}

std::vector<ReplicaParts> replicas_of(const Scenario& s, const ApartCase& one, std::uint64_t seed,
                                      const test::ProductionOptions& way) {
  std::vector<ReplicaParts> parts;
  for (std::size_t i = 0; i < kReplicas; ++i) {
    parts.push_back(test::make_parts(s, way));
    ReplicaOptions& options = parts.back().options;
    options.role = i < kPrefills ? ReplicaRole::prefill : ReplicaRole::decode;
    options.prefill_token_counts = one.prefill_token_counts;
    options.queue_survives = seed % 2 == 0;
  }
  return parts;
}

void add_faults(const Scenario& s, const ApartCase& one, std::uint64_t seed, FleetParts& parts) {
  if (one.mtbf == 0) return;
  FaultOptions options;
  options.seed = seed;
  options.mtbf_s = one.mtbf * static_cast<double>(span_of(s)) / 1e9;
  options.down_ns.assign(kReplicas, std::max<TimeNs>(1, span_of(s) / 50));
  parts.faults = std::make_unique<FaultSchedule>(options);
}

std::vector<Arrival> arrivals_of(const Scenario& s, const ApartCase& one, std::uint64_t seed,
                                 std::vector<std::vector<PrefixSegment>>& prefixes) {
  std::vector<Arrival> arrivals = s.arrivals;
  for (std::size_t i = 0; i < arrivals.size(); ++i) {
    prefixes.push_back(oracle::pieces_of(s, i));
    if (!one.patience || (i + seed) % 3 > 0) continue;
    const TimeNs patience = span_of(s) / static_cast<TimeNs>(2 + (i * 7 + seed) % 29);
    arrivals[i].deadline_ns = arrivals[i].time_ns + 1 + patience;
    if (i % 2 == 0) arrivals[i].first_token_deadline_ns = arrivals[i].time_ns + 1 + patience / 2;
  }
  for (std::size_t i = 0; i < arrivals.size(); ++i) arrivals[i].prefix = prefixes[i];
  return arrivals;
}

ApartRun run_apart(const Scenario& s, const ApartCase& one, std::uint64_t seed,
                   const test::ProductionOptions& way = {}) {
  std::vector<ReplicaParts> parts = replicas_of(s, one, seed, way);
  DisaggregationOptions apart;
  apart.link_bytes_per_s = one.link_bytes_per_s;
  apart.link_latency_ns = one.link_latency_ns;
  apart.block_bytes = 1000 * s.block_size;
  if (one.max_local_prefill_tokens >= 0) {
    apart.max_local_prefill_tokens = one.max_local_prefill_tokens;
  }
  if (one.max_prefill_queue >= 0) apart.max_prefill_queue = one.max_prefill_queue;
  RouterOptions router;
  router.seed = seed;
  FleetParts fleet_parts = test::apart_parts(parts, one.router, apart, router);
  add_faults(s, one, seed, fleet_parts);
  FleetOptions options;
  options.full_check_interval = 1;
  options.resends_lost = one.resend;

  std::vector<std::vector<PrefixSegment>> prefixes;
  test::ListSource source(arrivals_of(s, one, seed, prefixes));
  ApartSink seen;
  Recorder recorder({.timeline = {.interval_ns = std::max<TimeNs>(1, span_of(s) / 50)}});
  FanOut sinks({&seen, &recorder});
  Fleet fleet(options, std::move(parts), std::move(fleet_parts), source, sinks);
  RunLimits limits;
  if (one.mtbf > 0) limits.until_ns = 20 * span_of(s);
  limits.no_progress_events = 20'000;
  ApartRun run;
  run.reason = fleet.run(limits);
  recorder.finish(fleet.totals().end_ns);
  run.digest = run_digest(recorder);
  run.totals = fleet.totals();
  run.counts = count_requests(recorder.records());
  for (const RequestRecord& r : recorder.records()) run.tokens_out += r.output_tokens;
  run.records.assign(recorder.records().begin(), recorder.records().end());
  for (const RequestRecord& r : run.records) {
    run.keys.emplace_back(r.index, r.replica, r.first_scheduled_ns, r.first_token_ns, r.finish_ns,
                          r.outcome);
  }
  for (const TransferRecord& t : run.totals.transfer_records) {
    run.transfers.emplace_back(t.index, t.prefill_replica, t.decode_replica, t.prefilled_ns,
                               t.asked_ns, t.end_ns, t.blocks);
  }
  run.mixed_steps = seen.mixed_steps;
  run.decode_rows = seen.decode_rows;
  return run;
}

// Engines that have roles: vLLM with a paged pool, served in order of arrival.
bool applies(const Scenario& s) {
  return s.policy == oracle::Policy::vllm && s.memory == oracle::Memory::paged && s.adapters == 0 &&
         !s.priorities && s.api_server.processes == 0;
}

bool same(const ApartRun& a, const ApartRun& b) {
  return a.keys == b.keys && a.transfers == b.transfers && a.digest == b.digest &&
         a.totals.end_ns == b.totals.end_ns;
}

ApartCase random_case(std::uint64_t seed) {
  ApartCase one;
  one.router = seed % 5 == 0 ? "random" : seed % 5 == 1 ? "least_kv" : "least_outstanding";
  one.prefill_token_counts = seed % 2 == 1;
  constexpr std::array<std::int64_t, 3> kRates{50'000'000'000, 1'000'000'000'000,
                                               20'000'000'000'000};
  one.link_bytes_per_s = kRates[seed % 3];
  one.link_latency_ns = seed % 5 == 0 ? 0 : 100;
  if (seed % 4 == 2) one.max_local_prefill_tokens = static_cast<TokenCount>(seed % 23);
  if (seed % 6 == 3) one.max_prefill_queue = static_cast<std::int64_t>(seed % 4);
  return one;
}

Verdict cut_anywhere(const Scenario& s, const ApartCase& one, std::uint64_t seed) {
  if (!applies(s)) return Verdict::does_not_apply;
  const ApartRun jumps = run_apart(s, one, seed);
  // Of an engine that computes and drops the same chunk while all others wait, only some events are
  // looked at, and how many there are depends on the cuts.
  if (jumps.reason == StopReason::no_progress) return Verdict::does_not_apply;
  const ApartRun steps = run_apart(s, one, seed, {.single_step = true});
  if (!same(jumps, steps)) return Verdict::fails;
  return verdict(same(jumps, run_apart(s, one, seed, {.cut_seed = seed + 1})));
}

TEST_CASE("a run with prefill and decode apart may be cut anywhere") {
  REQUIRE(holds_for_all([](const Scenario& s,
                           std::uint64_t seed) { return cut_anywhere(s, random_case(seed), seed); },
                        500));
}

TEST_CASE(
    "a run with prefill and decode apart, crashes and clients that leave may be cut anywhere") {
  REQUIRE(holds_for_all(
      [](const Scenario& s, std::uint64_t seed) {
        ApartCase one = random_case(seed);
        one.mtbf = seed % 3 == 0 ? 0 : 0.3;
        one.resend = seed % 4 < 2;
        one.patience = seed % 3 != 1;
        return cut_anywhere(s, one, seed);
      },
      500));
}

struct Seen {
  std::int64_t crashes = 0;
  std::int64_t lost_kv = 0;
  std::int64_t abandoned = 0;
  std::int64_t resent = 0;
  std::int64_t cancelled = 0;
  std::int64_t local = 0;
};

// Every request has one record, every token that came out is a request's, was computed twice or
// was discarded, and the instants of a hand-over follow each other.
bool is_conserved(const Scenario& s, const ApartCase& one, const ApartRun& run, Seen& seen) {
  ReplicaCounts sum;
  for (const ReplicaCounts& counts : run.totals.replicas) sum += counts;
  const TransferCounts& transfers = *run.totals.transfers;
  seen.crashes += sum.crashes;
  seen.lost_kv += transfers.lost;
  seen.abandoned += transfers.abandoned;
  seen.resent += sum.handed_back;
  seen.cancelled += run.counts.cancelled;
  seen.local += transfers.local_short + transfers.local_queued;
  std::int64_t of_replicas = 0;
  for (const std::int64_t count : sum.requests) of_replicas += count;
  if (run.totals.end_ns < 20 * span_of(s) &&
      run.counts.arrived != static_cast<std::int64_t>(s.arrivals.size())) {
    return false;
  }
  if (of_replicas != run.counts.arrived || sum.output_tokens != run.tokens_out) return false;
  if (!one.resend && one.mtbf == 0 && !one.patience && run.reason == StopReason::drained &&
      run.counts.finished + run.counts.rejected != run.counts.arrived) {
    return false;
  }
  std::map<std::uint64_t, TransferRecord> last;
  for (const TransferRecord& t : run.totals.transfer_records) last[t.index] = t;
  for (const RequestRecord& r : run.records) {
    const auto found = last.find(r.index);
    if (r.outcome != Outcome::finished || found == last.end()) continue;
    const TransferRecord& t = found->second;
    if (r.replica < kPrefills) {  // its one token is the prefill's; a hand-over was before a crash
      continue;
    }
    if (t.decode_replica != r.replica || t.end_ns < 0) {
      if (!one.resend) return false;
      continue;  // served at the decode replica alone, sent anew
    }
    const TimeNs first = one.prefill_token_counts ? t.end_ns : r.first_token_ns;
    const bool in_order = r.first_scheduled_ns <= t.prefilled_ns && t.prefilled_ns <= t.asked_ns &&
                          t.asked_ns <= t.begin_ns && t.begin_ns <= t.end_ns && t.end_ns <= first &&
                          first <= r.finish_ns;
    if (!in_order && !one.resend) return false;
    if (one.prefill_token_counts && !one.resend && r.first_token_ns != t.prefilled_ns) return false;
  }
  return true;
}

TEST_CASE("nobody is lost between a prefill and a decode replica") {
  Seen seen;
  REQUIRE(holds_for_all(
      [&](const Scenario& s, std::uint64_t seed) {
        if (!applies(s)) return Verdict::does_not_apply;
        ApartCase one = random_case(seed);
        one.mtbf = seed % 3 == 0 ? 0 : 0.1;
        one.resend = one.mtbf > 0 && seed % 4 < 2;
        one.patience = seed % 3 != 1;
        return verdict(is_conserved(s, one, run_apart(s, one, seed), seen));
      },
      800));
  // The law is about something.
  CHECK(seen.crashes > 1000);
  CHECK(seen.lost_kv > 100);
  CHECK(seen.abandoned > 30);
  CHECK(seen.resent > 100);
  CHECK(seen.cancelled > 100);
  CHECK(seen.local > 100);
}

// Prompts are computed anew on a decode replica only where it has preempted.
TEST_CASE("decode replicas compute no prompts, and prefill replicas decode nothing") {
  std::int64_t transfers = 0;
  REQUIRE(holds_for_all(
      [&](const Scenario& s, std::uint64_t seed) {
        if (!applies(s)) return Verdict::does_not_apply;
        const ApartCase one{.prefill_token_counts = seed % 2 == 0};
        const ApartRun run = run_apart(s, one, seed);
        std::int64_t preemptions = 0;
        for (const RequestRecord& r : run.records) preemptions += r.preemptions;
        transfers += run.totals.transfers->transfers;
        if (run.decode_rows > 0) return Verdict::fails;
        return verdict(run.mixed_steps == 0 || preemptions > 0);
      },
      400));
  CHECK(transfers > 2000);
}

TEST_CASE("the law of steps without prompts refuses a decode replica that computes short ones") {
  REQUIRE_FALSE(holds_for_all(
      [](const Scenario& s, std::uint64_t seed) {
        if (!applies(s)) return Verdict::does_not_apply;
        const ApartCase one{.max_local_prefill_tokens = 20};
        return verdict(run_apart(s, one, seed).mixed_steps == 0);
      },
      50));
}

}  // namespace
}  // namespace headroom::laws::disaggregation_law_test
