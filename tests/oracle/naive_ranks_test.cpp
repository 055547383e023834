// Data ranks against a twin that was written from vLLM's sources: every request to the nanosecond,
// whether production jumps, steps one by one or has its jumps cut at random.

#include "tests/oracle/naive_ranks.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "scheduler/batching/vllm.hpp"
#include "sim/kernel/random.hpp"
#include "tests/oracle/ranked_production.hpp"
#include "tests/support/repetitions.hpp"

namespace headroom::oracle::naive_ranks_test {
namespace {

constexpr TimeNs kMs = 1'000'000;
constexpr Ticks kMsTicks = kMs * kTicksPerNs;
constexpr Ticks kUsTicks = 1'000 * kTicksPerNs;

// Which front end gets a request, of as many as there are.
constexpr std::uint64_t kSeed = 9;
std::vector<std::size_t> drawn_front_ends(std::size_t requests, std::size_t front_ends) {
  RandomStream random(kSeed, "front ends");
  std::vector<std::size_t> drawn;
  for (std::size_t i = 0; i < requests; ++i) {
    drawn.push_back(
        static_cast<std::size_t>(random.uniform_int(0, static_cast<std::int64_t>(front_ends) - 1)));
  }
  return drawn;
}

std::vector<RequestResult> run_production(const RankScenario& s, Way way) {
  SchedulerOptions options;
  options.max_num_seqs = static_cast<std::int32_t>(s.max_num_seqs);
  options.max_num_batched_tokens = static_cast<std::int32_t>(s.max_num_batched_tokens);
  test::PolicySetup setup =
      ranked_setup({.ranks = s.ranks,
                    .kv_blocks = s.kv_blocks,
                    .block_tokens = s.block_size,
                    .make = [&](KvAllocator&) { return std::make_unique<VllmScheduler>(options); },
                    .options = {.front_ends = s.front_ends,
                                .seats = static_cast<std::int64_t>(s.max_num_seqs),
                                .seed = kSeed}},
                   way);
  setup.options.max_sequences = static_cast<std::int64_t>(s.max_num_seqs * s.ranks);
  setup.options.max_step_tokens = s.max_num_batched_tokens * static_cast<TokenCount>(s.ranks);
  setup.cost = s.cost;
  return results_of(std::move(setup), s.arrivals);
}

// Bursts, ties and pauses over seconds, so that counts are published while requests come; pools
// that are too small for all; steps of some milliseconds to some hundred.
RankScenario random_ranks(std::uint64_t seed) {
  RandomStream random(seed, "ranks");
  const auto one_of = [&](std::int64_t low, std::int64_t high) {
    return random.uniform_int(low, high);
  };
  RankScenario s;
  s.ranks = static_cast<std::size_t>(one_of(2, 5));
  s.front_ends = static_cast<std::size_t>(one_of(1, 4));
  s.max_num_seqs = static_cast<std::size_t>(one_of(1, 8));
  s.max_num_batched_tokens = one_of(8, 80);
  s.block_size = one_of(1, 16);
  const TokenCount longest = one_of(20, 150);
  s.kv_blocks = (longest + s.block_size - 1) / s.block_size + one_of(0, 20);
  s.cost.step = one_of(1, 40) * kMsTicks + one_of(0, 999) * kUsTicks;
  s.cost.decode_row = one_of(0, 500) * kUsTicks;
  s.cost.decode_context = one_of(0, 40) * kUsTicks;
  s.cost.chunk_token = one_of(0, 900) * kUsTicks;
  s.cost.chunk_pair_twice = one_of(0, 900);
  s.cost.all_rank_token = one_of(0, 300) * kUsTicks;
  const std::int64_t pause_ms = one_of(0, 3) * one_of(0, 200);
  TimeNs now = 0;
  for (std::int64_t i = one_of(3, 50); i > 0; --i) {
    if (one_of(0, 3) > 0) now += one_of(0, 2 * pause_ms) * kMs + one_of(0, 9);
    if (one_of(0, 60) == 0) now += one_of(1, 12) * 1000 * kMs;
    const std::int64_t prompt = one_of(1, longest - 1);
    const std::int64_t output = one_of(1, longest - prompt);
    s.arrivals.push_back(
        arrival_at(now, static_cast<std::int32_t>(prompt), static_cast<std::int32_t>(output)));
  }
  s.front_end_of = drawn_front_ends(s.arrivals.size(), s.front_ends);
  return s;
}

}  // namespace

// Two ranks. At 0 r1 (6 tokens) goes to rank 0 and r2 (2) to rank 1, since r1 counts as waiting.
// [0, 16) both prompts: rank 0 takes 10 + 6, rank 1 10 + 2. [16, 27) a row each. r2 is done; r1
// goes on alone while rank 1 computes a dummy batch: [27, 38).
TEST_CASE("oracle: data ranks wait for the slowest, and idle ones compute for nobody") {
  RankScenario s;
  s.arrivals = {arrival_at(0, 6, 3), arrival_at(0, 2, 2)};
  s.cost = {.step = 10 * kTicksPerNs, .decode_row = kTicksPerNs, .chunk_token = kTicksPerNs};
  const RankResult result = run_naive_ranks(s);
  CHECK(result.rank_of == std::vector<std::size_t>{0, 1});
  CHECK(result.requests[0].first_token_ns == 16);
  CHECK(result.requests[1].first_token_ns == 16);
  CHECK(result.requests[1].finish_ns == 27);
  CHECK(result.requests[0].finish_ns == 38);
  CHECK(run_production(s, Way::jumps) == result.requests);
}

// Seats for one. r1 runs on rank 0 and r2 on rank 1, so r3 waits on rank 0, behind r1 to its end,
// although rank 1 is free at 20: requests do not change ranks.
TEST_CASE("oracle: a request stays on its rank") {
  RankScenario s;
  s.arrivals = {arrival_at(0, 4, 9), arrival_at(0, 4, 1), arrival_at(1, 4, 1)};
  s.max_num_seqs = 1;
  s.cost = {.step = 10 * kTicksPerNs};
  const RankResult result = run_naive_ranks(s);
  CHECK(result.rank_of == std::vector<std::size_t>{0, 1, 0});
  CHECK(result.requests[1].finish_ns == 10);
  CHECK(result.requests[2].first_scheduled_ns == 90);
  CHECK(run_production(s, Way::jumps) == result.requests);
}

TEST_CASE("oracle: data ranks equal the twin of vLLM's sources in random scenarios") {
  std::int64_t preemptions = 0;
  std::size_t moved = 0;
  const auto scenarios = test::repetitions(1000);
  for (std::uint64_t seed = 1; seed <= scenarios; ++seed) {
    CAPTURE(seed);
    const RankScenario s = random_ranks(seed);
    const RankResult naive = run_naive_ranks(s);
    for (const Way way : {Way::jumps, Way::single_steps, Way::random_cuts}) {
      CAPTURE(static_cast<int>(way));
      REQUIRE(run_production(s, way) == naive.requests);
    }
    for (const RequestResult& r : naive.requests) preemptions += r.preemptions;
    for (std::size_t i = 0; i < naive.rank_of.size(); ++i) {
      moved += naive.rank_of[i] != i % s.ranks ? 1 : 0;
    }
  }
  // Some of either kind: preemptions, and ranks that were not taken in turn.
  CHECK(static_cast<std::size_t>(preemptions) > scenarios / 2);
  CHECK(moved > scenarios);
}

namespace {

struct Means {
  double ttft_ms = 0;
  double tpot_ms = 0;
};

Means means_of(const RankScenario& s, const std::vector<RequestResult>& results) {
  Means means;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const RequestResult& r = results[i];
    means.ttft_ms += static_cast<double>(r.first_token_ns - s.arrivals[i].time_ns) / 1e6;
    means.tpot_ms += static_cast<double>(r.finish_ns - r.first_token_ns) / 1e6 /
                     static_cast<double>(r.output_tokens - 1);
  }
  const auto count = static_cast<double>(results.size());
  return {means.ttft_ms / count, means.tpot_ms / count};
}

// Eight ranks of an engine of the size of DeepSeek-V3 on eight H200: 20 ms a step, 40 us a token.
RankScenario loaded(double requests_per_s) {
  RandomStream random(11, "load");
  RankScenario s;
  s.ranks = s.front_ends = 8;
  s.max_num_seqs = 64;
  s.max_num_batched_tokens = 2048;
  s.block_size = 16;
  s.kv_blocks = 6000;
  s.cost = {.step = 20 * kMsTicks,
            .decode_row = 20 * kUsTicks,
            .decode_context = kUsTicks / 20,
            .chunk_token = 40 * kUsTicks,
            .all_rank_token = 3 * kUsTicks};
  double now_s = 0;
  for (int i = 0; i < 3000; ++i) {
    now_s -= std::log(1 - random.uniform()) / requests_per_s;
    const auto prompt = random.uniform_int(50, 3000);
    const auto output = random.uniform_int(20, 400);
    s.arrivals.push_back(arrival_at(static_cast<TimeNs>(now_s * 1e9),
                                    static_cast<std::int32_t>(prompt),
                                    static_cast<std::int32_t>(output)));
  }
  s.front_end_of = drawn_front_ends(s.arrivals.size(), s.front_ends);
  return s;
}

}  // namespace

TEST_CASE("oracle: data ranks are within 2 % of the twin at a low, a medium and a high load") {
  for (const double rate : {5.0, 20.0, 40.0}) {
    const RankScenario s = loaded(rate);
    const Means twin = means_of(s, run_naive_ranks(s).requests);
    const Means ours = means_of(s, run_production(s, Way::jumps));
    CAPTURE(rate, twin.ttft_ms, twin.tpot_ms, ours.ttft_ms, ours.tpot_ms);
    CHECK(ours.ttft_ms == Approx(twin.ttft_ms).epsilon(0.02));
    CHECK(ours.tpot_ms == Approx(twin.tpot_ms).epsilon(0.02));
  }
}

}  // namespace headroom::oracle::naive_ranks_test
