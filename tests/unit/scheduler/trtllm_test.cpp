// TensorRT-LLM's batch scheduling (ENGINES.md 3.3) on the production replica.

#include "scheduler/batching/trtllm.hpp"

#include <catch2/catch.hpp>

#include <memory>
#include <random>
#include <span>
#include <vector>

#include "scheduler/kv/paged.hpp"
#include "sim/kernel/random.hpp"
#include "tests/support/policy_run.hpp"

namespace headroom::trtllm_test {
namespace {

using Order = std::vector<std::uint64_t>;

struct Engine {
  std::string capacity = "GUARANTEED_NO_EVICT";
  bool chunked = false;
  bool equal_progress = false;
  std::int32_t max_batch_size = 16;
  std::int32_t max_num_tokens = 8192;
  BlockCount blocks = 1000;
  std::int32_t tokens_per_block = 32;
  bool reuse = false;
  bool partial = false;
  std::int32_t depth = 1;
  std::int64_t wait_iters = 0;
  double wait_ratio = 0;
};

test::PolicySetup make(const Engine& engine) {
  SchedulerOptions options;
  options.max_num_seqs = engine.max_batch_size;
  options.max_num_batched_tokens = engine.max_num_tokens;
  options.enable_chunked_prefill = engine.chunked;
  auto& own = options.own.edit<TrtllmScheduling>();
  own.capacity_scheduler_policy = engine.capacity;
  own.batch_wait_timeout_iters = engine.wait_iters;
  own.batch_wait_max_tokens_ratio = engine.wait_ratio;
  if (engine.equal_progress) own.context_chunking_policy = "EQUAL_PROGRESS";
  options.finds_prefixes = engine.reuse;
  options.pipeline_depth = engine.depth;
  test::PolicySetup setup;
  setup.scheduler = std::make_unique<TrtllmScheduler>(options);
  setup.kv = std::make_unique<PagedKv>(PagedKvOptions{.blocks = engine.blocks,
                                                      .block_tokens = engine.tokens_per_block,
                                                      .enable_prefix_caching = engine.reuse,
                                                      .partial_reuse = engine.partial});
  setup.options.max_sequences = engine.max_batch_size;
  setup.options.max_step_tokens = engine.max_num_tokens;
  setup.options.pipeline_depth = engine.depth;
  return setup;
}

test::PolicyRun run(const Engine& engine, std::vector<Arrival> arrivals) {
  return test::run_policy(make(engine), std::move(arrivals));
}

Arrival request(std::int32_t prompt, std::int32_t output, std::int32_t max_tokens) {
  return {.prompt_tokens = prompt, .output_tokens = output, .max_tokens = max_tokens};
}

// --- stage A ------------------------------------------------------------------------------------

TEST_CASE("vector 14: a started request owns its blocks to completion") {
  // ceil((512 + 2048) / 32) = 80 blocks of 100. The prompt itself takes 16. The second request
  // waits until the first has gone; with 160 blocks it does not, with 159 it does.
  const std::vector<Arrival> two(2, request(512, 40, 2048));
  for (const BlockCount blocks : {100, 159, 160}) {
    const test::PolicyRun result = run({.blocks = blocks}, two);
    CHECK(result.steps[0].chunk_rows == (blocks == 160 ? 2 : 1));
    CHECK(result.steps[0].used_blocks == (blocks == 160 ? 32 : 16));
    CHECK(result.requests[1].first_scheduled_ns ==
          (blocks == 160 ? 0 : result.requests[0].finish_ns));
  }
}

TEST_CASE("vector 14: MAX_UTILIZATION admits the second request at once") {
  const std::vector<Arrival> two(2, request(512, 40, 2048));
  const test::PolicyRun result = run({.capacity = "MAX_UTILIZATION", .blocks = 100}, two);
  CHECK(result.steps[0].chunk_rows == 2);
  CHECK(result.steps[0].used_blocks == 32);
}

TEST_CASE("prompts wait for batch_wait_timeout_iters plans while others decode") {
  // The first prompt ends at 20 us, then steps take 11 us. The second request comes at 25 us: it
  // starts in the next plan, or three plans later.
  std::vector<Arrival> arrivals = {request(10, 30, 30), request(5, 2, 2)};
  arrivals[1].time_ns = 25'000;
  CHECK(run({}, arrivals).requests[1].first_scheduled_ns == 31'000);
  const Engine waits{.wait_iters = 3, .wait_ratio = 0.9};
  CHECK(run(waits, arrivals).requests[1].first_scheduled_ns == 64'000);
  // A step that is full enough does not wait: 6 tokens of 8192 are more than 0.0005 of them.
  CHECK(run({.wait_iters = 3, .wait_ratio = 0.0005}, arrivals).requests[1].first_scheduled_ns ==
        31'000);
  // Nothing decodes: the plans that wait take no time.
  CHECK(run(waits, {request(10, 1, 1)}).requests[0].first_scheduled_ns == 0);
}

TEST_CASE("jumps, single steps and random cuts agree where prompts wait for others") {
  RandomStream stream(11, "test/waits");
  for (int setting = 0; setting < 24; ++setting) {
    Engine engine{.capacity = setting % 3 == 0 ? "MAX_UTILIZATION" : "GUARANTEED_NO_EVICT",
                  .chunked = setting % 2 == 0,
                  .max_num_tokens = 64,
                  .blocks = setting % 4 == 0 ? 12 : 60,
                  .tokens_per_block = 4,
                  .reuse = setting % 5 < 2,
                  .depth = setting / 2 % 2 + 1,
                  .wait_iters = 1 + setting % 7,
                  .wait_ratio = setting % 6 == 0 ? 0.3 : 0.9};
    std::vector<std::vector<PrefixSegment>> prefixes;
    std::vector<Arrival> arrivals;
    prefixes.reserve(40);
    TimeNs now = 0;
    for (int i = 0; i < 40; ++i) {
      now += stream.uniform_int(0, 90'000);
      const auto prompt = static_cast<std::int32_t>(stream.uniform_int(2, 24));
      const auto output = static_cast<std::int32_t>(stream.uniform_int(1, 20));
      prefixes.push_back({{static_cast<std::uint64_t>(stream.uniform_int(1, 3)), prompt / 2}});
      arrivals.push_back({.time_ns = now,
                          .prompt_tokens = prompt,
                          .output_tokens = output,
                          .max_tokens = output,
                          .prefix = prefixes.back()});
    }
    CAPTURE(setting);
    test::check_cut_invariance([&] { return make(engine); }, arrivals);
    CHECK(test::run_policy(make(engine), arrivals).reason == StopReason::drained);
  }
}

TEST_CASE("what a started request owns shrinks neither with its progress nor with its prompt") {
  // Block 4, 10 blocks. The first owns ceil((8 + 16) / 4) = 6 of them to its end although it holds
  // 2 to 4; the second needs ceil((8 + 12) / 4) = 5 > 4, the third 2, but the head blocks the line.
  const test::PolicyRun result = run({.blocks = 10, .tokens_per_block = 4},
                                     {request(8, 8, 16), request(8, 3, 12), request(4, 2, 4)});
  CHECK(result.requests[1].first_scheduled_ns == result.requests[0].finish_ns);
  CHECK(result.requests[2].first_scheduled_ns == result.requests[0].finish_ns);
}

TEST_CASE("MAX_UTILIZATION pauses the last started one and computes it again in its turn") {
  // Block 4, 6 blocks, three prompts of 2 blocks fill the pool and yield token 1. Step 2: each
  // needs a block: the third is paused, its 2 blocks serve the others. They fill up 3 blocks each
  // in steps 2-5. Step 6: 2 more are needed, none is free: the second is paused with 5 tokens out;
  // the first takes one and ends with its 6th token. Step 7: 8 + 5 tokens of the second (4 blocks);
  // the third needs ceil(9 / 4) = 3 > 2. Step 8: the third, 8 + 1 tokens.
  const test::PolicyRun result = run(
      {.capacity = "MAX_UTILIZATION", .blocks = 6, .tokens_per_block = 4}, {3, request(8, 6, 6)});
  CHECK(result.order_of(EngineEventKind::preempted) == Order{2, 1});
  CHECK(result.order_of(EngineEventKind::admitted) == Order{0, 1, 2, 1, 2});
  REQUIRE(result.steps.size() == 12);
  CHECK(result.steps[1].decode_rows == 2);
  CHECK(result.steps[1].used_blocks == 6);
  CHECK(result.steps[5].decode_rows == 1);
  CHECK(result.steps[5].used_blocks == 4);
  CHECK(result.steps[6].chunk_tokens == 13);
  CHECK(result.steps[7].chunk_tokens == 9);
  for (const RequestRecord& record : result.requests) CHECK(record.output_tokens == 6);
}

TEST_CASE("the same requests run one after the other when nobody may be evicted") {
  // ceil((8 + 6) / 4) = 4 of 6 blocks each. 6 steps each: the prompt and 5 decodes.
  const test::PolicyRun result = run({.blocks = 6, .tokens_per_block = 4}, {3, request(8, 6, 6)});
  CHECK(result.order_of(EngineEventKind::preempted).empty());
  CHECK(result.steps.size() == 18);
}

TEST_CASE("two paused in one step come back in the order of their arrival") {
  // Block 4, 8 blocks, four prompts of 2 blocks. Step 2: 4 blocks are needed; pausing the fourth
  // leaves a need of 3 with 2 free, pausing the third, too, a need of 2 with 4 free.
  const test::PolicyRun result = run(
      {.capacity = "MAX_UTILIZATION", .blocks = 8, .tokens_per_block = 4}, {4, request(8, 4, 4)});
  CHECK(result.order_of(EngineEventKind::preempted) == Order{3, 2});
  CHECK(result.order_of(EngineEventKind::admitted) == Order{0, 1, 2, 3, 2, 3});
}

TEST_CASE("MAX_UTILIZATION lets nobody else have the blocks of a prompt that has begun") {
  // Block 4, 7 blocks, 12 tokens a step in turns of 4. Step 1: the first prompt takes 1 block, the
  // second has 8 of its 16 tokens computed, but owns 4 blocks. The third needs 3 of the 2 left.
  const test::PolicyRun result = run({.capacity = "MAX_UTILIZATION",
                                      .chunked = true,
                                      .equal_progress = true,
                                      .max_num_tokens = 12,
                                      .blocks = 7,
                                      .tokens_per_block = 4},
                                     {request(4, 2, 2), request(16, 2, 2), request(12, 2, 2)});
  CHECK(result.steps[0].chunk_tokens == 12);
  CHECK(result.steps[0].chunk_rows == 2);
  CHECK(result.steps[0].used_blocks == 3);
}

TEST_CASE("MAX_UTILIZATION pauses a prompt rather than give one of its blocks to a decode") {
  // Block 4, 7 blocks, 5 tokens a step. Step 1: the first prompt (4). Step 2: it decodes in a
  // second block, and the second prompt (20 tokens, 5 blocks) starts with a chunk of 4. Step 6: 16
  // of its tokens are computed, 1 block is free, but its own, and the first needs a third one.
  const test::PolicyRun result = run({.capacity = "MAX_UTILIZATION",
                                      .chunked = true,
                                      .max_num_tokens = 5,
                                      .blocks = 7,
                                      .tokens_per_block = 4},
                                     {request(4, 8, 8), request(20, 2, 2)});
  CHECK(result.order_of(EngineEventKind::preempted) == Order{1});
  CHECK(result.steps[4].used_blocks == 6);
  CHECK(result.steps[5].chunk_rows == 0);
  CHECK(result.steps[5].used_blocks == 3);
  CHECK(result.requests[1].outcome == Outcome::finished);
}

TEST_CASE("a static batch lets nobody in until it is empty") {
  // Two seats. The first two start together; the third starts when the longer of them has ended,
  // in flight batching would let it in at the end of the shorter.
  const std::vector<Arrival> arrivals = {request(8, 2, 4), request(8, 5, 8), request(8, 2, 4)};
  const test::PolicyRun in_flight = run({.max_batch_size = 2}, arrivals);
  CHECK(in_flight.requests[2].first_scheduled_ns == in_flight.requests[0].finish_ns);
  const test::PolicyRun batch = run({.capacity = "STATIC_BATCH", .max_batch_size = 2}, arrivals);
  CHECK(batch.requests[1].first_scheduled_ns == 0);
  CHECK(batch.requests[0].finish_ns < batch.requests[1].finish_ns);
  CHECK(batch.requests[2].first_scheduled_ns == batch.requests[1].finish_ns);
}

// --- stage B ------------------------------------------------------------------------------------

TEST_CASE("without chunking whole prompts run until one does not fit max_num_tokens") {
  // Step 1: 60; 50 does not fit the 40 left, and 30 stands behind it. Step 2: 1 decode + 50 + 30.
  const test::PolicyRun result =
      run({.max_num_tokens = 100}, {request(60, 4, 4), request(50, 4, 4), request(30, 4, 4)});
  CHECK(result.steps[0].chunk_tokens == 60);
  CHECK(result.steps[1].decode_rows == 1);
  CHECK(result.steps[1].chunk_rows == 2);
  CHECK(result.steps[1].chunk_tokens == 80);
}

TEST_CASE("without chunking a prompt longer than max_num_tokens is rejected") {
  const std::vector<Arrival> arrivals = {request(100, 2, 2), request(101, 2, 2), request(10, 2, 2)};
  const test::PolicyRun whole = run({.max_num_tokens = 100}, arrivals);
  CHECK(whole.requests[0].outcome == Outcome::finished);
  CHECK(whole.requests[1].outcome == Outcome::rejected);
  CHECK(whole.requests[2].outcome == Outcome::finished);
  const test::PolicyRun cut = run({.chunked = true, .max_num_tokens = 100}, arrivals);
  CHECK(cut.requests[1].outcome == Outcome::finished);
}

TEST_CASE(
    "chunks are multiples of a block but for the last one, and the first prompt comes first") {
  // Blocks of 32, 100 tokens a step. Step 1: 96 of 150; the 4 left are less than a unit. Step 2:
  // the last 54, then 32 of the 46 left. Step 3: 1 decode and the last 48 of 80.
  const test::PolicyRun result =
      run({.chunked = true, .max_num_tokens = 100}, {request(150, 4, 4), request(80, 4, 4)});
  CHECK(result.steps[0].chunk_tokens == 96);
  CHECK(result.steps[0].chunk_rows == 1);
  CHECK(result.steps[1].chunk_tokens == 54 + 32);
  CHECK(result.steps[1].chunk_rows == 2);
  CHECK(result.steps[2].chunk_tokens == 48);
  CHECK(result.steps[2].decode_rows == 1);
}

TEST_CASE("equal progress deals one block of tokens each in rounds") {
  // Blocks of 32, 100 tokens a step, prompts of 40, 150 and 33. Step 1: 32 each, 4 left: neither 8
  // nor 32 fits, the last 1 of the third does: 97. Step 2: 1 decode, 99 left: 8 + 32, then 32 more:
  // 72. Step 3: 2 decodes and the last 54 of the second.
  const test::PolicyRun result =
      run({.chunked = true, .equal_progress = true, .max_num_tokens = 100},
          {request(40, 4, 4), request(150, 4, 4), request(33, 4, 4)});
  CHECK(result.steps[0].chunk_tokens == 97);
  CHECK(result.steps[0].chunk_rows == 3);
  CHECK(result.steps[1].chunk_tokens == 72);
  CHECK(result.steps[1].chunk_rows == 2);
  CHECK(result.steps[2].chunk_tokens == 54);
  CHECK(result.steps[2].decode_rows == 2);
}

TEST_CASE("equal progress over long prompts ends in the same round as dealing one by one") {
  // 8192 tokens a step. Ten rounds: 32 each, the short prompt ends with 12: 320 + 320 + 300. 7252
  // left: 113 rounds of 64, 20 left: 3936 + 3936 + 300 = 8172. Step 2: 1064 + 64.
  const test::PolicyRun result =
      run({.chunked = true, .equal_progress = true},
          {request(5000, 2, 2), request(4000, 2, 2), request(300, 3, 3)});
  CHECK(result.steps[0].chunk_tokens == 8172);
  CHECK(result.steps[0].chunk_rows == 3);
  CHECK(result.steps[1].chunk_tokens == 1128);
}

// --- reuse --------------------------------------------------------------------------------------

TEST_CASE("a request waits for the prefix that another one is computing") {
  // Both prompts begin with the same 64 tokens: 2 blocks. The second starts one step later and
  // finds them; the third shares nothing and does not wait. Without reuse all start at once.
  const std::vector<PrefixSegment> one = {{7, 64}, {8, 20}};
  const std::vector<PrefixSegment> two = {{7, 64}, {9, 20}};
  std::vector<Arrival> arrivals = {request(84, 3, 3), request(84, 3, 3), request(40, 3, 3)};
  arrivals[0].prefix = one;
  arrivals[1].prefix = two;
  const test::PolicyRun plain = run({}, arrivals);
  CHECK(plain.steps[0].chunk_tokens == 84 + 84 + 40);
  const test::PolicyRun reuse = run({.reuse = true}, arrivals);
  CHECK(reuse.order_of(EngineEventKind::admitted) == Order{0, 2, 1});
  CHECK(reuse.steps[0].chunk_tokens == 84 + 40);
  CHECK(reuse.steps[1].chunk_tokens == 20);
  CHECK(reuse.steps[1].decode_rows == 2);
  // With a step in flight the first has been computed, and is not stored: nobody waits any more.
  const test::PolicyRun overlap = run({.reuse = true, .depth = 2}, arrivals);
  CHECK(overlap.steps[0].chunk_tokens == 84 + 40);
  CHECK(overlap.steps[1].chunk_tokens == 84);
}

TEST_CASE("a request waits only for whole blocks that it would find") {
  // 31 tokens in common are no block of 32. Of a prompt of 64 equal to another one a block of 32
  // can be found, as at least one token is computed; of one of 32 tokens none.
  const std::vector<PrefixSegment> short_text = {{7, 31}};
  const std::vector<PrefixSegment> text = {{8, 64}};
  const auto second_waits = [](std::int32_t prompt, std::span<const PrefixSegment> prefix) {
    std::vector<Arrival> arrivals(2, request(prompt, 3, 3));
    for (Arrival& arrival : arrivals) arrival.prefix = prefix;
    return run({.reuse = true}, arrivals).steps[0].chunk_rows == 1;
  };
  CHECK_FALSE(second_waits(64, short_text));
  CHECK(second_waits(64, text));
  CHECK_FALSE(second_waits(32, std::vector<PrefixSegment>{{8, 32}}));
}

TEST_CASE("blocks that others hold cost a newcomer nothing, free cached ones do") {
  // Block 32, 8 blocks; 64 shared tokens + 32 own + 32 output = 4 blocks each. The second shares 2
  // of the first: 6 in all, the third likewise: 8. The fourth would need 2 more.
  const std::vector<PrefixSegment> shared = {{7, 64}};
  std::vector<Arrival> arrivals(4, request(96, 20, 32));
  for (Arrival& arrival : arrivals) arrival.prefix = shared;
  const test::PolicyRun result = run({.blocks = 8, .reuse = true}, arrivals);
  CHECK(result.steps[1].chunk_rows == 2);
  CHECK(result.steps[1].chunk_tokens == 32 + 32);
  CHECK(result.requests[3].first_scheduled_ns == result.requests[0].finish_ns);
  CHECK(result.order_of(EngineEventKind::preempted).empty());
}

// The first prompt is 40 tokens that both have: the second finds a block of 32 and 8 tokens of the
// next. With 40 tokens a step its first chunk ends with that block, at 64, the second after 36
// more.
TEST_CASE("the first chunk behind a part of a block ends with the block") {
  const std::vector<PrefixSegment> system = {{7, 40}};
  std::vector<Arrival> arrivals = {request(40, 1, 1), request(100, 1, 1)};
  for (Arrival& arrival : arrivals) arrival.prefix = system;
  arrivals[1].time_ns = 1'000'000;
  Engine engine{.chunked = true, .max_num_tokens = 40, .reuse = true};
  const test::PolicyRun whole = run(engine, arrivals);
  CHECK(whole.steps[1].chunk_tokens == 32);
  CHECK(whole.steps[2].chunk_tokens == 36);
  engine.partial = true;
  const test::PolicyRun parts = run(engine, arrivals);
  CHECK(parts.steps[1].chunk_tokens == 24);
  CHECK(parts.steps[2].chunk_tokens == 36);
}

// --- random traffic -----------------------------------------------------------------------------

// Bursts of requests, some of which share the beginning of their prompts. `patience` in us: some
// clients wait no longer; 0 = all do.
std::vector<Arrival> random_traffic(std::uint32_t seed, std::uint32_t patience = 0) {
  static const std::vector<PrefixSegment> kPrefixes = {{1, 9}, {2, 17}, {3, 30}};
  std::mt19937 random(seed);
  const auto below = [&random](std::uint32_t n) { return static_cast<std::int32_t>(random() % n); };
  std::vector<Arrival> arrivals;
  TimeNs now = 0;
  for (int i = 0; i < 60; ++i) {
    if (below(3) == 0) now += 1'000 * below(400);
    const std::int32_t output = 1 + below(30);
    const std::int32_t spare = below(3) == 0 ? 0 : below(12);
    Arrival arrival = request(1 + below(50), output, output + spare);
    arrival.time_ns = now;
    const auto prefix = static_cast<std::size_t>(below(6));
    if (prefix < kPrefixes.size() && kPrefixes[prefix].tokens <= arrival.prompt_tokens) {
      arrival.prefix = std::span(kPrefixes).subspan(prefix, 1);
    }
    if (patience > 0 && below(3) == 0) arrival.deadline_ns = now + 1'000 * (1 + below(patience));
    arrivals.push_back(arrival);
  }
  return arrivals;
}

// A pool of 24 blocks of 4: one request of at most 50 + 30 + 11 tokens fits, three do not.
std::vector<Engine> tight_engines() {
  std::vector<Engine> engines;
  for (const std::string capacity : {"GUARANTEED_NO_EVICT", "MAX_UTILIZATION", "STATIC_BATCH"}) {
    for (const int chunks : {0, 1, 2}) {
      for (const int reuse : {0, 1, 2}) {
        for (const int depth : {1, 2}) {
          engines.push_back({.capacity = capacity,
                             .chunked = chunks > 0,
                             .equal_progress = chunks == 2,
                             .max_batch_size = 6,
                             .max_num_tokens = chunks > 0 ? 23 : 64,
                             .blocks = 24,
                             .tokens_per_block = 4,
                             .reuse = reuse > 0,
                             .partial = reuse == 2,
                             .depth = depth});
        }
      }
    }
  }
  return engines;
}

TEST_CASE("on random traffic all requests end, and only MAX_UTILIZATION pauses any") {
  std::size_t paused = 0;
  for (const Engine& engine : tight_engines()) {
    const bool pauses = engine.capacity == "MAX_UTILIZATION";
    for (std::uint32_t seed = 0; seed < 5; ++seed) {
      CAPTURE(engine.capacity, engine.chunked, engine.reuse, engine.depth, seed);
      const test::PolicyRun result = run(engine, random_traffic(seed));
      CHECK(result.reason == StopReason::drained);
      for (const RequestRecord& record : result.requests) {
        CHECK(record.outcome == Outcome::finished);
      }
      const std::size_t preempted = result.order_of(EngineEventKind::preempted).size();
      if (!pauses) CHECK(preempted == 0);
      paused += preempted;
    }
  }
  CHECK(paused > 100);
}

TEST_CASE("runs of steps may be cut anywhere") {
  for (const Engine& engine : tight_engines()) {
    for (std::uint32_t seed = 0; seed < 3; ++seed) {
      CAPTURE(engine.capacity, engine.chunked, engine.reuse, engine.depth, seed);
      test::check_cut_invariance([&engine] { return make(engine); }, random_traffic(seed));
    }
  }
}

TEST_CASE("runs of steps may be cut anywhere while clients give up") {
  for (const Engine& engine : tight_engines()) {
    CAPTURE(engine.capacity, engine.chunked, engine.reuse, engine.depth);
    const std::vector<Arrival> arrivals = random_traffic(7, 2000);
    const test::PolicyRun result = run(engine, arrivals);
    CHECK(result.reason == StopReason::drained);
    CHECK(!result.order_of(EngineEventKind::cancelled).empty());
    test::check_cut_invariance([&engine] { return make(engine); }, arrivals);
  }
}

}  // namespace
}  // namespace headroom::trtllm_test
