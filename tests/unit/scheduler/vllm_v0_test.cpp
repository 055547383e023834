// vLLM V0 (ENGINES.md 3.2). Steps cost 10 us + 1 us per prompt token + 1 us per decoding row.

#include "scheduler/batching/vllm_v0.hpp"

#include <catch2/catch.hpp>

#include "tests/unit/scheduler/policy_fixture.hpp"

namespace headroom::vllm_v0_test {
namespace {

using test::arrival;
using test::kUs;
using test::plain_pool;
using test::seats_and_tokens;

test::PolicySetup v0(const SchedulerOptions& options, const PagedKvOptions& pool) {
  return test::paged_setup<VllmV0Scheduler>(options, pool);
}

TEST_CASE("a prompt runs alone, and the decodes stand by") {
  // Step 1: prompt of 100: 110 us. Step 2: its decode: to 121 us. The second prompt came at 115 us:
  // step 3 is its 50 tokens and nothing else, to 181 us. Step 4: both decode, to 193 us; then the
  // first decodes its 4th and 5th token alone, to 215 us.
  SchedulerOptions options = seats_and_tokens(8, 2048);
  options.enable_chunked_prefill = false;
  const test::PolicyRun run = test::run_policy(v0(options, plain_pool(1000)),
                                               {arrival(0, 100, 5), arrival(115 * kUs, 50, 2)});
  REQUIRE(run.steps.size() == 6);
  CHECK(run.steps[2].decode_rows == 0);
  CHECK(run.steps[2].chunk_tokens == 50);
  CHECK(run.steps[3].decode_rows == 2);
  CHECK(run.requests[1].first_token_ns == 181 * kUs);
  CHECK(run.requests[1].finish_ns == 193 * kUs);
  CHECK(run.requests[0].finish_ns == 215 * kUs);
}

TEST_CASE("a prefill batch takes whole prompts only, up to the token budget and the seats") {
  // B = 100: prompts of 60 and 40 fill step 1, those of 50 and 1 step 2; the fifth finds no seat
  // until somebody ends.
  SchedulerOptions options = seats_and_tokens(4, 100);
  options.enable_chunked_prefill = false;
  const test::PolicyRun run = test::run_policy(
      v0(options, plain_pool(1000)), {arrival(0, 60, 3), arrival(0, 40, 9), arrival(0, 50, 9),
                                      arrival(0, 1, 9), arrival(0, 1, 9)});
  CHECK(run.steps[0].chunk_tokens == 100);
  CHECK(run.steps[1].chunk_tokens == 51);
  CHECK(run.steps[2].decode_rows == 4);
  CHECK(run.requests[4].first_scheduled_ns == run.requests[0].finish_ns);
}

TEST_CASE("an admission leaves the watermark free, and what never can is refused") {
  // 100 blocks of 16, watermark 10. Beside 40 blocks, a prompt of 50 fits (40 + 50 + 10), one of 51
  // waits. 90 blocks fit an empty pool; 91 never do.
  SchedulerOptions options = seats_and_tokens(8, 2048);
  options.enable_chunked_prefill = false;
  options.watermark = 0.1;
  const PagedKvOptions pool = plain_pool(100);
  const auto second = [&](std::int32_t blocks) {
    return test::run_policy(v0(options, pool), {arrival(0, 40 * 16, 2), arrival(0, blocks * 16, 2)})
        .requests[1];
  };
  CHECK(second(50).first_scheduled_ns == 0);
  CHECK(second(51).first_scheduled_ns > 0);
  CHECK(second(51).outcome == Outcome::finished);
  CHECK(second(90).outcome == Outcome::finished);
  CHECK(second(91).outcome == Outcome::rejected);
}

TEST_CASE("a prompt above the token budget is refused unless prompts may be cut") {
  SchedulerOptions options = seats_and_tokens(8, 64);
  options.enable_chunked_prefill = false;
  const std::vector<Arrival> arrivals{arrival(0, 65, 2), arrival(0, 64, 2)};
  const test::PolicyRun whole = test::run_policy(v0(options, plain_pool(1000)), arrivals);
  CHECK(whole.requests[0].outcome == Outcome::rejected);
  CHECK(whole.requests[1].first_scheduled_ns == 0);
  options.enable_chunked_prefill = true;
  const test::PolicyRun cut = test::run_policy(v0(options, plain_pool(1000)), arrivals);
  CHECK(cut.requests[0].outcome == Outcome::finished);
}

TEST_CASE("out of blocks the last goes to the front of the queue") {
  // 3 prompts of 16 fill 3 blocks. Their first decode needs 3 more: the third goes, then the
  // second. Each comes back, in order, when 2 blocks for its 17 tokens are free.
  SchedulerOptions options = seats_and_tokens(8, 2048);
  options.enable_chunked_prefill = false;
  const test::PolicyRun run = test::run_policy(
      v0(options, plain_pool(3)), {arrival(0, 16, 9), arrival(0, 16, 9), arrival(0, 16, 9)});
  CHECK(run.order_of(EngineEventKind::preempted) == std::vector<std::uint64_t>{2, 1});
  CHECK(run.order_of(EngineEventKind::admitted) == std::vector<std::uint64_t>{0, 1, 2, 1, 2});
}

TEST_CASE("a request that outgrows the pool is given up, and the next one starts at once") {
  // 2 blocks of 16 hold a prompt of 32, but not the place of its first decode: it preempts itself,
  // and its 33 tokens will never fit again.
  SchedulerOptions options = seats_and_tokens(1, 2048);
  options.enable_chunked_prefill = GENERATE(false, true);
  test::PolicySetup setup = v0(options, plain_pool(2));
  setup.limits.max_request_tokens = 33;
  const test::PolicyRun run =
      test::run_policy(std::move(setup), {arrival(0, 32, 30), arrival(0, 16, 2)});
  CHECK(run.requests[0].outcome == Outcome::rejected);
  CHECK(run.requests[0].output_tokens == 1);
  CHECK(run.requests[0].finish_ns == 42 * kUs);
  CHECK(run.requests[1].first_scheduled_ns == 42 * kUs);
  CHECK(run.requests[1].outcome == Outcome::finished);
}

TEST_CASE("with chunks decodes come first and a prompt takes what is left of the budget") {
  // B = 64: 64 of the first; then 1 decode + 63 of the second (100); then 1 decode + 37.
  const SchedulerOptions options = seats_and_tokens(8, 64);
  const test::PolicyRun run =
      test::run_policy(v0(options, plain_pool(1000)), {arrival(0, 64, 9), arrival(0, 100, 2)});
  CHECK(run.steps[0].chunk_tokens == 64);
  CHECK(run.steps[1].decode_rows == 1);
  CHECK(run.steps[1].chunk_tokens == 63);
  CHECK(run.steps[2].decode_rows == 1);
  CHECK(run.steps[2].chunk_tokens == 37);
  CHECK(run.requests[1].first_token_ns == (74 + 74 + 48) * kUs);
}

TEST_CASE("V0 plans can be cut anywhere") {
  // A request of up to 100 tokens takes 13 of 20 blocks: with 2 kept free it always comes back.
  const bool chunked = GENERATE(false, true);
  const bool caching = GENERATE(false, true);
  SchedulerOptions options = seats_and_tokens(6, chunked ? 24 : 112);
  options.enable_chunked_prefill = chunked;
  options.watermark = 0.1;
  CAPTURE(chunked, caching);
  test::check_random_traffic([&] { return v0(options, test::tight_pool(caching)); });
}

TEST_CASE("V0 plans can be cut anywhere when prompts are refused") {
  // 7 of 20 blocks of 8 may be filled at admission (watermark 0.65): prompts above 56 tokens are
  // refused as they come, and requests that have grown beyond it (up to 160 tokens, the whole pool)
  // when they are preempted.
  const bool chunked = GENERATE(false, true);
  SchedulerOptions options = seats_and_tokens(16, chunked ? 24 : 112);
  options.enable_chunked_prefill = chunked;
  options.watermark = 0.65;
  CAPTURE(chunked);
  std::size_t refused = 0;
  std::int64_t given_up = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    CAPTURE(seed);
    std::vector<Arrival> arrivals = test::random_arrivals(seed);
    arrivals[0].deadline_ns = arrivals[0].time_ns + 1;
    for (Arrival& each : arrivals) each.output_tokens = each.max_tokens += 60;
    const auto make = [&] { return v0(options, test::tight_pool(false)); };
    const test::PolicyRun run = test::run_policy(make(), arrivals);
    refused += run.order_of(EngineEventKind::rejected).size();
    for (const RequestRecord& r : run.requests) {
      given_up += r.outcome == Outcome::rejected && r.output_tokens > 0 ? 1 : 0;
    }
    test::check_cut_invariance(make, arrivals);
  }
  CHECK(refused > static_cast<std::size_t>(given_up));
  CHECK(given_up > 0);
}

// Swap over a link that both directions share: a block takes 10 us, each copy 5 us more.
test::PolicySetup swapping(SchedulerOptions options, const PagedKvOptions& pool,
                           BlockCount swap_blocks) {
  options.swap_blocks = swap_blocks;
  test::PolicySetup setup = v0(options, pool);
  setup.tier.block_bytes = 10'000;
  setup.tier.to_device = std::make_unique<SerialLink>(1'000'000'000, 5 * kUs);
  return setup;
}

TEST_CASE("a victim that is swapped out comes back and decodes on without computing again") {
  // Two prompts of 16 fill 2 of 3 blocks: 42 us. Step 2: the first takes the third block, the
  // second (one block) is swapped out: 15 us of copy + 11 us. Steps 3 to 9 are the first's last
  // tokens: to 145 us. Then the second's block comes back, with a new one for its second token:
  // 15 us + 11 us, and 7 more tokens of 11.
  SchedulerOptions options = seats_and_tokens(8, 2048);
  options.enable_chunked_prefill = GENERATE(false, true);
  const std::vector<Arrival> arrivals{arrival(0, 16, 9), arrival(0, 16, 9)};
  const test::PolicyRun run = test::run_policy(swapping(options, plain_pool(3), 10), arrivals);
  CHECK(run.order_of(EngineEventKind::preempted) == std::vector<std::uint64_t>{1});
  CHECK(run.requests[0].finish_ns == (42 + 26 + 7 * 11) * kUs);
  CHECK(run.requests[1].finish_ns == (145 + 26 + 7 * 11) * kUs);
  CHECK(run.events.back().cached_tokens == 16);  // of its 17 known ones
  CHECK(run.ghost_rows == 0);
  CHECK(run.tier.stored_blocks == 1);
  CHECK(run.tier.loaded_blocks == 1);
  // Without swap space its 17 tokens are computed again: 10 + 17 us in place of 15 + 11.
  const test::PolicyRun again = test::run_policy(swapping(options, plain_pool(3), 0), arrivals);
  CHECK(again.requests[1].finish_ns == (42 + 11 + 7 * 11 + 27 + 7 * 11) * kUs);
}

TEST_CASE("nobody is admitted while somebody is swapped out") {
  // As above; a prompt of one token arrives at 60 us, for which a block is free from 145 us on, and
  // runs only when the second is back.
  SchedulerOptions options = seats_and_tokens(8, 2048);
  options.enable_chunked_prefill = false;
  const std::vector<Arrival> arrivals{arrival(0, 16, 9), arrival(0, 16, 9),
                                      arrival(60 * kUs, 1, 1)};
  const test::PolicyRun run = test::run_policy(swapping(options, plain_pool(3), 10), arrivals);
  CHECK(run.requests[2].first_scheduled_ns == 171 * kUs);
}

TEST_CASE("a full swap space leaves the next victim to be computed again") {
  // Three prompts of 16 in 3 blocks, swap space for one: the third is swapped, the second is not.
  SchedulerOptions options = seats_and_tokens(8, 2048);
  options.enable_chunked_prefill = false;
  const test::PolicyRun run =
      test::run_policy(swapping(options, plain_pool(3), 1),
                       {arrival(0, 16, 9), arrival(0, 16, 9), arrival(0, 16, 9)});
  CHECK(run.order_of(EngineEventKind::preempted) == std::vector<std::uint64_t>{2, 1});
  CHECK(run.order_of(EngineEventKind::admitted) == std::vector<std::uint64_t>{0, 1, 2, 2, 1});
  CHECK(run.tier.loaded_blocks == 1);
}

TEST_CASE("plans with swapping can be cut anywhere") {
  const bool chunked = GENERATE(false, true);
  const BlockCount swap_blocks = GENERATE(6, 100);
  SchedulerOptions options = seats_and_tokens(6, chunked ? 24 : 112);
  options.enable_chunked_prefill = chunked;
  options.watermark = 0.1;
  CAPTURE(chunked, swap_blocks);
  const auto make = [&] { return swapping(options, test::tight_pool(false), swap_blocks); };
  test::check_random_traffic(make);
  CHECK(test::run_policy(make(), test::random_arrivals(1)).tier.loaded_blocks > 0);
}

TEST_CASE("a swapped request that has outgrown the pool is given up") {
  // As above for a recomputed one: 2 blocks of 16 hold a prompt of 32; its 33 tokens and a free
  // block never fit again, and the next one starts at once.
  SchedulerOptions options = seats_and_tokens(1, 2048);
  options.enable_chunked_prefill = GENERATE(false, true);
  test::PolicySetup setup = swapping(options, plain_pool(2), 10);
  setup.limits.max_request_tokens = 33;
  const test::PolicyRun run =
      test::run_policy(std::move(setup), {arrival(0, 32, 30), arrival(0, 16, 2)});
  CHECK(run.requests[0].outcome == Outcome::rejected);
  CHECK(run.requests[0].output_tokens == 1);
  CHECK(run.requests[1].first_scheduled_ns == 42 * kUs);
  CHECK(run.requests[1].outcome == Outcome::finished);
}

}  // namespace
}  // namespace headroom::vllm_v0_test
