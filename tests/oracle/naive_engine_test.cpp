#include "tests/oracle/naive_engine.hpp"

#include <catch2/catch.hpp>

#include "tests/oracle/worked_examples.hpp"

namespace headroom::oracle::naive_engine_test {
namespace {

// VERIFICATION V1: 8 tokens a step, blocks of 4, a step takes 10 + tokens ms (here ns).
TEST_CASE("oracle: the worked example of two requests with chunked prefill") {
  Scenario s;
  s.arrivals = {{0, 10, 3, 3, 0}, {5, 4, 2, 2, 0}};
  s.max_num_batched_tokens = 8;
  s.cost = {.step = 10 * kTicksPerNs, .decode_row = kTicksPerNs, .chunk_token = kTicksPerNs};
  const Result result = run_naive(s);
  REQUIRE(result.timeline.size() == 4);
  check_step(result, 0, 0, 18, {chunk(0, 8)});
  check_step(result, 1, 18, 34, {last_chunk(0, 2), last_chunk(1, 4)});
  check_step(result, 2, 34, 46, {decode(0), decode(1)});
  check_step(result, 3, 46, 57, {decode(0)});
  check_times(result, 0, 0, 34, 57);
  check_times(result, 1, 18, 34, 46);
  // 12 and 5 KV tokens at the end: 3 + 2 blocks.
  CHECK(result.totals.peak_used_blocks == 5);
  CHECK(result.totals.busy_ticks == ticks_from_ns(57));
  CHECK(result.totals.prefill_tokens == 14);
  CHECK(result.totals.gaps == 3);
  CHECK(result.totals.gap_ticks == ticks_from_ns(12 + 11 + 12));
}

// ENGINES.md 12.1, vector 11.
TEST_CASE("oracle: prompts share what decodes leave of the token budget") {
  Scenario s;
  for (int i = 0; i < 48; ++i) s.arrivals.push_back({0, 1, 10, 10, 0});
  s.arrivals.push_back({1, 3000, 2, 2, 0});
  s.arrivals.push_back({1, 500, 2, 2, 0});
  s.max_num_seqs = 64;
  s.max_num_batched_tokens = 2048;
  s.max_model_len = 4096;
  s.block_size = 16;
  s.kv_blocks = 1000;
  s.cost = ten_ns();
  const Result result = run_naive(s);
  std::vector<StepRow> second;
  for (std::size_t i = 0; i < 48; ++i) second.push_back(decode(i));
  std::vector<StepRow> third = second;
  second.push_back(chunk(48, 2000));
  third.push_back(last_chunk(48, 1000));
  third.push_back(last_chunk(49, 500));
  check_step(result, 1, 10, 20, second);
  check_step(result, 2, 20, 30, third);
  CHECK(result.requests[48].first_token_ns == 30);
  CHECK(result.requests[49].first_token_ns == 30);
}

// ENGINES.md 12.1, vector 12. Blocks of 4; r1 and r2 hold 2, r3 holds 3 of the 7 blocks. At 10 r1
// and r2 need their third block: r3 goes, its last two blocks are overwritten, its first is not.
// One block is free but r4 (one block) does not enter: first because of the preemption, then
// because r3 is ahead of it and needs ceil(13 / 4) = 4. At 30 all is free; r3 knows 13 tokens and
// finds 4.
TEST_CASE("oracle: the youngest is preempted and finds what is left of its prefix") {
  Scenario s;
  s.arrivals = {{0, 8, 3, 3, 0}, {0, 8, 3, 3, 0}, {0, 12, 2, 2, 0}, {1, 4, 1, 1, 0}};
  s.prefix_caching = true;
  s.kv_blocks = 7;
  s.cost = ten_ns();
  const Result result = run_naive(s);
  REQUIRE(result.timeline.size() == 4);
  check_step(result, 0, 0, 10, {last_chunk(0, 8), last_chunk(1, 8), last_chunk(2, 12)});
  check_step(result, 1, 10, 20, {decode(0), decode(1)});
  check_step(result, 2, 20, 30, {decode(0), decode(1)});
  check_step(result, 3, 30, 40, {last_chunk(2, 9), last_chunk(3, 4)});
  check_times(result, 2, 0, 10, 40);
  check_times(result, 3, 30, 40, 40);
  CHECK(result.requests[2].preemptions == 1);
  CHECK(result.totals.cached_tokens == 4);
  CHECK(result.totals.prefill_tokens == 28 + 9 + 4);
  CHECK(result.totals.peak_used_blocks == 7);
  // r1 and r2 have two gaps of 10 each, r3 one of 30.
  CHECK(result.totals.gaps == 5);
  CHECK(result.totals.gap_ticks_squared ==
        Int128{4 * 10 * 10 + 30 * 30} * kTicksPerNs * kTicksPerNs);
}

// 12 tokens a step: beside r1's 8 the 6 of r2 do not fit whole, and r3 stays behind it.
TEST_CASE("oracle: without chunked prefill a prompt waits for a step it fits in whole") {
  Scenario s;
  s.arrivals = {{0, 8, 1, 1, 0}, {0, 6, 1, 1, 0}, {0, 2, 1, 1, 0}};
  s.max_num_batched_tokens = 12;
  s.cost = ten_ns();
  check_step(run_naive(s), 0, 0, 10, {last_chunk(0, 8), chunk(1, 4)});
  s.chunked_prefill = false;
  check_step(run_naive(s), 0, 0, 10, {last_chunk(0, 8)});
  check_step(run_naive(s), 1, 10, 20, {last_chunk(1, 6), last_chunk(2, 2)});
}

// The prompt of 20 needs 5 of 6 blocks while r1 holds 2: with the gate it waits for the end of r1
// (8 + 3 - 1 = 10 tokens, 3 steps), without it its first chunk of 7 beside r1's decode starts
// at 10.
TEST_CASE("oracle: the full-prompt gate keeps a prompt out whose first chunk would fit") {
  Scenario s;
  s.arrivals = {{0, 8, 3, 3, 0}, {1, 20, 1, 1, 0}};
  s.max_num_batched_tokens = 8;
  s.kv_blocks = 6;
  s.cost = ten_ns();
  CHECK(run_naive(s).requests[1].first_scheduled_ns == 30);
  s.reserve_full_isl = false;
  CHECK(run_naive(s).requests[1].first_scheduled_ns == 10);
}

// 8 blocks, a quarter of them kept: r1 holds 3 from its first decode on, r2 needs 4, 8 - 3 - 2 < 4.
TEST_CASE("oracle: the watermark holds back a waiting request while something runs") {
  Scenario s;
  s.arrivals = {{0, 8, 3, 3, 0}, {1, 16, 1, 1, 0}};
  s.kv_blocks = 8;
  s.cost = ten_ns();
  CHECK(run_naive(s).requests[1].first_scheduled_ns == 10);
  s.watermark = 0.25;
  CHECK(run_naive(s).requests[1].first_scheduled_ns == 30);
  // Alone it may use all.
  s.arrivals = {{0, 29, 1, 1, 0}};
  CHECK(run_naive(s).requests[0].first_scheduled_ns == 0);
}

// A pool of 4 tokens admits 3 + 1, holds tokens 1-4, and has no block for the fifth: the lone
// request pushes out itself and can never come back (ENGINES.md 3.1, never-fit).
TEST_CASE("oracle: a request that outgrows the whole pool stays unfinished") {
  Scenario s;
  s.arrivals = {{0, 3, 5, 5, 0}};
  s.block_size = 2;
  s.kv_blocks = 2;
  const Result result = run_naive(s);
  CHECK(result.requests[0].outcome == Outcome::unfinished);
  CHECK(result.requests[0].output_tokens == 2);
  CHECK(result.requests[0].preemptions == 1);
  CHECK(result.requests[0].finish_ns == -1);
}

// As before with chunks of one token and no gate: it knows P + 2 = 5 tokens, but the first chunks
// fit. At depth 2 the step in flight when it pushes itself out gives another planning instant, at
// which it comes back, computes 4 tokens and pushes itself out again, for ever. At depth 1 nothing
// is in flight after the first time, so that nobody plans any more.
TEST_CASE("oracle: without the gate a request that outgrows the pool thrashes at depth 2") {
  Scenario s;
  s.arrivals = {{0, 3, 5, 5, 0}};
  s.depth = 2;
  s.max_num_seqs = 1;
  s.max_num_batched_tokens = 1;
  s.reserve_full_isl = false;
  s.block_size = 2;
  s.kv_blocks = 2;
  const Result result = run_naive(s);
  CHECK(result.thrashed);
  CHECK(result.requests[0].outcome == Outcome::unfinished);
  CHECK(result.requests[0].output_tokens == 2);
  CHECK(result.requests[0].preemptions > 1000);
  s.depth = 1;
  CHECK_FALSE(run_naive(s).thrashed);
  CHECK(run_naive(s).requests[0].preemptions == 1);
}

TEST_CASE("oracle: requests that can never fit are rejected on arrival") {
  Scenario s;
  s.max_model_len = 20;
  s.block_size = 4;
  s.kv_blocks = 4;
  s.kv_tokens = 16;
  // P >= L; P + M > L; P + 1 > 16; and 15 + 1 = 16, which fits.
  s.arrivals = {{3, 20, 1, 0, 0}, {3, 10, 1, 11, 0}, {3, 16, 1, 1, 0}, {3, 15, 1, 2, 0}};
  const auto outcomes = [&] {
    std::vector<bool> rejected;
    for (const RequestResult& r : run_naive(s).requests) {
      rejected.push_back(r.outcome == Outcome::rejected && r.finish_ns == 3 && r.queued_ns == -1);
    }
    return rejected;
  };
  CHECK(outcomes() == std::vector<bool>{true, true, true, false});
  // An engine that reserves P + M = 17 does not take the last one either.
  s.policy = Policy::orca;
  CHECK(outcomes() == std::vector<bool>{true, true, true, true});
  s.memory = Memory::contiguous;
  CHECK(outcomes() == std::vector<bool>{true, true, true, true});
}

// Not declared: M = L - P = 4, which cuts 9 output tokens.
TEST_CASE("oracle: an undeclared max_tokens is what the model length leaves") {
  Scenario s;
  s.arrivals = {{0, 6, 9, 0, 0}};
  s.max_model_len = 10;
  CHECK(run_naive(s).requests[0].output_tokens == 4);
}

// Steps of 1.5 ns: r1 [0, 1.5) ends in ns 1. After the idle time r2 starts at 2.0 and ends at 3.5,
// in ns 3, when r3 arrives: r3's step begins at 3.5 sharp and ends at 5.0.
TEST_CASE("oracle: steps that follow each other keep the part of a nanosecond") {
  Scenario s;
  s.arrivals = {{0, 1, 1, 1, 0}, {2, 1, 1, 1, 0}, {3, 1, 1, 1, 0}};
  s.cost = {.step = kTicksPerNs + kTicksPerNs / 2};
  const Result result = run_naive(s);
  check_times(result, 0, 0, 1, 1);
  check_times(result, 1, 2, 3, 3);
  check_times(result, 2, 3, 5, 5);
  CHECK(result.timeline[2].start == ticks_from_ns(3) + kTicksPerNs / 2);
}

// At q tokens after ctx: chunk 1 is 8 after 0, chunk 2 is 2 after 8, then decodes read 11 and 12.
TEST_CASE("oracle: the shape of a step counts context and query-key pairs") {
  Scenario s;
  s.arrivals = {{0, 10, 3, 3, 0}};
  s.max_num_batched_tokens = 8;
  const Result result = run_naive(s);
  REQUIRE(result.timeline.size() == 4);
  const StepShape& first = result.timeline[0].shape;
  CHECK(first.chunk_tokens == 8);
  CHECK(first.chunk_context == 8);
  CHECK(first.chunk_pairs_twice == 64);
  CHECK(first.sampled_rows == 0);
  const StepShape& second = result.timeline[1].shape;
  CHECK(second.chunk_context == 10);
  CHECK(second.chunk_pairs_twice == 2 * (16 + 2));
  CHECK(second.sampled_rows == 1);
  CHECK(result.timeline[2].shape.decode_context == 11);
  CHECK(result.timeline[3].shape.decode_context == 12);
  CHECK(result.timeline[3].shape.chunk_rows == 0);
}

}  // namespace
}  // namespace headroom::oracle::naive_engine_test
