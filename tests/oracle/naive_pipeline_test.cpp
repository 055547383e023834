// Worked examples at pipeline depth 2, and of the schedulers `orca` and `static`.

#include <catch2/catch.hpp>

#include "tests/oracle/worked_examples.hpp"

namespace headroom::oracle::naive_pipeline_test {
namespace {

// 0: steps 1 (r1: 4 tokens) and 2 (r1 decodes) are planned.
// 10: step 1 ends, r1's token 1. Step 3 is planned: r1's third and last token, r2 (arrived at 5).
// 20: step 2 ends, token 2. Both are ending: the plan is empty.
// 22: r3 arrives while step 3 runs: not looked at.
// 30: step 3 ends, r1 and r2 finish. r3 is planned at last.
TEST_CASE("oracle: depth 2 plans ahead and leaves out a sequence that reaches max_tokens") {
  Scenario s;
  s.arrivals = {{0, 4, 3, 3, 0}, {5, 4, 1, 1, 0}, {22, 1, 1, 1, 0}};
  s.depth = 2;
  s.cost = ten_ns();
  const Result result = run_naive(s);
  REQUIRE(result.timeline.size() == 4);
  check_step(result, 0, 0, 10, {last_chunk(0, 4)});
  check_step(result, 1, 10, 20, {decode(0)});
  check_step(result, 2, 20, 30, {decode(0), last_chunk(1, 4)});
  check_step(result, 3, 30, 40, {last_chunk(2, 1)});
  check_times(result, 0, 0, 10, 30);
  check_times(result, 1, 10, 30, 30);
  check_times(result, 2, 30, 40, 40);
  CHECK(result.totals.ghost_rows == 0);
}

// As above, but the model stops after 2 of 5 tokens: token 2 comes out at 20, when step 3, planned
// at 10, already holds a third row. It runs from 20 to 30 for nothing, with KV token 6 of the
// sequence, for which a second block of 5 was taken.
TEST_CASE("oracle: a sequence that stops early leaves one ghost row at depth 2") {
  Scenario s;
  s.arrivals = {{0, 4, 2, 5, 0}};
  s.depth = 2;
  s.block_size = 5;
  s.cost = ten_ns();
  const Result result = run_naive(s);
  REQUIRE(result.timeline.size() == 3);
  check_step(result, 2, 20, 30, {decode(0)});
  check_times(result, 0, 0, 10, 20);
  CHECK(result.requests[0].output_tokens == 2);
  CHECK(result.totals.ghost_rows == 1);
  CHECK(result.totals.busy_ticks == ticks_from_ns(30));
  CHECK(result.totals.peak_used_blocks == 2);
  s.depth = 1;
  CHECK(run_naive(s).totals.ghost_rows == 0);
  CHECK(run_naive(s).totals.peak_used_blocks == 1);
}

// Three blocks of 2. Step 1 takes them all: r1 one, r2 two; r2 has its only token planned and is
// ending. Step 2 (also planned at 0) needs a second block for r1: r2 is pushed out. Its token
// comes out at 10 all the same and finishes it in the queue.
TEST_CASE("oracle: a preempted sequence may finish by its token in flight") {
  Scenario s;
  s.arrivals = {{0, 2, 3, 3, 0}, {0, 4, 1, 1, 0}};
  s.depth = 2;
  s.block_size = 2;
  s.kv_blocks = 3;
  s.cost = ten_ns();
  const Result result = run_naive(s);
  REQUIRE(result.timeline.size() == 3);
  check_times(result, 0, 0, 10, 30);
  check_times(result, 1, 0, 10, 10);
  CHECK(result.requests[1].preemptions == 1);
  CHECK(result.totals.prefill_tokens == 6);
}

// As before, but r2 has two tokens to give: it is pushed out at 0 with its first one in flight.
// At 10 it knows 5 tokens (3 blocks, of which one is free), at 20 still; at 30 r1 has left and it
// recomputes all 5, which yields token 2 at 40.
TEST_CASE("oracle: a token in flight counts for the recomputation") {
  Scenario s;
  s.arrivals = {{0, 2, 3, 3, 0}, {0, 4, 2, 2, 0}};
  s.depth = 2;
  s.block_size = 2;
  s.kv_blocks = 3;
  s.cost = ten_ns();
  const Result result = run_naive(s);
  REQUIRE(result.timeline.size() == 4);
  check_step(result, 1, 10, 20, {decode(0)});
  check_step(result, 2, 20, 30, {decode(0)});
  check_step(result, 3, 30, 40, {last_chunk(1, 5)});
  check_times(result, 1, 0, 10, 40);
}

// Two stages of 5 ns for a step, a budget of 4. 0: r1's prompt of 8 fills two micro-batches.
// 5: r2 arrives and is not looked at: nothing else could be planned at 0.
// 10: the first leaves the second stage; r2 enters the first stage, free since 10.
// 15: the second leaves, with r1's token 1. r1 decodes: the first stage is free, the second at 20.
// 20: r2's only token. 25: r1's second one.
TEST_CASE("oracle: the chunks of a prompt follow each other through the stages") {
  Scenario s;
  s.arrivals = {{0, 8, 2, 2, 0}, {5, 4, 1, 1, 0}};
  s.stages = {1, 1};
  s.max_num_seqs = 4;
  s.max_num_batched_tokens = 4;
  s.cost = ten_ns();
  const Result result = run_naive(s);
  REQUIRE(result.timeline.size() == 4);
  check_step(result, 0, 0, 10, {chunk(0, 4)});
  check_step(result, 1, 10, 15, {last_chunk(0, 4)});
  check_step(result, 2, 15, 20, {last_chunk(1, 4)});
  check_step(result, 3, 20, 25, {decode(0)});
  check_times(result, 0, 0, 15, 25);
  check_times(result, 1, 10, 20, 20);
}

// 20 tokens. r1 reserves 5 + 5 = 10; r2 wants 4 + 8 = 12 and blocks r3 (2), which would fit.
// [0, 15) r1: 5. [15, 25) r1 decodes and leaves. [25, 40) r2: 4, r3: 1.
TEST_CASE("oracle: orca reserves prompt and max_tokens and blocks at the head") {
  Scenario s;
  s.arrivals = {{0, 5, 2, 5, 0}, {0, 4, 1, 8, 0}, {0, 1, 1, 1, 0}};
  s.policy = Policy::orca;
  s.memory = Memory::contiguous;
  s.kv_tokens = 20;
  s.cost = {.step = 10 * kTicksPerNs, .chunk_token = kTicksPerNs};
  const Result result = run_naive(s);
  REQUIRE(result.timeline.size() == 3);
  check_step(result, 0, 0, 15, {last_chunk(0, 5)});
  check_step(result, 1, 15, 25, {decode(0)});
  check_step(result, 2, 25, 40, {last_chunk(1, 4), last_chunk(2, 1)});
  CHECK(result.totals.peak_used_tokens == 14);
  // Blocks of 4: r1 sets aside 3 of 5, r2 needs 3: the same time line; then 3 + 1.
  s.memory = Memory::paged;
  s.kv_blocks = 5;
  const Result paged = run_naive(s);
  CHECK(paged.requests == result.requests);
  CHECK(paged.totals.peak_used_blocks == 4);
}

// r1 (room for 10) and r2 (room for 8) fill 18 of 20 tokens; r3 and r4 want 10 and 9. When r2
// leaves, addresses 10-19 are free: r3. When r1 leaves, 0-9: r4.
TEST_CASE("oracle: orca mixes whole prompts with decodes of a full batch") {
  Scenario s;
  s.arrivals = {{0, 4, 4, 6, 0}, {0, 7, 1, 1, 0}, {0, 9, 1, 1, 0}, {0, 8, 1, 1, 0}};
  s.policy = Policy::orca;
  s.memory = Memory::contiguous;
  s.kv_tokens = 20;
  s.max_num_seqs = 2;
  s.cost = ten_ns();
  const Result result = run_naive(s);
  check_step(result, 0, 0, 10, {last_chunk(0, 4), last_chunk(1, 7)});
  check_step(result, 1, 10, 20, {decode(0), last_chunk(2, 9)});
  check_step(result, 2, 20, 30, {decode(0), last_chunk(3, 8)});
  check_step(result, 3, 30, 40, {decode(0)});
}

Scenario static_example() {
  Scenario s;
  s.arrivals = {{0, 2, 3, 3, 0}, {5, 4, 1, 2, 0}, {50, 1, 1, 1, 0}};
  s.policy = Policy::static_batch;
  s.memory = Memory::contiguous;
  s.max_num_seqs = 3;
  s.batch_wait_ns = 20;
  s.cost = {.step = 10 * kTicksPerNs, .decode_context = kTicksPerNs, .chunk_token = kTicksPerNs};
  return s;
}

// The batch forms at 20 with r1 and r2, rows of 4 + 3 tokens, r1 padded by 2.
// [20, 38) 2 x 4 tokens; [38, 58) contexts 5 + 5; [58, 80) contexts 6 + 6. r2 is a ghost in two
// steps. At 80 r3 has waited 30: [80, 91).
TEST_CASE("oracle: a static batch runs until its last row has its tokens") {
  const Result result = run_naive(static_example());
  REQUIRE(result.timeline.size() == 4);
  check_step(result, 0, 20, 38, {last_chunk(0, 4), last_chunk(1, 4)});
  check_step(result, 1, 38, 58, {decode(0), decode(1)});
  check_step(result, 2, 58, 80, {decode(0), decode(1)});
  check_step(result, 3, 80, 91, {last_chunk(2, 1)});
  check_times(result, 0, 20, 38, 80);
  check_times(result, 1, 20, 38, 38);
  CHECK(result.totals.ghost_rows == 2);
  CHECK(result.totals.padding_tokens == 2);
  CHECK(result.totals.prefill_tokens == 9);
  CHECK(result.totals.peak_used_tokens == 14);
}

TEST_CASE("oracle: with responds_at_end the whole batch answers at its end") {
  Scenario s = static_example();
  s.responds_at_end = true;
  const Result result = run_naive(s);
  check_times(result, 0, 20, 80, 80);
  check_times(result, 1, 20, 80, 80);
  // One chunk of tokens per request: nothing lies between them.
  CHECK(result.totals.gaps == 0);
}

// With two seats the batch is full at 5. With 13 tokens two rows of 7 do not fit: r1 alone, rows
// of 2 + 3, when it has waited 20; [20, 32), [32, 45), [45, 59); then r2 (and r3).
TEST_CASE("oracle: a static batch starts when it is full and takes what fits") {
  Scenario s = static_example();
  s.max_num_seqs = 2;
  CHECK(run_naive(s).requests[0].first_scheduled_ns == 5);
  s = static_example();
  s.kv_tokens = 13;
  const Result result = run_naive(s);
  check_step(result, 0, 20, 32, {last_chunk(0, 2)});
  check_times(result, 0, 20, 32, 59);
  CHECK(result.requests[1].first_scheduled_ns == 59);
  CHECK(result.requests[2].first_scheduled_ns == 59);
}

}  // namespace
}  // namespace headroom::oracle::naive_pipeline_test
