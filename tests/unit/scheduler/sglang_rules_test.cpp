// What SGLang's releases count differently (SglangRules), one rule a test. Pages of one token
// unless a test says otherwise.

#include "scheduler/batching/sglang_rules.hpp"

#include <catch2/catch.hpp>

#include <memory>
#include <vector>

#include "scheduler/batching/sglang.hpp"
#include "scheduler/kv/paged.hpp"
#include "tests/support/policy_run.hpp"

namespace headroom::sglang_rules_test {
namespace {

struct Engine {
  SglangScheduling sglang;
  BlockCount tokens = 1000;
  std::int32_t seqs = 16;
  std::int32_t page = 1;

  [[nodiscard]] test::PolicyRun run(const std::vector<Arrival>& arrivals) const {
    SchedulerOptions options;
    options.max_num_seqs = seqs;
    options.own.edit<SglangScheduling>() = sglang;
    PagedKvOptions pool;
    pool.blocks = tokens / page;
    pool.block_tokens = page;
    pool.enable_prefix_caching = false;
    test::PolicySetup setup;
    setup.scheduler = std::make_unique<SglangScheduler>(options);
    setup.kv = std::make_unique<PagedKv>(pool);
    setup.options.knows_last_steps = false;
    return test::run_policy(std::move(setup), arrivals);
  }
  // Prompt tokens of the steps that compute any.
  [[nodiscard]] std::vector<TokenCount> chunks(const std::vector<Arrival>& arrivals) const {
    std::vector<TokenCount> chunks;
    for (const test::PolicyStep& step : run(arrivals).steps) {
      if (step.chunk_rows > 0) chunks.push_back(step.chunk_tokens);
    }
    return chunks;
  }
};

using Chunks = std::vector<TokenCount>;

// A request that generates all it may.
Arrival row(std::int32_t prompt, std::int32_t output, TimeNs us = 0) {
  return {.time_ns = us * 1'000,
          .prompt_tokens = prompt,
          .output_tokens = output,
          .max_tokens = output};
}

TEST_CASE("sglang rules: a prompt that reaches max_prefill_tokens waits since 0.4.8") {
  // 8 of 20 are taken; the next prompt has the 12 that are left.
  Engine engine;
  engine.sglang.chunked_prefill_size = 0;
  engine.sglang.max_prefill_tokens = 20;
  const std::vector<Arrival> arrivals = {row(8, 1), row(12, 1)};
  CHECK(engine.chunks(arrivals) == Chunks{8, 12});
  engine.sglang.rules.counts_pages = false;
  CHECK(engine.chunks(arrivals) == Chunks{20});
}

TEST_CASE("sglang rules: max_prefill_tokens limits prompts that can be cut before 0.5.13") {
  Engine engine;
  engine.sglang.max_prefill_tokens = 20;
  const std::vector<Arrival> arrivals = {row(8, 1), row(13, 1)};
  CHECK(engine.chunks(arrivals) == Chunks{21});
  engine.sglang.rules.limits_pieces = true;
  CHECK(engine.chunks(arrivals) == Chunks{8, 13});
}

TEST_CASE("sglang rules: an admitted request sets a page aside since 0.5.10") {
  // Each asks for 10 + 10 + 1 and must find more. The first leaves 42 - 21 = 21, or 22.
  Engine engine;
  engine.tokens = 42;
  const std::vector<Arrival> arrivals = {row(10, 10), row(10, 10)};
  CHECK(engine.chunks(arrivals) == Chunks{10, 10});
  engine.sglang.rules.adds_page = false;
  CHECK(engine.chunks(arrivals) == Chunks{20});
}

TEST_CASE("sglang rules: the test asks for a page since 0.5.11") {
  // The first leaves 41 - 20 = 21. The second asks for 21, or 20.
  Engine engine;
  engine.tokens = 41;
  engine.sglang.rules.adds_page = false;
  const std::vector<Arrival> arrivals = {row(10, 10), row(10, 10)};
  CHECK(engine.chunks(arrivals) == Chunks{10, 10});
  engine.sglang.rules.tests_page = false;
  CHECK(engine.chunks(arrivals) == Chunks{20});
}

TEST_CASE("sglang rules: a prompt in pieces takes two of the seats since 0.5.12") {
  // Pieces of 8 and 4; beside the second there are tokens for the other prompt.
  Engine engine;
  engine.sglang.chunked_prefill_size = 8;
  engine.seqs = 2;
  const std::vector<Arrival> arrivals = {row(12, 5), row(2, 5)};
  CHECK(engine.chunks(arrivals) == Chunks{8, 4, 2});
  engine.sglang.rules.counts_rows = false;
  CHECK(engine.chunks(arrivals) == Chunks{8, 6});
}

TEST_CASE("sglang rules: max_new_tokens is cut to whole pages since 0.5.12") {
  // A pool of ten pages of 4 and a prompt of two. In pages: 10 * 4 - 4 - 1 - 8 = 27 are left to
  // generate, and 40 - 8 - 27 = 5 for the next one, which asks for 4 + 2. Else 7 * 4 + 1 - 5 = 24,
  // and 8.
  Engine engine;
  engine.tokens = 40;
  engine.page = 4;
  engine.sglang.rules.adds_page = engine.sglang.rules.tests_page = false;
  Arrival greedy = row(5, 1);
  greedy.max_tokens = 100;
  const std::vector<Arrival> arrivals = {greedy, row(4, 2)};
  CHECK(engine.chunks(arrivals) == Chunks{5, 4});
  engine.sglang.rules.clips_in_pages = false;
  CHECK(engine.chunks(arrivals) == Chunks{9});
}

TEST_CASE("sglang rules: a request that was idle beside a queue keeps the ratio since 0.5.12") {
  // The first one decodes 60 steps: the ratio falls from 0.7 to 0.64. The second had to wait for
  // it: 37 + 60 + 1 of 100. Behind its prompt 63 are free and 59 to come, 41.3 or 37.7 of them
  // expected: the third asks for 22 of 21.7 or 25.3.
  Engine engine;
  engine.tokens = 100;
  const std::vector<Arrival> arrivals = {row(2, 61), row(37, 60, 5), row(20, 1, 6)};
  const auto steps_between = [&] {
    std::vector<std::size_t> at;
    const test::PolicyRun run = engine.run(arrivals);
    for (std::size_t i = 0; i < run.steps.size(); ++i) {
      if (run.steps[i].chunk_rows > 0) at.push_back(i);
    }
    REQUIRE(at.size() == 3);
    CHECK(at[1] == 61);
    return at[2] - at[1];
  };
  CHECK(steps_between() == 1);
  engine.sglang.rules.idle_without_queue = false;
  CHECK(steps_between() > 1);
}

}  // namespace
}  // namespace headroom::sglang_rules_test
