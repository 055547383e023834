// SGLang's scheduler beside ENGINES.md 3.4. Steps cost 10 us + 1 us per prompt token + 1 us per
// decoding row; pages of one token.

#include "scheduler/batching/sglang.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "scheduler/kv/paged.hpp"
#include "tests/support/policy_run.hpp"
#include "tests/unit/scheduler/sglang_pool.hpp"

namespace headroom::sglang_test {
namespace {

constexpr TimeNs kUs = 1'000;

struct Engine {
  SglangScheduling sglang;
  std::uint64_t seed = 0;
  BlockCount tokens = 1000;
  std::int32_t seqs = 16;
  std::int32_t depth = 1;
  std::int32_t page = 1;
  bool caching = false;

  [[nodiscard]] test::PolicySetup parts() const {
    SchedulerOptions options;
    options.max_num_seqs = seqs;
    options.own.edit<SglangScheduling>() = sglang;
    options.seed = seed;
    options.finds_prefixes = caching;
    options.pipeline_depth = depth;
    PagedKvOptions pool;
    pool.blocks = tokens / page;
    pool.block_tokens = page;
    pool.enable_prefix_caching = caching;
    test::PolicySetup setup;
    setup.scheduler = std::make_unique<SglangScheduler>(options);
    setup.kv = test::sglang_pool(pool);
    setup.options.pipeline_depth = depth;
    setup.options.knows_last_steps = false;
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

std::vector<TokenCount> chunks_of(const test::PolicyRun& run) {
  std::vector<TokenCount> chunks;
  for (const test::PolicyStep& step : run.steps) {
    if (step.chunk_rows > 0) chunks.push_back(step.chunk_tokens);
  }
  return chunks;
}

TEST_CASE("sglang: a prefill batch runs alone and the decodes stand by") {
  // A's prompt: 10 + 10 = 20 us. B's: 10 + 20 = 30 us without A. Then both decode: 12 us.
  const test::PolicyRun run = Engine{}.run({row(0, 10, 3, 5), row(1, 20, 2, 5)});
  REQUIRE(run.steps.size() == 4);
  CHECK(run.steps[1].decode_rows == 0);
  CHECK(run.steps[1].chunk_tokens == 20);
  CHECK(run.steps[1].end_ns == 50 * kUs);
  CHECK(run.steps[2].decode_rows == 2);
  CHECK(run.steps[2].end_ns == 62 * kUs);
}

TEST_CASE("sglang: with mixed chunks the decodes run beside the prompt and count as its tokens") {
  // Chunks of 8. Alone: 8 + 8 + 4. Beside one decode 7 tokens are left for the prompt: 7 + 7 + 6.
  Engine engine;
  engine.sglang.chunked_prefill_size = 8;
  const std::vector<Arrival> arrivals = {row(0, 5, 9, 9), row(1, 20, 1, 1)};
  CHECK(chunks_of(engine.run(arrivals)) == std::vector<TokenCount>{5, 8, 8, 4});
  engine.sglang.enable_mixed_chunk = true;
  const test::PolicyRun mixed = engine.run(arrivals);
  CHECK(chunks_of(mixed) == std::vector<TokenCount>{5, 7, 7, 6});
  CHECK(mixed.steps[1].decode_rows == 1);
  CHECK(mixed.steps[1].end_ns - mixed.steps[1].begin_ns == (10 + 7 + 1) * kUs);
}

TEST_CASE("sglang: decodes that use up the tokens of a mixed step keep prompts out") {
  // Chunks of 2, and two rows decode from 12 us on: the third is admitted when the first has gone,
  // and a step of 11 us has run without it, not when the second has.
  Engine engine;
  engine.sglang.chunked_prefill_size = 2;
  engine.sglang.enable_mixed_chunk = true;
  const test::PolicyRun run = engine.run({row(0, 1, 4, 9), row(0, 1, 8, 9), row(13, 1, 1, 1)});
  CHECK(run.requests[2].first_scheduled_ns == run.requests[0].finish_ns + 11 * kUs);
  CHECK(run.requests[1].finish_ns > run.requests[2].first_scheduled_ns);
}

TEST_CASE("sglang: between two looks at its socket lie scheduler_recv_interval decode steps") {
  // The first prompt ends at 20 us, where the engine looks; steps of 11 us follow. The second
  // request comes at 25 us and is read in the next plan, or in the fourth.
  Engine engine;
  const std::vector<Arrival> arrivals = {row(0, 10, 20, 20), row(25, 5, 2, 2)};
  CHECK(engine.run(arrivals).requests[1].first_scheduled_ns == 31 * kUs);
  engine.sglang.scheduler_recv_interval = 4;
  CHECK(engine.run(arrivals).requests[1].first_scheduled_ns == 64 * kUs);
  // An idle engine reads at once, and so does one behind a prefill batch.
  CHECK(engine.run({row(0, 10, 1, 1), row(500, 5, 2, 2)}).requests[1].first_scheduled_ns ==
        500 * kUs);
  CHECK(engine.run({row(0, 10, 20, 20), row(15, 5, 2, 2)}).requests[1].first_scheduled_ns ==
        20 * kUs);
}

TEST_CASE("sglang: requests of one plan do not find each other's prefix") {
  // 64 tokens in common and 20 of their own. The third one comes when the first two are known.
  const std::vector<PrefixSegment> text = {{7, 64}};
  std::vector<Arrival> arrivals = {row(0, 84, 9, 9), row(0, 84, 9, 9), row(190, 84, 9, 9)};
  for (Arrival& arrival : arrivals) arrival.prefix = text;
  Engine engine;
  engine.caching = true;
  const test::PolicyRun together = engine.run(arrivals);
  CHECK(chunks_of(together) == std::vector<TokenCount>{84 + 84, 20});
  // Two copies are held until one step has ended, then one and two decoded tokens.
  CHECK(together.steps[0].used_blocks == 84 + 84);
  CHECK(together.steps[1].used_blocks == 64 + 20 + 20 + 2);
  // One by one: known in the next plan, or with a step in flight in the one behind it.
  engine.sglang.max_prefill_tokens = 84;
  arrivals.pop_back();
  CHECK(chunks_of(engine.run(arrivals)) == std::vector<TokenCount>{84, 20});
  engine.depth = 2;
  CHECK(chunks_of(engine.run(arrivals)) == std::vector<TokenCount>{84, 84});
  engine.sglang.chunked_prefill_size = 60;  // pieces of a prompt that goes on: in the next plan
  CHECK(chunks_of(engine.run(arrivals)) == std::vector<TokenCount>{60, 24 + 24});
}

TEST_CASE("sglang: with a step in flight a row runs once more than its last token needs") {
  Engine engine;
  engine.seqs = 1;
  const std::vector<Arrival> arrivals = {row(0, 5, 3, 3), row(0, 5, 3, 3)};
  const test::PolicyRun one = engine.run(arrivals);
  CHECK(one.steps.size() == 6);
  CHECK(one.ghost_rows == 0);
  engine.depth = 2;
  const test::PolicyRun two = engine.run(arrivals);
  CHECK(two.steps.size() == 8);
  CHECK(two.ghost_rows == 2);
  CHECK(two.requests[1].first_scheduled_ns == two.requests[0].finish_ns + 11 * kUs);
}

TEST_CASE("sglang: a seat is free when the batch has been filtered") {
  // Two seats. The first goes at 32 us; the third is admitted behind the next decode step.
  Engine engine;
  engine.seqs = 2;
  const test::PolicyRun run = engine.run({row(0, 5, 2, 2), row(0, 5, 9, 9), row(0, 5, 9, 9)});
  CHECK(run.requests[0].finish_ns == (20 + 12) * kUs);
  CHECK(run.requests[2].first_scheduled_ns == (20 + 12 + 11) * kUs);
}

TEST_CASE("sglang: the prompt that is computed in part goes on first") {
  // Chunks of 8: A takes 8 and 8; its last 4 leave room for the 4 of B.
  Engine engine;
  engine.sglang.chunked_prefill_size = 8;
  const test::PolicyRun run = engine.run({row(0, 20, 2, 2), row(0, 4, 2, 2)});
  CHECK(chunks_of(run) == std::vector<TokenCount>{8, 8, 8});
  CHECK(run.steps[1].chunk_rows == 1);
  CHECK(run.steps[2].chunk_rows == 2);
}

TEST_CASE("sglang: max_prefill_tokens ends a batch, but a longer prompt runs alone") {
  Engine engine;
  engine.sglang.max_prefill_tokens = 15;
  engine.sglang.chunked_prefill_size = 0;
  const std::vector<Arrival> arrivals = {row(0, 10, 1, 1), row(0, 10, 1, 1), row(0, 20, 1, 1),
                                         row(0, 3, 1, 1)};
  CHECK(chunks_of(engine.run(arrivals)) == std::vector<TokenCount>{10, 10, 20, 3});
  // Prompts that can be cut are tested until it is used up.
  engine.sglang.chunked_prefill_size = 100;
  CHECK(chunks_of(engine.run(arrivals)) == std::vector<TokenCount>{20, 20, 3});
}

TEST_CASE("sglang: the new token ratio falls over 600 decode steps to 0.14 of its start") {
  NewTokenRatio ratio(1.0);
  CHECK(ratio.at(0) == Approx(0.7));
  CHECK(ratio.at(300) == Approx(0.399));  // halfway between 0.7 and 0.098
  CHECK(ratio.at(600) == Approx(0.098));
  CHECK(ratio.at(100'000) == Approx(0.098));
  ratio.skip_steps(1);  // one of them ran beside a chunk
  CHECK(ratio.at(301) == Approx(0.399));
  ratio.start_anew(1000);
  CHECK(ratio.at(1000) == Approx(0.7));
  CHECK(NewTokenRatio(2.0).at(0) == Approx(1.0));
  CHECK(NewTokenRatio(2.0).at(600) == Approx(0.14));
}

TEST_CASE("sglang: admission sets aside a share of the output to come, which falls with time") {
  // Pool 720. A: 10 + 700. B: 10 + 229 + a page, total 240. After k decodes of A 710 - k tokens are
  // free, and ratio(k) * (699 - k) of them are set aside: A has generated 1 + k.
  //   k = 1:   240 + 487 >= 709: the batch is full until A is done, at 20 + 699 * 11 = 7709 us.
  //   k = 200: 240 + floor(0.49933 * 499) = 240 + 249 < 510: admitted at 20 + 200 * 11 = 2220 us.
  //   k = 1, half the conservativeness: 240 + 243 < 709: admitted at 31 us.
  Engine engine;
  engine.tokens = 720;
  const Arrival a = row(0, 10, 700, 700);
  CHECK(engine.run({a, row(21, 10, 1, 229)}).requests[1].first_scheduled_ns == 7709 * kUs);
  CHECK(engine.run({a, row(2210, 10, 1, 229)}).requests[1].first_scheduled_ns == 2220 * kUs);
  engine.sglang.schedule_conservativeness = 0.5;
  CHECK(engine.run({a, row(21, 10, 1, 229)}).requests[1].first_scheduled_ns == 31 * kUs);
}

TEST_CASE("sglang: an engine that was idle starts with the first ratio again") {
  // As above, after a request of 400 decodes has gone: the second A arrives at 10 ms, and k = 1 is
  // refused as before.
  Engine engine;
  engine.tokens = 720;
  const test::PolicyRun run =
      engine.run({row(0, 10, 401, 401), row(10'000, 10, 700, 700), row(10'021, 10, 1, 229)});
  CHECK(run.requests[2].first_scheduled_ns == (10'000 + 7709) * kUs);
}

TEST_CASE("sglang: a batch once found full stays so until somebody leaves it") {
  // B (total 240, see above) finds it full and gives up at 100 us. C (total 3) would fit, but it
  // is not tried before A is done.
  Engine engine;
  engine.tokens = 720;
  const Arrival a = row(0, 10, 700, 700);
  const Arrival c = row(200, 1, 1, 1);
  CHECK(engine.run({a, c}).requests[1].first_scheduled_ns == 207 * kUs);  // 20 + 17 * 11
  Arrival b = row(21, 10, 1, 229);
  b.deadline_ns = 100 * kUs;
  const test::PolicyRun run = engine.run({a, b, c});
  CHECK(run.requests[1].outcome == Outcome::cancelled);
  CHECK(run.requests[2].first_scheduled_ns == 7709 * kUs);
}

// A: 10 + 50; B and C: 20 + 60 each, and both arrive during A's prompt, which ends at 20 us.
std::vector<Arrival> a_and_two_more() {
  return {row(0, 10, 50, 50), row(1, 20, 60, 60), row(1, 20, 60, 60)};
}

TEST_CASE("sglang: who is behind a used-up budget is not tested, and so finds nothing full") {
  // Pool 200. At 20 us A may want 49 more, and B is taken: 20 + 61 + floor(.7 * 49) = 115 < 190.
  // C at that instant: 81 + 34 + 61 = 176 >= 170, the batch is full until A has gone, 49 steps of
  // 12 us after 50 us, and a step of 11 us has run without it. In the next plan: 81 + floor(.7 *
  // (49 + 59)) = 81 + 75 < 170.
  Engine engine;
  engine.tokens = 200;
  CHECK(engine.run(a_and_two_more()).requests[2].first_scheduled_ns == (50 + 49 * 12 + 11) * kUs);
  engine.sglang.chunked_prefill_size = 20;
  CHECK(engine.run(a_and_two_more()).requests[2].first_scheduled_ns == 50 * kUs);
  engine.sglang.chunked_prefill_size = 30;
  engine.sglang.max_prefill_tokens = 20;
  CHECK(engine.run(a_and_two_more()).requests[2].first_scheduled_ns == 50 * kUs);
}

TEST_CASE("sglang: behind the last piece of a chunked prompt one request is tested all the same") {
  // Pool 220, chunks of 20: B's 40 tokens end at 80 us. C at 50 us: 81 + 34 + 61 = 176 >= 170,
  // though it could take no token, and A has gone at 80 + 49 * 12, and from the batch a step later.
  // At 80 us it would have had room: 81 + 75 < 170.
  Engine engine;
  engine.tokens = 220;
  engine.sglang.chunked_prefill_size = 20;
  std::vector<Arrival> arrivals = a_and_two_more();
  arrivals[1].prompt_tokens = 40;
  CHECK(engine.run(arrivals).requests[2].first_scheduled_ns == (80 + 49 * 12 + 11) * kUs);
}

TEST_CASE("sglang: a batch that nobody ran beside, or that all ran in, leaves no full flag") {
  // Pool 160, without A: C in the plan of B: 81 + 61 = 142 >= 140. In the next one, at 30 us:
  // 81 + floor(.7 * 59) = 122 < 140.
  Engine engine;
  engine.tokens = 160;
  std::vector<Arrival> two = {row(0, 20, 60, 60), row(0, 20, 60, 60)};
  CHECK(engine.run(two).requests[1].first_scheduled_ns == 30 * kUs);
  // Pool 200, A decodes beside B: C at 20 us: 176 >= 169. At 51 us, with two decodes beside it:
  // 81 + floor(.7 * (48 + 59)) = 81 + 74 < 167.
  engine.tokens = 200;
  engine.sglang.enable_mixed_chunk = true;
  CHECK(engine.run(a_and_two_more()).requests[2].first_scheduled_ns == 51 * kUs);
}

TEST_CASE("sglang: vector 13: the shortest output is retracted first, then the longest prompt") {
  std::vector<RetractionCandidate> running = {{1, 5, 100, 1}, {2, 5, 300, 2}, {3, 9, 50, 3}};
  order_by_retraction(running);
  CHECK(running[0].id == 2);
  CHECK(running[1].id == 1);
  CHECK(running[2].id == 3);
}

TEST_CASE("sglang: the ratio after a retraction") {
  CHECK(ratio_after_retraction(29, 2, 90) == Approx(69.0 / 91));  // (29 + 20 * 2) / (90 + 1)
  CHECK(ratio_after_retraction(100, 2, 90) == 1.0);
  NewTokenRatio ratio(1.0);
  ratio.set(0.01, 5);  // below the least value it holds for one plan only
  CHECK(ratio.at(5) == Approx(0.01));
  CHECK(ratio.at(6) == Approx(0.098));
}

TEST_CASE("sglang: retraction goes on until the rest has room, before 0.5 for 20 tokens each") {
  // Pool 200. With A, B, C, D in the batch (224 us) their KV is 103, 32, 11, 8 and their outputs 4,
  // 3, 2, 1: 46 free, 4 a step. After 11 steps of 14 us (378 us) 2 are free. D gives back 8 + 11:
  // 21 < 3 * 20. C gives back 11 + 11: 43 >= 2 * 20, so A and B stay. Without that rule D alone
  // goes.
  const std::vector<Arrival> arrivals = {row(0, 100, 50, 50), row(115, 30, 40, 40),
                                         row(165, 10, 40, 40), row(200, 8, 40, 40)};
  Engine engine;
  engine.tokens = 200;
  engine.sglang.schedule_conservativeness = 0.01;
  const test::PolicyRun now = engine.run(arrivals);
  CHECK(now.order_of(EngineEventKind::preempted)[0] == 3);
  CHECK(std::ranges::count_if(now.events, [](const EngineEvent& event) {
          return event.kind == EngineEventKind::preempted && event.time_ns == 378 * kUs;
        }) == 1);
  engine.sglang.retraction_headroom = 20;
  const test::PolicyRun run = engine.run(arrivals);
  REQUIRE(run.order_of(EngineEventKind::preempted).size() >= 2);
  std::vector<EngineEvent> gone;
  for (const EngineEvent& event : run.events) {
    if (event.kind == EngineEventKind::preempted) gone.push_back(event);
  }
  CHECK(gone[0].request == 3);
  CHECK(gone[0].time_ns == 378 * kUs);
  CHECK(gone[1].request == 2);
  CHECK(gone[1].time_ns == 378 * kUs);
  CHECK((gone.size() == 2 || gone[2].time_ns > 378 * kUs));
  for (const RequestRecord& r : run.requests) CHECK(r.outcome == Outcome::finished);
}

TEST_CASE("sglang: a retracted request recomputes its prompt and what it had generated") {
  // Pool 100. A has 11 tokens when B's 12 are computed; after 38 steps 1 is free. B has generated
  // 39, A 40: B goes, and comes back behind A with 12 + 39 tokens to compute.
  Engine engine;
  engine.tokens = 100;
  engine.sglang.schedule_conservativeness = 0.01;
  const test::PolicyRun run = engine.run({row(0, 10, 60, 60), row(21, 12, 60, 60)});
  CHECK(run.order_of(EngineEventKind::preempted) == std::vector<std::uint64_t>{1});
  CHECK(chunks_of(run) == std::vector<TokenCount>{10, 12, 51});
  CHECK(run.requests[1].preemptions == 1);
  CHECK(run.requests[1].output_tokens == 60);
  engine.caching = true;  // what it had generated is not found again, its prompt of 12 may be
  CHECK(chunks_of(engine.run({row(0, 10, 60, 60), row(21, 12, 60, 60)})).back() >= 39);
}

TEST_CASE("sglang: the last request that outgrows the pool is given up, and the next is served") {
  // Pool 50. A: 10 + 40 decodes fill it at 20 + 40 * 11 = 460 us with 41 tokens out. E, kept out
  // by what A was thought to need, is admitted in the same nanosecond.
  Engine engine;
  engine.tokens = 50;
  const test::PolicyRun run = engine.run({row(0, 10, 100, 100), row(300, 5, 2, 2)});
  CHECK(run.requests[0].outcome == Outcome::rejected);
  CHECK(run.requests[0].output_tokens == 41);
  CHECK(run.requests[0].finish_ns == 460 * kUs);
  CHECK(run.requests[1].first_scheduled_ns == 460 * kUs);
  CHECK(run.requests[1].outcome == Outcome::finished);
}

TEST_CASE("sglang: a prompt that leaves no room in the whole pool is rejected in its turn") {
  // prompt + output to come + 1 page < 50 must hold: 48 tokens are served, 49 are not.
  Engine engine;
  engine.tokens = 50;
  const test::PolicyRun run = engine.run({row(0, 49, 1, 1), row(0, 48, 1, 1)});
  CHECK(run.requests[0].outcome == Outcome::rejected);
  CHECK(run.requests[1].outcome == Outcome::finished);
}

TEST_CASE("sglang: lof takes the largest max_tokens first, fcfs the first, ties by arrival") {
  Engine engine;
  engine.seqs = 1;
  const std::vector<Arrival> arrivals = {row(0, 5, 5, 5), row(1, 5, 5, 10), row(1, 5, 5, 30),
                                         row(1, 5, 5, 20), row(1, 5, 5, 30)};
  using Order = std::vector<std::uint64_t>;
  CHECK(engine.run(arrivals).order_of(EngineEventKind::admitted) == Order{0, 1, 2, 3, 4});
  engine.sglang.schedule_policy = "lof";
  CHECK(engine.run(arrivals).order_of(EngineEventKind::admitted) == Order{0, 2, 4, 3, 1});
}

TEST_CASE("sglang: random takes them by the numbers of its stream") {
  Engine engine;
  engine.seqs = 1;
  engine.sglang.schedule_policy = "random";
  engine.seed = 7;
  std::vector<Arrival> arrivals = {row(0, 5, 50, 50)};
  RandomStream stream(7, "scheduler/order");
  (void)stream.bits();  // of the first, which is taken at once
  std::vector<std::pair<std::uint64_t, std::uint64_t>> expected;
  for (std::uint64_t i = 1; i <= 6; ++i) {
    arrivals.push_back(row(1, 5, 2, 2));
    expected.emplace_back(stream.bits(), i);
  }
  std::sort(expected.begin(), expected.end());
  const auto admitted = engine.run(arrivals).order_of(EngineEventKind::admitted);
  REQUIRE(admitted.size() == 7);
  for (std::size_t i = 0; i < 6; ++i) CHECK(admitted[i + 1] == expected[i].second);
}

}  // namespace
}  // namespace headroom::sglang_test
