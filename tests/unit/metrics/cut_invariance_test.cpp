// What is measured of a run does not depend on how it is cut into reports.
#include <algorithm>
#include <catch2/catch.hpp>

#include "sim/metrics/fan_out.hpp"
#include "sim/metrics/null_sink.hpp"
#include "sim/metrics/run_digest.hpp"
#include "tests/unit/metrics/scripted_run.hpp"

namespace headroom::cut_invariance_test {

namespace {

constexpr int kScripts = 400;

Recorder recorded(const Script& script, const Cut& cut, Pricing pricing) {
  Recorder recorder({.timeline = {.interval_ns = 777, .max_samples = 300}});
  play(script, cut, pricing, recorder);
  recorder.finish(script.end_ns);
  return recorder;
}

void check_same(const Recorder& a, const Recorder& b) {
  REQUIRE(a.itl().sum_ticks() == b.itl().sum_ticks());
  REQUIRE(a.itl().sum_squares() == b.itl().sum_squares());
  REQUIRE(a.itl().histogram_ns() == b.itl().histogram_ns());
  const ReplicaMeters& x = a.replica(0);
  const ReplicaMeters& y = b.replica(0);
  REQUIRE(x.cost.busy_ticks() == y.cost.busy_ticks());
  REQUIRE(x.kv.integrals().used_blocks == y.kv.integrals().used_blocks);
  REQUIRE(x.kv.integrals().cached_blocks == y.kv.integrals().cached_blocks);
  REQUIRE(x.kv.integrals().reserved_tokens == y.kv.integrals().reserved_tokens);
  REQUIRE(x.kv.integrals() == y.kv.integrals());
  REQUIRE(a.timeline().rows(0).size() == b.timeline().rows(0).size());
  for (std::size_t i = 0; i < a.timeline().rows(0).size(); ++i) {
    REQUIRE(a.timeline().rows(0)[i].time_ns == b.timeline().rows(0)[i].time_ns);
    REQUIRE(a.timeline().rows(0)[i].waiting == b.timeline().rows(0)[i].waiting);
    REQUIRE(a.timeline().rows(0)[i].kv.cached == b.timeline().rows(0)[i].kv.cached);
  }
  REQUIRE(run_digest(a) == run_digest(b));
}

}  // namespace

TEST_CASE("a run reported whole, in random pieces and step by step leaves the same bits") {
  for (std::uint64_t seed = 0; seed < kScripts; ++seed) {
    CAPTURE(seed);
    RandomStream random(seed, "script");
    const Script script = random_script(random);
    const Recorder at_once = recorded(script, whole, Pricing::by_offset);
    const Recorder by_step = recorded(script, single, Pricing::by_offset);
    const Recorder in_pieces = recorded(
        script, [&](StepCount left) { return random.uniform_int(1, left); }, Pricing::by_offset);
    check_same(at_once, by_step);
    check_same(at_once, in_pieces);
  }
}

TEST_CASE("a single-stepping engine that prices every step anew leaves the same bits") {
  for (std::uint64_t seed = 0; seed < kScripts; ++seed) {
    CAPTURE(seed);
    RandomStream random(seed, "script");
    const Script script = random_script(random);
    check_same(recorded(script, whole, Pricing::by_offset),
               recorded(script, single, Pricing::anew));
  }
}

TEST_CASE("every sample counts the requests queued up to its time, wherever runs are cut") {
  for (std::uint64_t seed = 0; seed < kScripts; ++seed) {
    CAPTURE(seed);
    RandomStream random(seed, "script");
    const Script script = random_script(random);
    const Recorder recorder = recorded(script, whole, Pricing::by_offset);
    for (const TimelineRow& row : recorder.timeline().rows(0)) {
      const auto queued = std::upper_bound(script.queued.begin(), script.queued.end(), row.time_ns);
      REQUIRE(row.waiting == queued - script.queued.begin());
    }
  }
}

TEST_CASE("the digest changes with one tick of one step") {
  RandomStream random(1, "script");
  Script script = random_script(random);
  const std::string before = run_digest(recorded(script, whole, Pricing::by_offset));
  ++script.batches.front().base[CostTerm::head];
  CHECK(run_digest(recorded(script, whole, Pricing::by_offset)) != before);
}

TEST_CASE("a second sink changes nothing in the first") {
  RandomStream random(2, "script");
  const Script script = random_script(random);
  Recorder first({.timeline = {.interval_ns = 777}});
  Recorder second({.timeline = {.interval_ns = 0}});
  NullSink nothing;
  FanOut all({&second, &first, &nothing});
  play(script, whole, Pricing::by_offset, all);
  first.finish(script.end_ns);
  Recorder alone({.timeline = {.interval_ns = 777}});
  play(script, whole, Pricing::by_offset, alone);
  alone.finish(script.end_ns);
  CHECK(run_digest(first) == run_digest(alone));
}

}  // namespace headroom::cut_invariance_test
