// The production schedulers on the worked vectors of ENGINES.md 12.1 and on what sets them apart.

#include <catch2/catch.hpp>

#include "tests/support/production.hpp"

namespace headroom::engine_vectors_test {
namespace {

constexpr TimeNs kUs = 1'000;

// Steps of 10 us + 1 us per prompt token + 1 us per decoding row.
oracle::Scenario roomy() {
  oracle::Scenario s;
  s.max_model_len = 8192;
  s.block_size = 16;
  s.kv_blocks = 4000;
  s.max_num_seqs = 64;
  s.max_num_batched_tokens = 2048;
  s.cost = {.step = 10 * kUs * kTicksPerNs,
            .decode_row = kUs * kTicksPerNs,
            .chunk_token = kUs * kTicksPerNs};
  return s;
}

TEST_CASE("vector 11: decodes take their tokens first, prompts share what is left of the budget") {
  // 48 requests decode when A (3000) and B (500) arrive; B = 2048. Their prompts of 1 token take
  // one step of 10 + 48 = 58 us. Step 2 (from 58 us): 48 decodes + 2000 of A: 10 + 48 + 2000 = 2058
  // us. Step 3: 48 decodes + 1000 of A + 500 of B: 1558 us; both first tokens at 58 + 2058 + 1558
  // us.
  oracle::Scenario s = roomy();
  for (int i = 0; i < 48; ++i) s.arrivals.push_back({0, 1, 100, 200, 0});
  s.arrivals.push_back({1, 3000, 5, 10, 0});
  s.arrivals.push_back({1, 500, 5, 10, 0});
  const oracle::Result result = test::run_production(s);
  CHECK(result.requests[48].first_scheduled_ns == 58 * kUs);
  CHECK(result.requests[48].first_token_ns == (58 + 2058 + 1558) * kUs);
  CHECK(result.requests[49].first_scheduled_ns == (58 + 2058) * kUs);
  CHECK(result.requests[49].first_token_ns == (58 + 2058 + 1558) * kUs);
}

TEST_CASE("vector 12: when the first needs a block the last is preempted, and nobody is admitted") {
  // 3 prompts of 16 tokens fill 3 blocks of 16. In step 2 the first needs a fourth block: the third
  // is preempted and its block goes to the first; the second then preempts itself, being the last.
  oracle::Scenario s = roomy();
  s.kv_blocks = 3;
  for (int i = 0; i < 3; ++i) s.arrivals.push_back({0, 16, 4, 8, 0});
  const oracle::Result result = test::run_production(s);
  CHECK(result.requests[0].preemptions == 0);
  CHECK(result.requests[1].preemptions == 1);
  CHECK(result.requests[2].preemptions == 1);
  for (const oracle::RequestResult& r : result.requests) CHECK(r.outcome == Outcome::finished);
  CHECK(result.requests[0].finish_ns < result.requests[1].first_scheduled_ns + 400 * kUs);
}

TEST_CASE("the gate admits only whole prompts, and without it a first chunk is enough") {
  // Block 16, 10 blocks. The first request holds 6 blocks; a prompt of 80 tokens needs 5 of the 4
  // left, but its first chunk of 32 tokens (budget) only 2.
  oracle::Scenario s = roomy();
  s.kv_blocks = 10;
  s.max_num_seqs = 8;
  s.max_num_batched_tokens = 33;
  s.arrivals = {{0, 90, 6, 6, 0}, {0, 80, 2, 2, 0}};
  const TimeNs gated = test::run_production(s).requests[1].first_scheduled_ns;
  s.reserve_full_isl = false;
  const TimeNs open = test::run_production(s).requests[1].first_scheduled_ns;
  CHECK(open < gated);
}

TEST_CASE("orca sets aside prompt and max_tokens, vllm only what is written") {
  // 100 tokens: two requests of 20 + 60 do not fit together by reservation, but they do as written.
  oracle::Scenario s = roomy();
  s.block_size = 1;
  s.kv_blocks = 100;
  s.kv_tokens = 100;
  s.arrivals = {{0, 20, 10, 60, 0}, {0, 20, 10, 60, 0}};
  CHECK(test::run_production(s).requests[1].first_scheduled_ns == 0);
  s.policy = oracle::Policy::orca;
  s.memory = oracle::Memory::contiguous;
  const oracle::Result orca = test::run_production(s);
  CHECK(orca.requests[1].first_scheduled_ns == orca.requests[0].finish_ns);
}

TEST_CASE("a static batch starts full, or when its oldest request has waited long enough") {
  oracle::Scenario s = roomy();
  s.policy = oracle::Policy::static_batch;
  s.memory = oracle::Memory::contiguous;
  s.kv_tokens = 10'000;
  s.max_num_seqs = 2;
  s.batch_wait_ns = 500 * kUs;
  s.arrivals = {{0, 5, 3, 3, 0}, {100 * kUs, 5, 3, 3, 0}, {100 * kUs, 5, 3, 3, 0}};
  const oracle::Result result = test::run_production(s);
  CHECK(result.requests[0].first_scheduled_ns == 100 * kUs);  // the second made it full
  CHECK(result.requests[2].first_scheduled_ns == 600 * kUs);  // waited 500 us for a partner
}

}  // namespace
}  // namespace headroom::engine_vectors_test
