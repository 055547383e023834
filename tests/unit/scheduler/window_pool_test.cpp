// Scheduler vllm on a pool whose layers keep unlike things (docs/semantics.md 27).

#include <catch2/catch.hpp>
#include <memory>
#include <vector>

#include "scheduler/batching/vllm.hpp"
#include "scheduler/kv/paged.hpp"
#include "tests/support/policy_run.hpp"

namespace headroom::window_pool_test {
namespace {

using namespace test;

// Blocks of 16; a group that keeps every token beside one with a window of 24: at most
// ceil(23 / 16) + 1 = 3 blocks between steps.
const std::vector<KvGroup> kBeside{{KvGroupKind::full, 4, 16, 0},
                                   {KvGroupKind::sliding, 4, 16, 24}};
const std::vector<KvGroup> kAlone{{KvGroupKind::sliding, 4, 16, 24}};

PolicySetup setup_of(BlockCount pool_blocks, std::int32_t step_tokens, std::int32_t depth = 1,
                     const std::vector<KvGroup>& groups = kBeside) {
  KvLayout layout;
  layout.groups = groups;
  SchedulerOptions options;
  options.max_num_seqs = 4;
  options.max_num_batched_tokens = step_tokens;
  options.max_model_len = 1000;
  PolicySetup setup;
  setup.kv = std::make_unique<PagedKv>(
      PagedKvOptions{.blocks = pool_blocks, .sequence = SequenceBlocks(layout, step_tokens)});
  setup.scheduler = std::make_unique<VllmScheduler>(options);
  setup.options.max_sequences = 4;
  setup.options.max_step_tokens = step_tokens;
  setup.options.pipeline_depth = depth;
  setup.limits.max_model_len = 1000;
  setup.limits.max_request_tokens = setup.kv->sequence().longest(pool_blocks);
  return setup;
}

Arrival arrival(std::int32_t prompt, std::int32_t output) {
  Arrival a;
  a.prompt_tokens = prompt;
  a.output_tokens = a.max_tokens = output;
  return a;
}

TEST_CASE("windows: a prompt's step has all its blocks, decodes those of the window") {
  const PolicyRun run = run_policy(setup_of(64, 256), {arrival(160, 4)});
  REQUIRE(run.steps.size() == 4);
  CHECK(run.steps[0].used_blocks == 10 + 10);
  for (std::size_t i = 1; i < 4; ++i) CHECK(run.steps[i].used_blocks == 11 + 3);
}

TEST_CASE("windows: a sequence that decodes takes blocks of its window until that is full") {
  // 8 prompt tokens. Step i + 1 decodes at 8 + i computed tokens: ceil((8 + i) / 16) blocks, and
  // of the window as many, but not above 3.
  const PolicyRun run = run_policy(setup_of(64, 256), {arrival(8, 120)});
  std::size_t step = 0;
  for (const BlockCount every : {1, 2, 3, 4, 5, 6, 7}) {
    const std::size_t steps = every == 1 ? 9 : 16;
    for (std::size_t i = 0; i < steps; ++i) {
      REQUIRE(run.steps.at(step).used_blocks == every + std::min<BlockCount>(every, 3));
      ++step;
    }
  }
}

TEST_CASE("windows: chunks of a prompt hold the window before them and their own tokens") {
  // Chunks of 64 of 160 tokens: 4 + 4, then 8 + ceil(128 / 16) - floor((64 - 23) / 16) = 8 + 6,
  // then 10 + 10 - floor((128 - 23) / 16) = 10 + 4.
  const PolicyRun run = run_policy(setup_of(64, 64), {arrival(160, 2)});
  REQUIRE(run.steps.size() == 4);
  CHECK(run.steps[0].used_blocks == 8);
  CHECK(run.steps[1].used_blocks == 14);
  CHECK(run.steps[2].used_blocks == 14);
  CHECK(run.steps[3].used_blocks == 11 + 3);
}

TEST_CASE("windows: more sequences run than if every layer kept every token") {
  // 28 ids. Prompts of 64 tokens take 4 + 4 while they are computed, then 5 + 3 in decode: three
  // fit, and with two such groups of full layers (5 + 5 each in decode) two.
  std::vector<Arrival> arrivals(3, arrival(64, 10));
  const PolicyRun run = run_policy(setup_of(28, 256), arrivals);
  CHECK(run.steps[0].chunk_rows == 3);
  CHECK(run.steps[1].decode_rows == 3);
  CHECK(run.steps[1].used_blocks == 3 * (5 + 3));
}

TEST_CASE("windows: the head of the queue waits until its whole prompt fits beside the window") {
  // A: 96 tokens, 6 + 6, then 7 + 3. B: 160 tokens in chunks of 96 needs 10 + min(10,
  // ceil((23 + 96) / 16) + 1 = 9) = 19 ids; 28 - 10 = 18 are free while A decodes.
  const PolicyRun waits = run_policy(setup_of(28, 96), {arrival(96, 6), arrival(160, 2)});
  CHECK(waits.requests[1].first_scheduled_ns == waits.requests[0].finish_ns);
  const PolicyRun joins = run_policy(setup_of(29, 96), {arrival(96, 6), arrival(160, 2)});
  CHECK(joins.requests[1].first_scheduled_ns < joins.requests[0].finish_ns);
}

TEST_CASE("one window of all layers: decodes hold what the window needs, and no more") {
  // The prompt's step has its 10 blocks, decodes ceil(23 / 16) + 1 = 3.
  const PolicyRun run = run_policy(setup_of(12, 256, 1, kAlone), {arrival(160, 40)});
  REQUIRE(run.steps.size() == 40);
  CHECK(run.steps[0].used_blocks == 10);
  for (std::size_t i = 1; i < 40; ++i) CHECK(run.steps[i].used_blocks == 3);
}

TEST_CASE("one window of all layers: a prompt needs the window and a step, however long it is") {
  // ceil((23 + 64) / 16) + 1 = 7 ids, for 900 tokens in chunks of 64.
  const PolicyRun run = run_policy(setup_of(7, 64, 1, kAlone), {arrival(900, 20)});
  CHECK(run.requests[0].outcome == Outcome::finished);
  CHECK(run.requests[0].preemptions == 0);
}

TEST_CASE("windows: runs in jumps, in single steps and cut at random are the same") {
  std::vector<Arrival> arrivals;
  for (std::int32_t i = 0; i < 12; ++i) {
    arrivals.push_back(arrival(5 + 37 * i % 150, 1 + 29 * i % 90));
    arrivals.back().time_ns = 40'000 * i;
  }
  for (const std::int32_t depth : {1, 2}) {
    check_cut_invariance([depth] { return setup_of(40, 64, depth); }, arrivals);
    check_cut_invariance([depth] { return setup_of(11, 64, depth, kAlone); }, arrivals);
  }
}

}  // namespace
}  // namespace headroom::window_pool_test
