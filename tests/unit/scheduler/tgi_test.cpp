// TGI v3, rule by rule (ENGINES.md 3.5). A step costs 10 us, 1 us more for each prompt token and
// each decoding row.

#include <catch2/catch.hpp>

#include <algorithm>
#include <random>
#include <span>
#include <utility>

#include "scheduler/batching/tgi.hpp"
#include "scheduler/kv/paged.hpp"
#include "scheduler/routing/round_robin.hpp"
#include "tests/support/policy_run.hpp"
#include "tests/support/production.hpp"

namespace headroom::test::tgi_test {
namespace {

constexpr TimeNs kUs = 1000;

struct Tgi {
  bool chunked = false;
  std::int32_t max_batch_prefill_tokens = 100;
  double waiting_served_ratio = 0.3;
  std::int32_t max_waiting_tokens = 20;
  std::int32_t max_batch_size = 16;
  BlockCount blocks = 100;
  std::int32_t depth = 1;
  bool caching = false;
};

PolicySetup setup_of(const Tgi& tgi) {
  SchedulerOptions options;
  options.max_num_seqs = tgi.max_batch_size;
  options.enable_chunked_prefill = tgi.chunked;
  options.own.edit<TgiScheduling>().max_batch_prefill_tokens = tgi.max_batch_prefill_tokens;
  options.own.edit<TgiScheduling>().waiting_served_ratio = tgi.waiting_served_ratio;
  options.own.edit<TgiScheduling>().max_waiting_tokens = tgi.max_waiting_tokens;
  PolicySetup setup;
  setup.scheduler = std::make_unique<TgiScheduler>(options);
  setup.kv = std::make_unique<PagedKv>(PagedKvOptions{.blocks = tgi.blocks,
                                                      .block_tokens = 16,
                                                      .enable_prefix_caching = tgi.caching,
                                                      .reserve_final = true});
  setup.options.pipeline_depth = tgi.depth;
  setup.options.max_sequences = tgi.max_batch_size;
  setup.limits.reserves_max_tokens = true;
  return setup;
}

Arrival arrival(TimeNs time_ns, std::int32_t prompt, std::int32_t output) {
  Arrival a;
  a.time_ns = time_ns;
  a.prompt_tokens = prompt;
  a.output_tokens = a.max_tokens = output;
  return a;
}

// The prompt begins with `pieces`, which outlive the run.
Arrival arrival(TimeNs time_ns, std::span<const PrefixSegment> pieces, std::int32_t prompt,
                std::int32_t output) {
  Arrival a = arrival(time_ns, prompt, output);
  a.prefix = pieces;
  return a;
}

constexpr PrefixSegment kText[] = {{7, 32}};

std::vector<TokenCount> found_tokens(const PolicyRun& run) {
  std::vector<TokenCount> found;
  for (const EngineEvent& event : run.events) {
    if (event.kind == EngineEventKind::admitted) found.push_back(event.cached_tokens);
  }
  return found;
}

std::vector<TokenCount> chunk_tokens(const PolicyRun& run) {
  std::vector<TokenCount> tokens;
  for (const PolicyStep& step : run.steps) tokens.push_back(step.chunk_tokens);
  return tokens;
}

std::vector<std::int64_t> decode_rows(const PolicyRun& run) {
  std::vector<std::int64_t> rows;
  for (const PolicyStep& step : run.steps) rows.push_back(step.decode_rows);
  return rows;
}

TEST_CASE("tgi: a prefill batch runs alone while the decodes stand by") {
  // A: prefill to 20 us, decode to 31. B (25 us) is prefilled alone, 31 to 61; then both decode to
  // 73, where B has its two tokens; A's last two steps take 11 us each.
  const PolicyRun run = run_policy(setup_of({}), {arrival(0, 10, 5), arrival(25 * kUs, 20, 2)});
  CHECK(chunk_tokens(run) == std::vector<TokenCount>{10, 0, 20, 0, 0, 0});
  CHECK(decode_rows(run) == std::vector<std::int64_t>{0, 1, 0, 2, 1, 1});
  CHECK(run.requests[1].first_token_ns == 61 * kUs);
  CHECK(run.requests[1].finish_ns == 73 * kUs);
  CHECK(run.requests[0].finish_ns == 95 * kUs);
}

TEST_CASE("tgi: a decode step follows a prefill that interrupted decodes, but not one from idle") {
  // B arrives while A is prefilled from idle: prefilled next. C and D (ratio 0, one budget each)
  // arrive while B is prefilled, which interrupted A: a decode step, C, a decode step, D.
  const PolicyRun run = run_policy(
      setup_of({.max_batch_prefill_tokens = 16, .waiting_served_ratio = 0.0}),
      {arrival(0, 16, 9), arrival(kUs, 16, 9), arrival(30 * kUs, 16, 9), arrival(30 * kUs, 16, 9)});
  const std::vector<TokenCount> chunks = chunk_tokens(run);
  REQUIRE(chunks.size() > 7);
  CHECK(std::vector<TokenCount>(chunks.begin(), chunks.begin() + 7) ==
        std::vector<TokenCount>{16, 16, 0, 16, 0, 16, 0});
}

TEST_CASE("tgi: too few waiting entries do not interrupt until max_waiting_tokens have come") {
  // 4 run, ratio 0.5: two entries are needed. Prefill to 30 us, decodes of 14 us.
  const Tgi tgi{.waiting_served_ratio = 0.5, .max_waiting_tokens = 6};
  std::vector<Arrival> arrivals(4, arrival(0, 5, 30));
  arrivals.push_back(arrival(31 * kUs, 7, 3));
  SECTION("one entry waits for 6 tokens: that of the prefill and 5 decode steps") {
    const PolicyRun run = run_policy(setup_of(tgi), arrivals);
    const std::vector<TokenCount> chunks = chunk_tokens(run);
    CHECK(std::vector<TokenCount>(chunks.begin(), chunks.begin() + 7) ==
          std::vector<TokenCount>{20, 0, 0, 0, 0, 0, 7});
    CHECK(run.requests[4].first_scheduled_ns == (30 + 5 * 14) * kUs);
  }
  SECTION("two entries go in when the decode step during which they came has ended") {
    arrivals.push_back(arrival(32 * kUs, 9, 3));
    const PolicyRun run = run_policy(setup_of(tgi), arrivals);
    CHECK(chunk_tokens(run)[2] == 16);
    CHECK(run.requests[5].first_scheduled_ns == 44 * kUs);
  }
  SECTION("a third of two is none: one entry may always interrupt") {
    Tgi third = tgi;
    third.waiting_served_ratio = 0.3;
    arrivals.erase(arrivals.begin(), arrivals.begin() + 2);  // 2 run: floor(0.6) = 0
    const PolicyRun run = run_policy(setup_of(third), arrivals);
    CHECK(chunk_tokens(run)[2] == 7);
  }
}

TEST_CASE("tgi: entries that wait but do not fit are not counted") {
  // 2 run, ratio 1: two entries are needed. 14 blocks, 2 x 5 are held, a third entry of 4 fits, the
  // fourth does not. So the third goes in when 6 tokens have come.
  std::vector<Arrival> arrivals(2, arrival(0, 16, 64));
  arrivals.push_back(arrival(31 * kUs, 16, 48));
  arrivals.push_back(arrival(31 * kUs, 16, 48));
  const PolicyRun run = run_policy(
      setup_of({.waiting_served_ratio = 1.0, .max_waiting_tokens = 6, .blocks = 14}), arrivals);
  CHECK(std::vector<TokenCount>(chunk_tokens(run))[6] == 16);
  CHECK(run.steps[6].used_blocks == 14);
}

TEST_CASE(
    "tgi: an entry reserves its whole life, and the first that does not fit stops the queue") {
  // 4 blocks. A holds ceil((16 + 32) / 16) = 3 from the start, B needs 2, C would fit into 1.
  const PolicyRun run = run_policy(setup_of({.blocks = 4}),
                                   {arrival(0, 16, 32), arrival(1, 16, 16), arrival(2, 8, 8)});
  CHECK(run.steps.front().used_blocks == 3);
  CHECK(run.order_of(EngineEventKind::admitted) == std::vector<std::uint64_t>{0, 1, 2});
  CHECK(run.requests[1].first_scheduled_ns == run.requests[0].finish_ns);
  CHECK(run.requests[2].first_scheduled_ns == run.requests[0].finish_ns);
}

TEST_CASE("tgi: the prefill budget is rounded up to blocks, and a longer prompt is refused") {
  // 30 tokens are 2 blocks of 16: two prompts of 16 fit, a prompt of 32 too, one of 33 never.
  const PolicyRun run =
      run_policy(setup_of({.max_batch_prefill_tokens = 30}),
                 {arrival(0, 33, 1), arrival(0, 16, 1), arrival(0, 16, 1), arrival(0, 32, 1)});
  CHECK(chunk_tokens(run) == std::vector<TokenCount>{32, 32});
  CHECK(run.requests[0].outcome == Outcome::rejected);
  CHECK(run.requests[0].finish_ns == 0);
}

TEST_CASE("tgi: max_batch_size bounds the running batch") {
  const PolicyRun run =
      run_policy(setup_of({.max_batch_size = 2}), std::vector<Arrival>(3, arrival(0, 10, 4)));
  CHECK(chunk_tokens(run) == std::vector<TokenCount>{20, 0, 0, 0, 10, 0, 0, 0});
}

TEST_CASE("tgi chunked: decodes go on beside the chunks of a prompt that was cut to the budget") {
  // Budget 20, A decodes: 19 are left for B's 50 tokens, so 19, 19 and 12.
  const PolicyRun run = run_policy(setup_of({.chunked = true, .max_batch_prefill_tokens = 20}),
                                   {arrival(0, 10, 6), arrival(kUs, 50, 2)});
  CHECK(chunk_tokens(run) == std::vector<TokenCount>{10, 19, 19, 12, 0, 0});
  CHECK(decode_rows(run) == std::vector<std::int64_t>{0, 1, 1, 1, 2, 1});
}

TEST_CASE("tgi chunked: the router looks at the queue every second step") {
  // B's 19 tokens fill the budget beside A's decode. C waits for one more step although 18 tokens
  // are left in it.
  const PolicyRun run = run_policy(setup_of({.chunked = true, .max_batch_prefill_tokens = 20}),
                                   {arrival(0, 5, 9), arrival(kUs, 19, 9), arrival(2 * kUs, 3, 9)});
  const std::vector<TokenCount> chunks = chunk_tokens(run);
  CHECK(std::vector<TokenCount>(chunks.begin(), chunks.begin() + 5) ==
        std::vector<TokenCount>{5, 19, 0, 3, 0});
  CHECK(run.steps[3].decode_rows == 2);
}

TEST_CASE("tgi chunked: new entries share a step with the end of a prompt that was cut") {
  // A (30) is cut to 20; the 10 that are left go first, B has the other 10 of the next budget.
  const PolicyRun run = run_policy(setup_of({.chunked = true, .max_batch_prefill_tokens = 20}),
                                   {arrival(0, 30, 2), arrival(kUs, 15, 2)});
  CHECK(chunk_tokens(run) == std::vector<TokenCount>{20, 20, 5, 0});
  CHECK(run.steps[1].chunk_rows == 2);
}

TEST_CASE("tgi: the queue survives the engine's death, and the next batch begins from idle") {
  // Seats for one: A was admitted and is lost, B waits. A's cut prompt does not go on.
  for (const bool chunked : {false, true}) {
    PolicySetup setup = setup_of({.chunked = chunked, .max_batch_size = 1});
    RequestPool pool;
    DecodeSet decodes(0);
    for (int i = 0; i < 2; ++i) {
      Request request;
      request.prompt_tokens = request.known_tokens = chunked ? 150 : 50;
      const RequestId id = pool.add(request);
      setup.scheduler->enqueue(id, pool[id]);
    }
    const PlanContext context{0, 0, pool, *setup.kv, decodes};
    BatchPlan plan;
    setup.scheduler->plan(context, plan);
    REQUIRE(plan.chunks.size() == 1);
    setup.kv->release(0, pool[0], plan.chunks[0].tokens, KvRelease::dropped);
    setup.scheduler->on_engine_lost();
    plan.clear();
    setup.scheduler->plan(context, plan);
    REQUIRE(plan.chunks.size() == 1);
    CHECK(plan.chunks[0].id == 1);
    CHECK(plan.chunks[0].admits);
  }
}

// A (32 of a text, 1 token) leaves at 42 us. B and C begin with that text and 16 more: 2 x 16 are
// to be computed, which the budget of 40 has room for. Each needs 4 blocks for 48 + 1, and they
// have 2 together: 6. Without sharing the second would wait for blocks and budget.
TEST_CASE("tgi: what an entry finds counts neither in the budget nor twice in the pool") {
  const bool chunked = GENERATE(false, true);
  const std::vector<Arrival> arrivals{arrival(0, kText, 32, 1), arrival(50 * kUs, kText, 48, 1),
                                      arrival(50 * kUs, kText, 48, 1)};
  Tgi tgi{.chunked = chunked, .max_batch_prefill_tokens = 40, .blocks = 6, .caching = true};
  const PolicyRun run = run_policy(setup_of(tgi), arrivals);
  CHECK(found_tokens(run) == std::vector<TokenCount>{0, 32, 32});
  CHECK(chunk_tokens(run) == std::vector<TokenCount>{32, 32});
  CHECK(run.steps[1].used_blocks == 6);
  tgi.caching = false;
  CHECK(chunk_tokens(run_policy(setup_of(tgi), arrivals)).size() > 2);
}

TEST_CASE("tgi: a prompt is found when its request has left, not while it runs") {
  // A and B come together; C, with their text, while B still decodes and A (1 token) has left.
  const PolicyRun run = run_policy(
      setup_of({.chunked = true, .caching = true}),
      {arrival(0, kText, 40, 1), arrival(0, kText, 40, 9), arrival(100 * kUs, kText, 40, 1)});
  CHECK(found_tokens(run) == std::vector<TokenCount>{0, 0, 32});
  CHECK(chunk_tokens(run).front() == 80);
}

TEST_CASE("tgi: a prompt that is found in full computes its last token") {
  const PolicyRun run = run_policy(setup_of({.chunked = true, .caching = true}),
                                   {arrival(0, kText, 32, 1), arrival(50 * kUs, kText, 32, 2)});
  CHECK(chunk_tokens(run) == std::vector<TokenCount>{32, 1, 0});
  CHECK(run.steps[1].used_blocks == 3);  // both of the text, and one for the answer
}

TEST_CASE("tgi: the next turn of a session finds the prompt before, but not the answer") {
  const PrefixSegment next[] = {{7, 32}, {70, 16}, {8, 16}};
  Arrival turn = arrival(0, kText, 32, 16);
  turn.output_segment = 70;
  const PolicyRun run = run_policy(setup_of({.chunked = true, .caching = true}),
                                   {turn, arrival(1000 * kUs, next, 64, 1)});
  CHECK(found_tokens(run) == std::vector<TokenCount>{0, 32});
}

// A text of 32 is known. 2 run, ratio 1: two entries are needed. They have 64 tokens each, together
// more than the budget of 96; 32 of each are found, so they interrupt after one decode step.
TEST_CASE("tgi: what entries find counts when the least number is weighed") {
  for (const bool caching : {true, false}) {
    const PolicyRun run = run_policy(
        setup_of({.max_batch_prefill_tokens = 96, .waiting_served_ratio = 1.0, .caching = caching}),
        {arrival(0, kText, 32, 1), arrival(50 * kUs, 5, 30), arrival(50 * kUs, 5, 30),
         arrival(71 * kUs, kText, 64, 30), arrival(71 * kUs, kText, 64, 30)});
    CHECK(chunk_tokens(run)[1] == 10);
    CHECK(chunk_tokens(run)[3] == (caching ? 64 : 0));
  }
}

class StateList final : public MetricsSink {
 public:
  void on_steps(const StepRun& run) override { states.push_back(*run.state); }
  void on_request(const RequestRecord&) override {}
  void on_event(const EngineEvent&) override {}
  void on_idle(std::uint16_t, TickSum, const ReplicaState&) override {}

  std::vector<ReplicaState> states;
};

// B and C have a text of 32 together. In the end they will hold 48 + 9 - 1 each: at any time what
// they hold, with the text counted for both, and what they will fill is 112.
TEST_CASE("tgi: what is reserved but not yet filled does not count a shared prefix") {
  PolicySetup setup = setup_of({.chunked = true, .caching = true});
  std::vector<ReplicaParts> parts(1);
  parts[0].options = setup.options;
  parts[0].limits = setup.limits;
  parts[0].limits.max_request_tokens = parts[0].limits.max_model_len = 1600;
  parts[0].scheduler = std::move(setup.scheduler);
  parts[0].kv = std::move(setup.kv);
  parts[0].cost = std::make_unique<AffineStepCost>(setup.cost);
  ListSource source(
      {arrival(0, kText, 32, 1), arrival(50 * kUs, kText, 48, 9), arrival(50 * kUs, kText, 48, 9)});
  StateList list;
  Fleet fleet({}, std::move(parts), std::make_unique<RoundRobinRouter>(), source, list);
  CHECK(fleet.run({}) == StopReason::drained);
  std::erase_if(list.states, [](const ReplicaState& state) { return state.running != 2; });
  REQUIRE(list.states.size() > 1);
  for (const ReplicaState& state : list.states) {
    CHECK(state.pool.shared_blocks == 2);
    CHECK(state.kv_tokens + 32 + state.reserved_tokens == 112);
  }
}

// Bursts and lulls; prompts around the budget, some that begin alike, some clients that give up.
std::vector<Arrival> random_arrivals(std::uint32_t seed, int count) {
  std::mt19937 random(seed);
  const auto below = [&random](std::uint32_t bound) {
    return static_cast<std::int32_t>(random() % bound);
  };
  static constexpr PrefixSegment kTexts[] = {{1, 17}, {2, 32}, {3, 50}};
  std::vector<Arrival> arrivals;
  TimeNs time = 0;
  for (int i = 0; i < count; ++i) {
    if (below(3) > 0) time += below(200) * kUs / 3;
    Arrival a = arrival(time, 1 + below(70), 1 + below(40));
    if (below(2) == 0) {
      a.prefix = std::span(kTexts).subspan(static_cast<std::size_t>(below(3)), 1);
      a.prompt_tokens = std::max(a.prompt_tokens, a.prefix.front().tokens);
      a.prompt_logprobs = below(10) == 0;
    }
    a.max_tokens += below(2) * below(30);
    if (below(8) == 0) a.deadline_ns = time + below(2000) * kUs;
    if (below(8) == 0) a.first_token_deadline_ns = time + below(300) * kUs;
    arrivals.push_back(a);
  }
  return arrivals;
}

Tgi random_tgi(std::uint32_t seed, bool chunked, std::int32_t depth) {
  std::mt19937 random(seed + 77);
  Tgi tgi{.chunked = chunked, .depth = depth};
  tgi.max_batch_prefill_tokens = 20 + static_cast<std::int32_t>(random() % 80);
  tgi.waiting_served_ratio = static_cast<double>(random() % 13) / 10;
  tgi.max_waiting_tokens = static_cast<std::int32_t>(random() % 25);
  tgi.max_batch_size = 2 + static_cast<std::int32_t>(random() % 15);
  tgi.blocks = 9 + static_cast<BlockCount>(random() % 40);
  tgi.caching = random() % 3 > 0;
  return tgi;
}

TEST_CASE("tgi: nobody is preempted, nobody overtakes, and the step budgets hold") {
  for (std::uint32_t seed = 0; seed < 40; ++seed) {
    const bool chunked = seed % 2 == 0;
    const Tgi tgi = random_tgi(seed, chunked, 1 + static_cast<std::int32_t>(seed / 2 % 2));
    CAPTURE(seed);
    const PolicyRun run = run_policy(setup_of(tgi), random_arrivals(seed, 80));
    CHECK(run.reason == StopReason::drained);
    CHECK(run.order_of(EngineEventKind::preempted).empty());
    const std::vector<std::uint64_t> admitted = run.order_of(EngineEventKind::admitted);
    CHECK(std::ranges::is_sorted(admitted));
    const TokenCount blocks = (tgi.max_batch_prefill_tokens + 15) / 16;
    for (const PolicyStep& step : run.steps) {
      if (chunked && step.chunk_tokens > 1) {
        CHECK(step.chunk_tokens + step.decode_rows <= tgi.max_batch_prefill_tokens);
      }
      if (!chunked) CHECK(step.chunk_tokens <= blocks * 16);
      if (!chunked) CHECK((step.chunk_tokens == 0 || step.decode_rows == 0));
      CHECK(step.used_blocks <= tgi.blocks);
    }
  }
}

TEST_CASE("tgi: jumps, single steps and random cuts are the same run") {
  for (std::uint32_t seed = 100; seed < 140; ++seed) {
    const Tgi tgi = random_tgi(seed, seed % 2 == 0, 1 + static_cast<std::int32_t>(seed / 2 % 2));
    CAPTURE(seed);
    check_cut_invariance([&tgi] { return setup_of(tgi); }, random_arrivals(seed, 60));
  }
}

}  // namespace
}  // namespace headroom::test::tgi_test
