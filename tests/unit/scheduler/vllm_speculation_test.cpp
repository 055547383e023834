// vLLM's step with speculative decoding, beside docs/semantics.md 24. A step costs 10 us + 1 us per
// prompt token, decoding row and draft.

#include "scheduler/batching/vllm_drafts.hpp"
#include "tests/unit/scheduler/policy_fixture.hpp"

namespace headroom::test::vllm_speculation_test {
namespace {

struct Drafts {
  std::vector<double> rates;
  std::int32_t lookahead = 0;
  std::int32_t budget_tokens = 0;
};

PolicySetup speculating(SchedulerOptions options, const PagedKvOptions& pool,
                        const Drafts& drafts) {
  options.speculation = {static_cast<std::int32_t>(drafts.rates.size()), drafts.lookahead,
                         drafts.budget_tokens};
  PolicySetup setup = paged_setup<VllmDraftScheduler>(options, pool);
  setup.options.acceptance = DraftAcceptance(7, drafts.rates);
  return setup;
}

// Prompt 8, 10 tokens, 3 drafts a step, all accepted: 1 with the prompt, then 4, 4 and the last 1,
// in a step that still verifies 3 drafts. Steps: 10 + 8, then three of 10 + 1 + 3 us.
TEST_CASE("accepted drafts come out with the token they follow", "[scheduler][speculation]") {
  const PolicyRun run = run_policy(
      speculating(seats_and_tokens(4, 64), plain_pool(10), {{1, 1, 1}}), {arrival(0, 8, 10)});
  REQUIRE(run.steps.size() == 4);
  CHECK(run.steps[3].draft_tokens == 3);
  CHECK(run.requests[0].first_token_ns == 18 * kUs);
  CHECK(run.requests[0].finish_ns == 18 * kUs + 3 * 14 * kUs);
  CHECK(run.requests[0].output_tokens == 10);
  CHECK(run.accepted_drafts == 9);  // as verified: two of them lie behind the end
}

TEST_CASE("rejected drafts cost their step and nothing else", "[scheduler][speculation]") {
  const PolicyRun run = run_policy(speculating(seats_and_tokens(4, 64), plain_pool(10), {{0, 1}}),
                                   {arrival(0, 8, 5)});
  REQUIRE(run.steps.size() == 5);  // one token a step
  CHECK(run.requests[0].finish_ns == (18 + 4 * 13) * kUs);
  CHECK(run.accepted_drafts == 0);
}

// Blocks of 4. The prompt of 8 fills 2. The first decode computes token 9 and 3 drafts: 12 slots, 3
// blocks; with the drafter's lookahead of 3: 15 slots, 4 blocks. The second one begins at 9 tokens
// if all were rejected: 13 slots (16 with lookahead) need block 4; rejected slots are used again.
TEST_CASE("slots for drafts and lookahead are held before the step and kept",
          "[scheduler][speculation]") {
  PagedKvOptions pool = plain_pool(10);
  pool.block_tokens = 4;
  const auto used = [&](std::int32_t lookahead) {
    std::vector<BlockCount> blocks;
    for (const PolicyStep& step :
         run_policy(speculating(seats_and_tokens(4, 64), pool, {{0, 0, 0}, lookahead}),
                    {arrival(0, 8, 4)})
             .steps) {
      blocks.push_back(step.used_blocks);
    }
    return blocks;
  };
  CHECK(used(0) == std::vector<BlockCount>{2, 3, 4, 4});
  CHECK(used(3) == std::vector<BlockCount>{2, 4, 4, 5});
}

// Four prompts of 2 make 8 tokens, the whole budget. Then each decode wants 1 + 3 of 8 tokens: the
// first two run, the others sit out until those have all their 5 tokens (one step, all accepted).
TEST_CASE("rows behind the end of the budget sit the step out", "[scheduler][speculation]") {
  std::vector<Arrival> arrivals(4, arrival(0, 2, 5));
  const PolicyRun run =
      run_policy(speculating(seats_and_tokens(4, 8), plain_pool(10), {{1, 1, 1}}), arrivals);
  REQUIRE(run.steps.size() == 3);
  CHECK(run.steps[1].decode_rows == 2);
  CHECK(run.steps[2].decode_rows == 2);
  CHECK(run.requests[1].finish_ns == (18 + 18) * kUs);
  CHECK(run.requests[3].finish_ns == (18 + 18 + 18) * kUs);
  // A draft model takes a token of the budget for each seat: 12 are 8 then.
  const PolicyRun with_model =
      run_policy(speculating(seats_and_tokens(4, 12), plain_pool(10), {{1, 1, 1}, 0, 1}), arrivals);
  CHECK(with_model.requests[3].finish_ns == run.requests[3].finish_ns);
}

// Budget 6: the second row has room for its token and one draft.
TEST_CASE("a short budget cuts drafts", "[scheduler][speculation]") {
  const std::vector<Arrival> arrivals(2, arrival(0, 2, 5));
  const PolicyRun run =
      run_policy(speculating(seats_and_tokens(4, 6), plain_pool(10), {{1, 1, 1}}), arrivals);
  REQUIRE(run.steps.size() >= 2);
  CHECK(run.steps[1].decode_rows == 2);
  CHECK(run.steps[1].draft_tokens == 4);
}

// Context 12, prompt 8, 4 tokens. Positions 8 to 10 are computed at most: two drafts, then none.
TEST_CASE("the end of the context cuts drafts", "[scheduler][speculation]") {
  SchedulerOptions options = seats_and_tokens(4, 64);
  options.max_model_len = 12;
  PolicySetup setup = speculating(options, plain_pool(10), {{0, 0, 0}});
  setup.limits.max_model_len = 12;
  const PolicyRun run = run_policy(std::move(setup), {arrival(0, 8, 4)});
  REQUIRE(run.steps.size() == 4);
  CHECK(run.steps[1].draft_tokens == 2);
  CHECK(run.steps[2].draft_tokens == 1);
  CHECK(run.steps[3].draft_tokens == 0);
}

// Blocks of 4; beside a group that keeps every token one with a window of 9. With 3 drafts and a
// lookahead of 3 a row attends to and writes at most 9 + 6 positions of it: ceil((8 + 6) / 4) + 1 =
// 5 blocks. The prompt's step has all 10 of its 40 tokens in both groups; then all drafts are
// rejected, and the slots are 47, 48, ... 51: 12 and 13 blocks of the first group.
TEST_CASE("rows with drafts let go of what is behind a window", "[scheduler][speculation]") {
  PagedKvOptions pool = plain_pool(40);
  pool.block_tokens = 4;
  KvLayout layout;
  layout.block_tokens = 4;
  layout.groups = {{KvGroupKind::full, 4, 4, 0}, {KvGroupKind::sliding, 4, 4, 9}};
  pool.sequence = SequenceBlocks(layout, 64, 3 + 3);
  std::vector<BlockCount> used;
  for (const PolicyStep& step :
       run_policy(speculating(seats_and_tokens(4, 64), pool, {{0, 0, 0}, 3}), {arrival(0, 40, 6)})
           .steps) {
    used.push_back(step.used_blocks);
  }
  CHECK(used == std::vector<BlockCount>{20, 12 + 5, 12 + 5, 13 + 5, 13 + 5, 13 + 5});
}

TEST_CASE("speculating random traffic is cut anywhere without a change",
          "[scheduler][speculation][random]") {
  for (const bool caching : {false, true}) {
    check_random_traffic([&] {
      SchedulerOptions options = seats_and_tokens(8, 24);
      options.max_model_len = 128;  // the pool holds one such request
      PolicySetup setup = speculating(options, tight_pool(caching), {{0.8, 0.6, 0.5}, 3});
      setup.limits.max_model_len = 128;
      return setup;
    });
  }
}

// Blocks of 16, chunks of 31. The second one ends at 62 tokens and holds slots for 65: four blocks,
// three of them computed. Its client leaves behind that step; the next one finds those three.
TEST_CASE("the lookahead of a chunk makes no block known", "[scheduler][speculation]") {
  static const std::vector<PrefixSegment> kText{{7, 100}};
  PagedKvOptions pool;
  pool.blocks = 40;
  std::vector<Arrival> arrivals{arrival(0, 100, 5), arrival(100 * kUs, 100, 5)};
  for (Arrival& each : arrivals) each.prefix = kText;
  arrivals[0].deadline_ns = 50 * kUs;  // in the second step, 41 .. 82 us
  const PolicyRun run =
      run_policy(speculating(seats_and_tokens(4, 31), pool, {{1, 1, 1}, 3}), arrivals);
  CHECK(run.requests[0].outcome == Outcome::cancelled);
  CHECK(run.requests[1].outcome == Outcome::finished);
  std::vector<TokenCount> found;
  for (const EngineEvent& event : run.events) {
    if (event.kind == EngineEventKind::admitted) found.push_back(event.cached_tokens);
  }
  CHECK(found == std::vector<TokenCount>{0, 48});
}

}  // namespace
}  // namespace headroom::test::vllm_speculation_test
