#include "tests/support/policy_run.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <span>
#include <tuple>
#include <utility>

#include "scheduler/routing/round_robin.hpp"
#include "tests/support/production.hpp"
#include "tests/support/randomly_cut.hpp"

namespace headroom::test {
namespace {

class WritingSink final : public MetricsSink {
 public:
  void on_steps(const StepRun& run) override {
    TickSum begin = run.begin;
    BlockCount used = run.state->pool.used_blocks();
    for (StepCount i = 0; i < run.steps; ++i) {
      if (i > 0 && !run.decodes->growth().empty()) {
        const std::span<const std::int32_t> growth = run.decodes->growth();
        used += growth[static_cast<std::size_t>(i - 1) % growth.size()];
      }
      const TickSum end = begin + run.first_ticks + i * TickSum{run.slope_ticks};
      result.steps.push_back({.begin_ns = floor_ns(begin),
                              .end_ns = floor_ns(end),
                              .decode_rows = run.shape->decode_rows,
                              .chunk_rows = run.shape->chunk_rows,
                              .chunk_tokens = run.shape->chunk_tokens,
                              .draft_tokens = run.shape->draft_tokens,
                              .used_blocks = used,
                              .waiting = run.state->waiting});
      gaps += run.gaps_per_step;
      gap_ticks += run.gaps_per_step * (end - begin);
      begin = end;
    }
    extra_tokens += run.extra_tokens;
    for (const VerifiedDrafts& row : run.verified) result.accepted_drafts += row.accepted;
    for (const GapGroup& group : run.other_gaps) {
      gaps += group.tokens;
      gap_ticks += group.tokens * group.gap;
    }
  }
  void on_request(const RequestRecord& record) override { result.requests.push_back(record); }
  void on_event(const EngineEvent& event) override {
    result.events.push_back(event);
    result.events.back().state = nullptr;
    result.events.back().shortage = nullptr;
    if (event.shortage != nullptr) result.shortages.push_back(*event.shortage);
  }
  void on_idle(std::uint16_t, TickSum, const ReplicaState&) override {}

  PolicyRun result;
  std::int64_t gaps = 0;
  TokenCount extra_tokens = 0;
  TickSum gap_ticks = 0;
};

// Without `waiting`: requests that arrive in the middle of a run of steps are told at its end.
using StepKey =
    std::tuple<TimeNs, TimeNs, std::int64_t, std::int64_t, TokenCount, TokenCount, BlockCount>;
StepKey key_of(const PolicyStep& s) {
  return {s.begin_ns,     s.end_ns,       s.decode_rows, s.chunk_rows,
          s.chunk_tokens, s.draft_tokens, s.used_blocks};
}

using RecordKey =
    std::tuple<std::uint64_t, TimeNs, TimeNs, TimeNs, std::int32_t, std::uint16_t, Outcome>;
RecordKey key_of(const RequestRecord& r) {
  return {r.index,         r.first_scheduled_ns, r.first_token_ns, r.finish_ns,
          r.output_tokens, r.preemptions,        r.outcome};
}

using EventKey =
    std::tuple<EngineEventKind, TimeNs, std::uint64_t, TokenCount, TokenCount, OomKind>;
EventKey key_of(const EngineEvent& e) {
  return {e.kind, e.time_ns, e.request, e.tokens, e.cached_tokens, e.oom};
}

std::tuple<OomKind, ByteCount, ByteCount> key_of(const MemoryShortage& s) {
  return {s.kind, s.wanted_bytes, s.free_bytes};
}

template <typename T>
void require_equal(const std::vector<T>& jumped, const std::vector<T>& other) {
  for (std::size_t i = 0; i < std::min(jumped.size(), other.size()); ++i) {
    CAPTURE(i);
    REQUIRE((key_of(jumped[i]) == key_of(other[i])));
  }
  REQUIRE(jumped.size() == other.size());
}

}  // namespace

std::vector<std::uint64_t> PolicyRun::order_of(EngineEventKind kind) const {
  std::vector<std::uint64_t> order;
  for (const EngineEvent& event : events) {
    if (event.kind == kind) order.push_back(event.request);
  }
  return order;
}

PolicyRun run_policy(PolicySetup setup, std::vector<Arrival> arrivals) {
  ReplicaParts replica;
  replica.options = setup.options;
  replica.limits = setup.limits;
  const KvPoolState& pool = setup.kv->pool();
  if (replica.limits.max_request_tokens == 0) {
    replica.limits.max_request_tokens = pool.total_blocks * pool.block_tokens;
  }
  replica.scheduler = std::move(setup.scheduler);
  replica.kv = std::move(setup.kv);
  replica.tier = std::move(setup.tier);
  replica.memory = std::move(setup.memory);
  replica.adapters = std::move(setup.adapters);
  replica.cost = std::make_unique<AffineStepCost>(setup.cost);
  std::vector<ReplicaParts> parts;
  parts.push_back(std::move(replica));
  const std::size_t count = arrivals.size();
  ListSource source(std::move(arrivals));
  WritingSink sink;
  Fleet fleet({.full_check_interval = 1}, std::move(parts), std::make_unique<RoundRobinRouter>(),
              source, sink);
  RunLimits limits;
  limits.no_progress_events = 100'000;
  sink.result.reason = fleet.run(limits);
  sink.result.ghost_rows = fleet.replicas().front()->ghost_rows();
  sink.result.tier = fleet.totals().tier.value_or(KvTierCounts{});
  sink.result.adapters = fleet.totals().adapters.value_or(AdapterCounts{});
  std::ranges::sort(sink.result.requests, {}, &RequestRecord::index);
  REQUIRE(sink.result.requests.size() == count);
  // Every token but each answer's first follows another one of its request, or comes with it.
  std::int64_t gaps = 0;
  TimeNs span = 0;
  bool whole = true;
  for (const RequestRecord& r : sink.result.requests) {
    gaps += std::max(0, r.output_tokens - 1);
    if (r.outcome == Outcome::finished) span += r.finish_ns - r.first_token_ns;
    whole = whole && (r.outcome == Outcome::finished || r.output_tokens == 0);
  }
  if (!setup.options.responds_at_end) REQUIRE(sink.gaps + sink.extra_tokens == gaps);
  if (!setup.options.responds_at_end && whole) {
    const TickSum difference = sink.gap_ticks - ticks_from_ns(span);
    const TickSum slack = ticks_from_ns(static_cast<TimeNs>(count));  // floors of both ends
    REQUIRE((difference < slack && -difference < slack));
  }
  return std::move(sink.result);
}

void check_cut_invariance(const std::function<PolicySetup()>& make,
                          const std::vector<Arrival>& arrivals, std::uint64_t seeds) {
  const PolicyRun jumped = run_policy(make(), arrivals);
  for (std::uint64_t seed = 0; seed <= seeds; ++seed) {
    CAPTURE(seed);
    PolicySetup setup = make();
    if (seed == 0) {
      setup.options.single_step = true;
    } else {
      setup.scheduler = std::make_unique<RandomlyCut>(std::move(setup.scheduler), seed);
    }
    const PolicyRun other = run_policy(std::move(setup), arrivals);
    require_equal(jumped.requests, other.requests);
    require_equal(jumped.events, other.events);
    require_equal(jumped.steps, other.steps);
    REQUIRE((jumped.tier == other.tier));
    REQUIRE((jumped.adapters == other.adapters));
    REQUIRE(jumped.ghost_rows == other.ghost_rows);
    require_equal(jumped.shortages, other.shortages);
  }
}

}  // namespace headroom::test
