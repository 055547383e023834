// TensorRT-LLM's step with drafts, beside docs/semantics.md 24.

#include "scheduler/batching/trtllm.hpp"
#include "tests/unit/scheduler/policy_fixture.hpp"

namespace headroom::test::trtllm_speculation_test {
namespace {

PolicySetup speculating(const std::string& policy, SchedulerOptions options,
                        const PagedKvOptions& pool, std::vector<double> rates) {
  options.own.edit<TrtllmScheduling>().capacity_scheduler_policy = policy;
  options.finds_prefixes = pool.enable_prefix_caching;
  options.speculation.num_speculative_tokens = static_cast<std::int32_t>(rates.size());
  PolicySetup setup;
  setup.scheduler = std::make_unique<TrtllmScheduler>(options);
  setup.kv = std::make_unique<PagedKv>(pool);
  setup.options.max_sequences = options.max_num_seqs;
  setup.options.max_step_tokens = options.max_num_batched_tokens;
  setup.options.acceptance = DraftAcceptance(7, std::move(rates));
  // Room for the drafts behind the last token, as a claim to completion says.
  setup.limits.max_request_tokens =
      pool.blocks * pool.block_tokens - options.speculation.num_speculative_tokens;
  setup.limits.reserves_max_tokens = true;
  return setup;
}

// Budget 11, 4 tokens a row: the first two rows run, the third has room for 3 only and sits out
// (no drafts are cut). All have 5 tokens, so the third one follows a step later.
TEST_CASE("a row whose drafts do not fit in the step waits", "[scheduler][speculation]") {
  const std::vector<Arrival> arrivals(3, arrival(0, 2, 5));
  const PolicyRun run = run_policy(
      speculating("GUARANTEED_NO_EVICT", seats_and_tokens(4, 11), plain_pool(10), {1, 1, 1}),
      arrivals);
  REQUIRE(run.steps.size() == 3);
  CHECK(run.steps[1].decode_rows == 2);
  CHECK(run.steps[1].draft_tokens == 6);
  CHECK(run.steps[2].decode_rows == 1);
}

// Prompt 8 + 8 tokens are 4 blocks of 4; 3 drafts make it 19 slots, 5 blocks. Nine blocks hold one
// claim of two.
TEST_CASE("a claim to completion includes the drafts", "[scheduler][speculation]") {
  PagedKvOptions pool = plain_pool(9);
  pool.block_tokens = 4;
  const std::vector<Arrival> arrivals(2, arrival(0, 8, 8));
  const auto first_step_chunks = [&](std::vector<double> rates) {
    return run_policy(
               speculating("GUARANTEED_NO_EVICT", seats_and_tokens(4, 64), pool, std::move(rates)),
               arrivals)
        .steps[0]
        .chunk_rows;
  };
  CHECK(first_step_chunks({}) == 2);
  CHECK(first_step_chunks({1, 1, 1}) == 1);
}

TEST_CASE("speculating random traffic through trtllm is cut anywhere without a change",
          "[scheduler][speculation][random]") {
  const auto make = [](const std::string& policy) {
    PagedKvOptions pool = tight_pool(true);
    return speculating(policy, seats_and_tokens(8, 64), pool, {0.8, 0.6, 0.5});
  };
  check_random_traffic([&] { return make("MAX_UTILIZATION"); });
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    check_cut_invariance([&] { return make("GUARANTEED_NO_EVICT"); }, random_arrivals(seed));
  }
}

}  // namespace
}  // namespace headroom::test::trtllm_speculation_test
