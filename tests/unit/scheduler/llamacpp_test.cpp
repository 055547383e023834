// llama.cpp's server, rule by rule. A step costs 10 us, 1 us more for each prompt token and each
// decoding row.

#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <random>
#include <utility>

#include "scheduler/batching/llamacpp.hpp"
#include "scheduler/kv/slots.hpp"
#include "tests/support/policy_run.hpp"

namespace headroom::test::llamacpp_test {
namespace {

constexpr TimeNs kUs = 1000;

struct Server {
  std::int32_t n_parallel = 3;
  std::int32_t n_batch = 16;
  std::int32_t slot_tokens = 200;
  TokenCount shared_cells = 0;
  bool cache_prompt = true;
  std::int32_t depth = 1;
};

PolicySetup setup_of(const Server& server) {
  SchedulerOptions options;
  options.max_num_seqs = server.n_parallel;
  options.max_num_batched_tokens = server.n_batch;
  options.max_model_len = server.slot_tokens;
  auto kv = std::make_unique<SlotKv>(SlotKvOptions{.slots = server.n_parallel,
                                                   .slot_tokens = server.slot_tokens,
                                                   .shared_cells = server.shared_cells,
                                                   .cache_prompt = server.cache_prompt});
  PolicySetup setup;
  setup.scheduler = std::make_unique<LlamaCppScheduler>(options, *kv);
  setup.kv = std::move(kv);
  setup.options.pipeline_depth = server.depth;
  setup.options.max_sequences = server.n_parallel;
  setup.options.max_step_tokens = std::max(server.n_batch, server.n_parallel);
  setup.limits.max_model_len = server.slot_tokens;
  return setup;
}

Arrival arrival(TimeNs time_ns, std::int32_t prompt, std::int32_t output) {
  Arrival a;
  a.time_ns = time_ns;
  a.prompt_tokens = prompt;
  a.output_tokens = a.max_tokens = output;
  return a;
}

TEST_CASE("llama.cpp: shared cells are taken as tokens come, however many a request asks for") {
  // 60 cells for three slots of up to 50. Three requests of 10 + 5 fit together, although each
  // might go on to 50.
  const Server server{.n_parallel = 3, .n_batch = 64, .slot_tokens = 50, .shared_cells = 60};
  std::vector<Arrival> arrivals(3, arrival(0, 10, 5));
  for (Arrival& a : arrivals) a.max_tokens = 40;
  const PolicyRun run = run_policy(setup_of(server), arrivals);
  CHECK(run.steps[0].chunk_rows == 3);
  CHECK(run.steps[0].used_blocks == 30);
  CHECK(run.steps[1].used_blocks == 33);
  for (const RequestRecord& record : run.requests) CHECK(record.outcome == Outcome::finished);
}

TEST_CASE("llama.cpp: slots that outgrow the shared cells all fail, and the queue goes on") {
  // Three prompts of 15 take 55 us and 45 of 60 cells, then 5 steps of 13 us the rest: 6 tokens
  // each at 120 us. The fourth gets a slot at once: 25 us for its prompt, 11 us for its last token.
  const Server server{.n_parallel = 3, .n_batch = 64, .slot_tokens = 50, .shared_cells = 60};
  std::vector<Arrival> arrivals(4, arrival(0, 15, 10));
  arrivals[3].output_tokens = 2;
  const PolicyRun run = run_policy(setup_of(server), arrivals);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(run.requests[i].outcome == Outcome::lost_to_oom);
    CHECK(run.requests[i].output_tokens == 6);
    CHECK(run.requests[i].finish_ns == 120 * kUs);
  }
  CHECK(run.requests[3].first_scheduled_ns == 120 * kUs);
  CHECK(run.requests[3].outcome == Outcome::finished);
  CHECK(run.requests[3].finish_ns == (120 + 25 + 11) * kUs);
  CHECK(run.order_of(EngineEventKind::oom).size() == 1);
  CHECK(run.order_of(EngineEventKind::engine_lost).empty());
  const auto oom = std::ranges::find(run.events, EngineEventKind::oom, &EngineEvent::kind);
  CHECK(oom->oom == OomKind::kv_cells);
}

TEST_CASE("llama.cpp: a batch is cut where the shared cells end") {
  // 40 cells. A has 10 when B's prompt of 30 comes: one more for A, 29 for B.
  const Server server{.n_parallel = 2, .n_batch = 64, .slot_tokens = 40, .shared_cells = 40};
  SECTION("A ends with that step, and B goes on with its cells") {
    const PolicyRun run = run_policy(setup_of(server), {arrival(0, 10, 2), arrival(kUs, 30, 3)});
    CHECK(run.steps[1].chunk_tokens == 29);
    CHECK(run.steps[1].used_blocks == 40);
    CHECK(run.steps[2].chunk_tokens == 1);
    for (const RequestRecord& record : run.requests) CHECK(record.outcome == Outcome::finished);
  }
  SECTION("A needs another one: both fail") {
    const PolicyRun run = run_policy(setup_of(server), {arrival(0, 10, 3), arrival(kUs, 30, 3)});
    REQUIRE(run.steps.size() == 2);
    CHECK(run.requests[0].outcome == Outcome::lost_to_oom);
    CHECK(run.requests[0].output_tokens == 2);
    CHECK(run.requests[1].outcome == Outcome::lost_to_oom);
    CHECK(run.requests[1].output_tokens == 0);
  }
}

TEST_CASE("llama.cpp: what idle slots keep goes before a running request fails") {
  // A leaves 12 cells in slot 1, and B takes 35. If they do not fit together, A's prompt has to be
  // computed again when it comes back.
  const std::array<PrefixSegment, 1> piece{{{1, 10}}};
  std::vector<Arrival> arrivals{arrival(0, 10, 3), arrival(1000 * kUs, 30, 6),
                                arrival(2000 * kUs, 10, 1)};
  arrivals[0].prefix = arrivals[2].prefix = piece;
  const auto last_prompt = [&](TokenCount cells) {
    const Server server{.n_parallel = 2, .n_batch = 64, .slot_tokens = 40, .shared_cells = cells};
    const PolicyRun run = run_policy(setup_of(server), arrivals);
    for (const RequestRecord& record : run.requests) CHECK(record.outcome == Outcome::finished);
    return run.steps.back().chunk_tokens;
  };
  CHECK(last_prompt(47) == 1);
  CHECK(last_prompt(46) == 10);
}

TEST_CASE("llama.cpp: prompts fill the batch in the order of the slots, behind the decodes") {
  // Slots never used are given from the last on: 2 to A, 1 to B, 0 to C. n_batch 16:
  // C 12 + B 4; C decodes, B 8 + A 7; B and C decode, A 5.
  const PolicyRun run = run_policy(setup_of({}), std::vector<Arrival>(3, arrival(0, 12, 3)));
  REQUIRE(run.steps.size() == 5);
  CHECK(run.order_of(EngineEventKind::admitted) == std::vector<std::uint64_t>{2, 1, 0});
  CHECK(run.steps[0].chunk_tokens == 16);
  CHECK(run.steps[1].chunk_tokens == 15);
  CHECK(run.steps[1].decode_rows == 1);
  CHECK(run.steps[2].chunk_tokens == 5);
  CHECK(run.steps[2].decode_rows == 2);
  CHECK(run.requests[2].first_token_ns == 26 * kUs);
  CHECK(run.requests[1].first_token_ns == (26 + 26) * kUs);
  CHECK(run.requests[0].first_token_ns == (26 + 26 + 17) * kUs);
}

TEST_CASE("llama.cpp: a request in a lower slot overtakes a prompt that is not complete") {
  // A (slot 1) is in its first chunk when B comes and gets slot 0: B's 4 tokens go first.
  const PolicyRun run =
      run_policy(setup_of({.n_parallel = 2}), {arrival(0, 40, 2), arrival(kUs, 4, 2)});
  CHECK(run.steps[1].chunk_rows == 2);
  CHECK(run.requests[1].first_token_ns == 52 * kUs);
  CHECK(run.requests[0].first_token_ns > run.requests[1].first_token_ns);
}

TEST_CASE("llama.cpp: requests without a slot are deferred, first come first served") {
  const PolicyRun run =
      run_policy(setup_of({.n_parallel = 1}),
                 {arrival(0, 10, 5), arrival(1, 10, 1), arrival(2, 10, 1), arrival(3, 10, 1)});
  CHECK(run.order_of(EngineEventKind::admitted) == std::vector<std::uint64_t>{0, 1, 2, 3});
  for (std::size_t i = 1; i < 4; ++i) {
    CHECK(run.requests[i].first_scheduled_ns == run.requests[i - 1].finish_ns);
  }
}

TEST_CASE("llama.cpp: a running request holds its whole slot, however short it is") {
  const PolicyRun run = run_policy(setup_of({}), {arrival(0, 3, 2), arrival(0, 3, 1)});
  CHECK(run.steps[0].used_blocks == 400);
  CHECK(run.steps[1].used_blocks == 200);
}

TEST_CASE("llama.cpp: the next turn finds its conversation in the slot that had it") {
  // Turn 1 leaves 15 + 4 tokens: its fifth answer token was never fed back. Turn 2 computes 27
  // - 19.
  const std::array<PrefixSegment, 2> first{{{1, 10}, {2, 5}}};
  const std::array<PrefixSegment, 4> second{{{1, 10}, {2, 5}, {3, 5}, {4, 7}}};
  std::vector<Arrival> arrivals{arrival(0, 15, 5), arrival(1000 * kUs, 30, 1),
                                arrival(2000 * kUs, 27, 1)};
  arrivals[0].prefix = first;
  arrivals[0].output_segment = 3;
  arrivals[2].prefix = second;
  SECTION("cache_prompt") {
    const PolicyRun run = run_policy(setup_of({}), arrivals);
    CHECK(run.steps.back().chunk_tokens == 8);
  }
  SECTION("no cache_prompt") {
    const PolicyRun run = run_policy(setup_of({.cache_prompt = false}), arrivals);
    CHECK(run.steps.back().chunk_tokens == 27 - 16);  // the second chunk of n_batch 16
  }
}

TEST_CASE("llama.cpp: a request that has a slot and no chunk yet survives the engine's death") {
  // n_batch 16: the third request (slot 0) and the second begin, the first has its slot only.
  PolicySetup setup = setup_of({});
  RequestPool pool;
  DecodeSet decodes(0);
  for (int i = 0; i < 3; ++i) {
    Request request;
    request.prompt_tokens = request.known_tokens = 12;
    const RequestId id = pool.add(request);
    setup.scheduler->enqueue(id, pool[id]);
  }
  const PlanContext context{0, 0, pool, *setup.kv, decodes};
  BatchPlan plan;
  setup.scheduler->plan(context, plan);
  REQUIRE(plan.chunks.size() == 2);
  for (const Chunk& chunk : plan.chunks) {
    setup.kv->release(chunk.id, pool[chunk.id], chunk.tokens, KvRelease::dropped);
  }
  setup.scheduler->on_engine_lost();
  plan.clear();
  setup.scheduler->plan(context, plan);
  REQUIRE(plan.chunks.size() == 1);
  CHECK(plan.chunks[0].id == 0);
  CHECK(plan.chunks[0].admits);
  CHECK(setup.kv->pool().used_blocks() == 200);
}

// Conversations of a few turns among prompts of their own, some clients that give up.
class RandomTraffic {
 public:
  RandomTraffic(std::uint32_t seed, int count) : random_(seed) {
    segments_.reserve(static_cast<std::size_t>(count));
    TimeNs time = 0;
    for (int i = 0; i < count; ++i) {
      if (below(3) > 0) time += below(200) * kUs / 3;
      arrivals_.push_back(next(time));
    }
  }
  [[nodiscard]] const std::vector<Arrival>& arrivals() const { return arrivals_; }

 private:
  std::int32_t below(std::uint32_t bound) { return static_cast<std::int32_t>(random_() % bound); }
  Arrival next(TimeNs time) {
    std::vector<PrefixSegment> pieces;
    std::int32_t prompt = 0;
    for (std::uint64_t turn = 0; turn < 1 + random_() % 3; ++turn) {
      pieces.push_back({1 + random_() % 3 + 10 * turn, 5 + below(3)});
      prompt += pieces.back().tokens;
    }
    Arrival a = arrival(time, prompt + below(2) * below(60), 1 + below(40));
    a.max_tokens += below(2) * below(30);
    a.output_segment = 11 + random_() % 3;
    segments_.push_back(std::move(pieces));
    a.prefix = segments_.back();
    if (below(8) == 0) a.deadline_ns = time + below(2000) * kUs;
    if (below(8) == 0) a.first_token_deadline_ns = time + below(300) * kUs;
    return a;
  }

  std::mt19937 random_;
  std::vector<std::vector<PrefixSegment>> segments_;
  std::vector<Arrival> arrivals_;
};

Server random_server(std::uint32_t seed) {
  std::mt19937 random(seed + 77);
  Server server;
  server.n_parallel = 1 + static_cast<std::int32_t>(random() % 8);
  server.n_batch = server.n_parallel + static_cast<std::int32_t>(random() % 60);
  server.cache_prompt = random() % 4 > 0;
  server.depth = 1 + static_cast<std::int32_t>(seed % 2);
  // With a step in flight slots do not fail.
  if (server.depth == 1 && random() % 2 == 0) {
    server.shared_cells = server.slot_tokens * (1 + static_cast<std::int32_t>(random() % 4));
  }
  return server;
}

TEST_CASE("llama.cpp: nobody is preempted and the batch never exceeds n_batch") {
  for (std::uint32_t seed = 0; seed < 40; ++seed) {
    const Server server = random_server(seed);
    CAPTURE(seed);
    const PolicyRun run = run_policy(setup_of(server), RandomTraffic(seed, 80).arrivals());
    CHECK(run.reason == StopReason::drained);
    CHECK(run.order_of(EngineEventKind::preempted).empty());
    for (const PolicyStep& step : run.steps) {
      CHECK(step.chunk_tokens + step.decode_rows <= server.n_batch);
      if (server.shared_cells == 0) CHECK(step.used_blocks % server.slot_tokens == 0);
    }
  }
}

TEST_CASE("llama.cpp: jumps, single steps and random cuts are the same run") {
  for (std::uint32_t seed = 100; seed < 140; ++seed) {
    const Server server = random_server(seed);
    const RandomTraffic traffic(seed, 60);
    CAPTURE(seed);
    check_cut_invariance([&server] { return setup_of(server); }, traffic.arrivals());
  }
}

}  // namespace
}  // namespace headroom::test::llamacpp_test
