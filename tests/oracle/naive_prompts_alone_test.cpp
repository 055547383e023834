// SGLang's data ranks against a twin that steps one naive engine for each: every request to the
// nanosecond, whether production jumps, steps one by one or has its jumps cut at random.

#include "tests/oracle/naive_prompts_alone.hpp"

#include <catch2/catch.hpp>
#include <memory>
#include <utility>
#include <vector>

#include "scheduler/batching/sglang.hpp"
#include "sim/kernel/random.hpp"
#include "tests/oracle/ranked_production.hpp"
#include "tests/support/repetitions.hpp"

namespace headroom::oracle::naive_prompts_alone_test {
namespace {

constexpr TimeNs kMs = 1'000'000;
constexpr Ticks kMsTicks = kMs * kTicksPerNs;
constexpr Ticks kUsTicks = 1'000 * kTicksPerNs;

std::vector<RequestResult> run_production(const Scenario& s, std::size_t ranks, Way way) {
  SchedulerOptions options;
  options.max_num_seqs = static_cast<std::int32_t>(s.max_num_seqs);
  auto& own = options.own.edit<SglangScheduling>();
  own.max_prefill_tokens = s.max_prefill_tokens;
  own.chunked_prefill_size = s.chunked_prefill_size;
  own.enable_mixed_chunk = s.mixed_chunk;
  own.schedule_conservativeness = s.conservativeness;
  const BatchPolicy& policy = sglang_policy();
  test::PolicySetup setup =
      ranked_setup({.ranks = ranks,
                    .kv_blocks = s.kv_blocks,
                    .block_tokens = s.block_size,
                    .make = [&](KvAllocator& pool) { return policy.make(options, pool); },
                    .options = {.rules = policy.rank_rules(options.own), .seats = s.max_num_seqs}},
                   way);
  setup.cost = s.cost;
  return results_of(std::move(setup), s.arrivals);
}

Scenario of_sglang() {
  Scenario s;
  s.policy = Policy::sglang;
  s.block_size = 1;  // as SGLang's pages
  return s;
}

// Bursts, ties and pauses; pools that are too small for all; estimates that prove too small.
Scenario random_scenario(RandomStream& random) {
  const auto one_of = [&](std::int64_t low, std::int64_t high) {
    return random.uniform_int(low, high);
  };
  Scenario s = of_sglang();
  s.max_num_seqs = one_of(1, 8);
  s.chunked_prefill_size = one_of(0, 4) == 0 ? 0 : one_of(1, 60);
  s.max_prefill_tokens = one_of(8, 100);
  s.max_model_len = 4096;
  s.conservativeness = 0.1 * static_cast<double>(one_of(1, 12));
  const TokenCount longest = one_of(20, 150);
  s.kv_blocks = longest + 3 + one_of(0, 150);
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
    const std::int64_t prompt = one_of(1, longest - 1);
    const std::int64_t output = one_of(1, longest - prompt);
    s.arrivals.push_back(
        arrival_at(now, static_cast<std::int32_t>(prompt), static_cast<std::int32_t>(output)));
  }
  return s;
}

}  // namespace

// Two ranks in turn. [0, 16) the prompt of r1 on rank 0; r2 (4 tokens) is on rank 1 at 5. [16, 30)
// rank 1 takes 10 + 4, rank 0 decodes meanwhile. r3 comes to rank 0 at 20: [30, 38) its 8 tokens
// cost 10 + 8 and no row of r1 beside them, which decodes all the same.
TEST_CASE("oracle: the other ranks decode beside a prompt, and so do the rows of its own rank") {
  Scenario s = of_sglang();
  s.arrivals = {arrival_at(0, 6, 4), arrival_at(5, 4, 2), arrival_at(20, 8, 1)};
  s.kv_blocks = 100;
  s.cost = {.step = 10 * kTicksPerNs, .decode_row = 3 * kTicksPerNs, .chunk_token = kTicksPerNs};
  const std::vector<RequestResult> result = run_naive_prompts_alone(s, 2);
  CHECK(result[0].first_token_ns == 16);
  CHECK(result[1].first_token_ns == 30);
  CHECK(result[2].first_token_ns == 48);
  CHECK(result[1].finish_ns == 48);
  CHECK(result[0].finish_ns == 61);
  CHECK(run_production(s, 2, Way::jumps) == result);
}

TEST_CASE("oracle: data ranks of SGLang equal one naive engine each, stepped together") {
  std::int64_t retractions = 0;
  const auto scenarios = test::repetitions(1000);
  for (std::uint64_t seed = 1; seed <= scenarios; ++seed) {
    CAPTURE(seed);
    RandomStream random(seed, "prompts alone");
    const Scenario s = random_scenario(random);
    const auto ranks = static_cast<std::size_t>(random.uniform_int(2, 5));
    const std::vector<RequestResult> naive = run_naive_prompts_alone(s, ranks);
    for (const Way way : {Way::jumps, Way::single_steps, Way::random_cuts}) {
      CAPTURE(static_cast<int>(way));
      REQUIRE(run_production(s, ranks, way) == naive);
    }
    for (const RequestResult& r : naive) retractions += r.preemptions;
  }
  CHECK(static_cast<std::size_t>(retractions) > scenarios / 10);
}

}  // namespace headroom::oracle::naive_prompts_alone_test
