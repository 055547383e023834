// SGLang's rounds of speculative decoding, beside docs/semantics.md 24. A step costs 10 us + 1 us
// per prompt token, decoding row and draft; pages of one token.

#include "scheduler/batching/sglang_drafts.hpp"

#include <catch2/catch.hpp>

#include <array>
#include <memory>
#include <vector>

#include "scheduler/batching/sglang.hpp"
#include "scheduler/kv/paged.hpp"
#include "tests/support/policy_run.hpp"
#include "tests/unit/scheduler/sglang_pool.hpp"

namespace headroom::sglang_drafts_test {
namespace {

constexpr TimeNs kUs = 1'000;
constexpr std::array<PrefixSegment, 3> kShared{{{1, 5}, {2, 5}, {3, 5}}};

struct Engine {
  std::vector<double> rates;
  std::int32_t verified = 4;
  std::int32_t slots = 8;  // behind the computed tokens
  BlockCount tokens = 1000;
  bool latest = false;
  bool caching = false;

  [[nodiscard]] test::PolicySetup parts() const {
    SchedulerOptions options;
    options.max_num_seqs = 16;
    options.own.edit<SglangScheduling>().retracts_latest = latest;
    options.finds_prefixes = caching;
    options.speculation = {.num_speculative_tokens = static_cast<std::int32_t>(rates.size()),
                           .lookahead_tokens = slots - verified,
                           .verified_tokens = verified};
    PagedKvOptions pool;
    pool.blocks = tokens;
    pool.block_tokens = 1;
    pool.enable_prefix_caching = pool.drops_last_match = caching;
    test::PolicySetup setup;
    setup.scheduler = std::make_unique<SglangScheduler>(options);
    setup.kv = test::sglang_pool(pool);
    setup.options.acceptance = DraftAcceptance(7, rates);
    setup.options.verified_tokens = verified;
    setup.options.slots_ahead = slots;
    setup.limits.max_request_tokens = 1000;
    return setup;
  }
  [[nodiscard]] test::PolicyRun run(const std::vector<Arrival>& arrivals) const {
    return test::run_policy(parts(), arrivals);
  }
};

Arrival row(TimeNs us, std::int32_t prompt, std::int32_t output, std::int32_t most) {
  return {
      .time_ns = us * kUs, .prompt_tokens = prompt, .output_tokens = output, .max_tokens = most};
}

}  // namespace

// Prompt 8, 10 tokens: 1 with the prompt, then 4, 4 and the last 1 of a full round. Steps: 10 + 8,
// then three of 10 + 1 + 3 us. Slots: 8, then 8 more than the 8, 12 and 16 computed ones.
TEST_CASE("a round yields what is accepted, at its end, and keeps its slots") {
  const test::PolicyRun run = Engine{.rates = {1, 1, 1}}.run({row(0, 8, 10, 10)});
  REQUIRE(run.steps.size() == 4);
  CHECK(run.requests[0].first_token_ns == 18 * kUs);
  CHECK(run.requests[0].finish_ns == (18 + 3 * 14) * kUs);
  CHECK(run.requests[0].output_tokens == 10);
  std::vector<BlockCount> used;
  for (const test::PolicyStep& step : run.steps) used.push_back(step.used_blocks);
  CHECK(used == std::vector<BlockCount>{8, 16, 20, 24});
}

// B comes in A's first round (18 to 32 us). Its prompt takes 30 us, in which A stands by; then both
// verify 4 tokens each: 10 + 2 + 6 us.
TEST_CASE("rounds stand by while prompts run") {
  const test::PolicyRun run = Engine{.rates = {1, 1, 1}}.run({row(0, 8, 9, 9), row(20, 20, 5, 5)});
  REQUIRE(run.steps.size() == 4);
  CHECK(run.steps[2].decode_rows == 0);
  CHECK(run.steps[2].draft_tokens == 0);
  CHECK(run.steps[2].chunk_tokens == 20);
  CHECK(run.steps[3].draft_tokens == 6);
  CHECK(run.requests[0].finish_ns == 80 * kUs);
  CHECK(run.requests[1].finish_ns == 80 * kUs);
}

// Two levels, 8 tokens verified: a round yields 3, and costs 10 + 1 + 7 us.
TEST_CASE("of a tree of drafts one path is accepted") {
  const test::PolicyRun run =
      Engine{.rates = {1, 1}, .verified = 8, .slots = 16}.run({row(0, 8, 7, 7)});
  REQUIRE(run.steps.size() == 3);
  CHECK(run.steps[1].draft_tokens == 7);
  CHECK(run.accepted_drafts == 4);
  CHECK(run.requests[0].finish_ns == (18 + 2 * 18) * kUs);
}

// Nothing is accepted: round r needs 12 + 10 + 2 (r - 1) + 2 x 8 slots, which 45 hold up to the
// fourth. Both have 5 tokens then. The shortest-output rule takes the longer prompt of equal
// outputs.
TEST_CASE("a retraction takes the latest admission or the shortest output, by release") {
  const std::vector<Arrival> arrivals{row(0, 12, 6, 6), row(0, 10, 6, 6)};
  const auto retracted = [&](bool latest) {
    return Engine{.rates = {0, 0, 0}, .tokens = 45, .latest = latest}.run(arrivals).order_of(
        EngineEventKind::preempted);
  };
  CHECK(retracted(true) == std::vector<std::uint64_t>{1});
  CHECK(retracted(false) == std::vector<std::uint64_t>{0});
}

// 10 + 8 slots of 30 at first. With 23 tokens the 8 slots do not fit any more.
TEST_CASE("the last request is rejected once its round does not fit") {
  const test::PolicyRun run = Engine{.rates = {0, 0, 0}, .tokens = 30}.run({row(0, 10, 30, 30)});
  CHECK(run.requests[0].outcome == Outcome::rejected);
  CHECK(run.steps.size() == 1 + 13);  // rounds from 10 to 22 computed tokens
}

TEST_CASE("cuts change nothing in runs with drafts") {
  std::vector<Arrival> arrivals;
  for (std::int32_t i = 0; i < 20; ++i) {
    arrivals.push_back(row(15 * i, 5 + i * 7 % 23, 1 + i * 11 % 17, 20));
    arrivals.back().prefix = {kShared.data() + i % 3, 1};
  }
  for (const bool caching : {false, true}) {
    const Engine engine{
        .rates = {0.8, 0.6, 0.5}, .tokens = 120, .latest = caching, .caching = caching};
    test::check_cut_invariance([&] { return engine.parts(); }, arrivals);
  }
}

}  // namespace headroom::sglang_drafts_test
