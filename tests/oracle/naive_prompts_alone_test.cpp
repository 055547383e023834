// SGLang's data ranks against a twin that steps one naive engine for each: every request to the
// nanosecond, whether production jumps, steps one by one or has its jumps cut at random.

#include "tests/oracle/naive_prompts_alone.hpp"

#include <catch2/catch.hpp>
#include <memory>
#include <utility>
#include <vector>

#include "scheduler/batching/data_ranks.hpp"
#include "scheduler/batching/sglang.hpp"
#include "scheduler/kv/paged.hpp"
#include "sim/kernel/random.hpp"
#include "tests/support/policy_run.hpp"
#include "tests/support/randomly_cut.hpp"
#include "tests/support/repetitions.hpp"

namespace headroom::oracle::naive_prompts_alone_test {
namespace {

constexpr TimeNs kMs = 1'000'000;
constexpr Ticks kMsTicks = kMs * kTicksPerNs;
constexpr Ticks kUsTicks = 1'000 * kTicksPerNs;

enum class Way { jumps, single_steps, random_cuts };

test::PolicySetup production(const Scenario& s, std::size_t count, Way way) {
  SchedulerOptions options;
  options.max_num_seqs = static_cast<std::int32_t>(s.max_num_seqs);
  auto& own = options.own.edit<SglangScheduling>();
  own.max_prefill_tokens = s.max_prefill_tokens;
  own.chunked_prefill_size = s.chunked_prefill_size;
  own.enable_mixed_chunk = s.mixed_chunk;
  own.schedule_conservativeness = s.conservativeness;
  const BatchPolicy& policy = sglang_policy();
  std::vector<std::unique_ptr<KvAllocator>> pools;
  std::vector<std::unique_ptr<BatchScheduler>> ranks;
  for (std::size_t i = 0; i < count; ++i) {
    pools.push_back(std::make_unique<PagedKv>(
        PagedKvOptions{.blocks = s.kv_blocks,
                       .block_tokens = static_cast<std::int32_t>(s.block_size),
                       .enable_prefix_caching = false}));
    ranks.push_back(policy.make(options, *pools.back()));
  }
  auto kv = std::make_unique<RankPools>(std::move(pools));
  test::PolicySetup setup;
  setup.scheduler = std::make_unique<DataRanks>(
      std::move(ranks), *kv,
      DataRanks::Options{.rules = policy.rank_rules(options.own), .seats = s.max_num_seqs});
  if (way == Way::random_cuts) {
    setup.scheduler = std::make_unique<test::RandomlyCut>(std::move(setup.scheduler), 3);
  }
  setup.kv = std::move(kv);
  setup.limits.max_request_tokens = s.kv_blocks * s.block_size;
  setup.options.single_step = way == Way::single_steps;
  setup.cost = s.cost;
  return setup;
}

std::vector<RequestResult> run_production(const Scenario& s, std::size_t ranks, Way way) {
  std::vector<RequestResult> results;
  for (const RequestRecord& r : test::run_policy(production(s, ranks, way), s.arrivals).requests) {
    results.push_back({.outcome = r.outcome,
                       .queued_ns = r.queued_ns,
                       .first_scheduled_ns = r.first_scheduled_ns,
                       .first_token_ns = r.first_token_ns,
                       .finish_ns = r.finish_ns,
                       .output_tokens = r.output_tokens,
                       .preemptions = r.preemptions});
  }
  return results;
}

Arrival arrival_at(TimeNs time_ns, std::int32_t prompt, std::int32_t output) {
  Arrival arrival;
  arrival.time_ns = time_ns;
  arrival.prompt_tokens = prompt;
  arrival.output_tokens = arrival.max_tokens = output;
  return arrival;
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
