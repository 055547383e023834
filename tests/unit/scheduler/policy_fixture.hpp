#pragma once
// What the tests of one batch scheduler begin with. Steps cost 10 us + 1 us per prompt token + 1 us
// per decoding row (PolicySetup's default).

#include <catch2/catch.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <vector>

#include "scheduler/kv/paged.hpp"
#include "tests/support/policy_run.hpp"

namespace headroom::test {

inline constexpr TimeNs kUs = 1'000;

inline SchedulerOptions seats_and_tokens(std::int32_t max_num_seqs,
                                         std::int32_t max_num_batched_tokens) {
  SchedulerOptions options;
  options.max_num_seqs = max_num_seqs;
  options.max_num_batched_tokens = max_num_batched_tokens;
  return options;
}

template <typename Scheduler>
PolicySetup paged_setup(const SchedulerOptions& options, const PagedKvOptions& pool,
                        int depth = 1) {
  PolicySetup setup;
  setup.scheduler = std::make_unique<Scheduler>(options);
  setup.kv = std::make_unique<PagedKv>(pool);
  setup.options.max_sequences = options.max_num_seqs;
  setup.options.max_step_tokens = options.max_num_batched_tokens;
  setup.options.pipeline_depth = depth;
  return setup;
}

// Blocks of 16 tokens, nothing found again.
inline PagedKvOptions plain_pool(BlockCount blocks) {
  PagedKvOptions pool;
  pool.blocks = blocks;
  pool.enable_prefix_caching = false;
  return pool;
}

inline Arrival arrival(TimeNs time_ns, std::int32_t prompt, std::int32_t output,
                       std::int32_t priority = 0) {
  Arrival arrival;
  arrival.time_ns = time_ns;
  arrival.prompt_tokens = prompt;
  arrival.output_tokens = arrival.max_tokens = output;
  arrival.priority = priority;
  return arrival;
}

// 40 requests in about 2 ms: prompts of 1 to 60 tokens, 1 to 40 output tokens, priorities 0 to 2; a
// third of them stop before their max_tokens.
inline std::vector<Arrival> random_arrivals(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](std::int32_t n) {
    return static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(n));
  };
  std::vector<Arrival> arrivals;
  TimeNs now = 0;
  for (int i = 0; i < 40; ++i) {
    now += below(100'000);
    const std::int32_t prompt = 1 + below(60);
    const std::int32_t output = 1 + below(40);
    const std::int32_t priority = below(3);
    arrivals.push_back(arrival(now, prompt, output, priority));
    if (below(3) == 0) arrivals.back().output_tokens = 1 + below(output);
  }
  return arrivals;
}

// A pool so small (20 blocks of 8) that requests of up to 100 tokens are preempted again and again.
inline PagedKvOptions tight_pool(bool enable_prefix_caching) {
  PagedKvOptions pool;
  pool.blocks = 20;
  pool.block_tokens = 8;
  pool.enable_prefix_caching = enable_prefix_caching;
  return pool;
}

// Random traffic with preemptions: everybody is served, and any cut gives the same bytes; also when
// every fourth client gives up early.
inline void check_random_traffic(const std::function<PolicySetup()>& make) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    CAPTURE(seed);
    std::vector<Arrival> arrivals = random_arrivals(seed);
    const PolicyRun run = run_policy(make(), arrivals);
    CHECK_FALSE(run.order_of(EngineEventKind::preempted).empty());
    for (const RequestRecord& record : run.requests) REQUIRE(record.outcome == Outcome::finished);
    check_cut_invariance(make, arrivals);
    for (std::size_t i = 0; i < arrivals.size(); i += 4) {
      arrivals[i].deadline_ns = arrivals[i].time_ns + static_cast<TimeNs>(i) * 20 * kUs;
    }
    check_cut_invariance(make, arrivals);
  }
}

}  // namespace headroom::test
