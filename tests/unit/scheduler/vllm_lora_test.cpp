// LoRA adapters under vLLM V1 (docs/semantics.md 29, ENGINES.md 3.1 and 2.2). Steps cost 10 us + 1
// us per prompt token + 1 us per decoding row; adapters cost nothing where a test does not say so.

#include <catch2/catch.hpp>

#include "scheduler/batching/vllm.hpp"
#include "tests/unit/scheduler/policy_fixture.hpp"

namespace headroom::vllm_lora_test {
namespace {

using test::kUs;

Arrival with_adapter(std::int32_t adapter, std::int32_t prompt, std::int32_t output,
                     TimeNs time_ns = 0) {
  Arrival arrival = test::arrival(time_ns, prompt, output);
  arrival.adapter = adapter;
  return arrival;
}

test::PolicySetup lora(const AdapterOptions& adapters, int depth = 1,
                       const PagedKvOptions& pool = test::plain_pool(1000)) {
  SchedulerOptions options = test::seats_and_tokens(8, 100);
  options.enable_lora = true;
  test::PolicySetup setup = test::paged_setup<VllmScheduler>(options, pool, depth);
  setup.adapters = AdapterSlots(adapters);
  return setup;
}

TEST_CASE("a request for one adapter too many is set aside, and those behind it go on") {
  // One slot. Step 1 takes request 0 (adapter 1), passes over 1 (adapter 2), takes 2 (adapter 1)
  // and 3 (none): 10 + 3 x 10 us. Adapter 1 is in use until request 2 has its third token: steps 2
  // (0, 2, 3 decode: 13 us; 0 and 3 are done) and 3 (2 alone: 11 us). So 1 starts at 40 + 13 + 11.
  const test::PolicyRun run =
      test::run_policy(lora({.adapters = 2, .device_slots = 1, .host_slots = 2}),
                       {with_adapter(1, 10, 2), with_adapter(2, 10, 1), with_adapter(1, 10, 3),
                        with_adapter(0, 10, 2)});
  CHECK(run.order_of(EngineEventKind::admitted) == std::vector<std::uint64_t>{0, 2, 3, 1});
  CHECK(run.requests[0].first_token_ns == 40 * kUs);
  CHECK(run.requests[3].finish_ns == 53 * kUs);
  CHECK(run.requests[1].first_scheduled_ns == 64 * kUs);
}

TEST_CASE("who was set aside comes before those who arrived later") {
  // Behind request 0 (adapter 1, 2 tokens) wait 1 (adapter 2) and, from 5 us on, 2 (adapter 2), 3
  // (adapter 1). At 20 us, when step 1 ends, 3 may join. When both are gone: 1, then 2.
  const test::PolicyRun run =
      test::run_policy(lora({.adapters = 2, .device_slots = 1, .host_slots = 2}),
                       {with_adapter(1, 10, 2), with_adapter(2, 10, 1),
                        with_adapter(2, 10, 1, 5 * kUs), with_adapter(1, 10, 1, 5 * kUs)});
  CHECK(run.order_of(EngineEventKind::admitted) == std::vector<std::uint64_t>{0, 3, 1, 2});
  CHECK(run.requests[3].first_scheduled_ns == 20 * kUs);
}

TEST_CASE("as many adapters as there are slots run together") {
  const test::PolicyRun run =
      test::run_policy(lora({.adapters = 3, .device_slots = 2, .host_slots = 3}),
                       {with_adapter(1, 10, 2), with_adapter(2, 10, 2), with_adapter(3, 10, 2)});
  CHECK(run.steps[0].chunk_rows == 2);
  CHECK(run.requests[2].first_scheduled_ns == run.requests[0].finish_ns);
}

TEST_CASE("an adapter's last step planned, another one may join at depth 2") {
  // Request 0 has 2 tokens: planned at 0 are steps 1 (prompt: 20 us) and 2 (its decode: 11 us), so
  // at 20 us, when step 3 is planned, it is ending, and adapter 1 is free to go.
  const test::PolicyRun run =
      test::run_policy(lora({.adapters = 2, .device_slots = 1, .host_slots = 2}, 2),
                       {with_adapter(1, 10, 2), with_adapter(2, 10, 1)});
  CHECK(run.requests[1].first_scheduled_ns == 20 * kUs);
  CHECK(run.requests[1].first_token_ns == (20 + 11 + 20) * kUs);
}

TEST_CASE("the step of an admission waits until its adapter is in a slot") {
  // Loaded at the start in the order 1, 2, 3: the two in host memory are 3 and 2, and 3 is on the
  // device. So 3 costs nothing, 2 a load (100 us), 1 a read and a load (700 us).
  const AdapterOptions adapters{.adapters = 3,
                                .device_slots = 1,
                                .host_slots = 2,
                                .load_ticks = 100 * kUs * kTicksPerNs,
                                .read_ticks = 600 * kUs * kTicksPerNs};
  const auto first_token = [&](std::int32_t adapter) {
    const test::PolicyRun run = test::run_policy(lora(adapters), {with_adapter(adapter, 10, 1)});
    return run.requests[0].first_token_ns;
  };
  CHECK(first_token(0) == 20 * kUs);
  CHECK(first_token(3) == 20 * kUs);
  CHECK(first_token(2) == 120 * kUs);
  CHECK(first_token(1) == 720 * kUs);
}

TEST_CASE("of two adapters that nobody uses the one used last keeps its slot") {
  // Two slots, three adapters in host memory, in the order 3, 2, 1: 3 and 2 are on the device. One
  // request after the other, 1000 us apart: 2 (there), 1 (in place of 3), 2 (there), 3 (in place of
  // 1), 1 (in place of 2).
  std::vector<Arrival> arrivals;
  for (const std::int32_t adapter : {2, 1, 2, 3, 1}) {
    const auto number = static_cast<TimeNs>(arrivals.size());
    arrivals.push_back(with_adapter(adapter, 10, 2, number * 1000 * kUs));
  }
  const test::PolicyRun run = test::run_policy(
      lora({.adapters = 3, .device_slots = 2, .host_slots = 3, .load_ticks = 1}), arrivals);
  CHECK(run.adapters == AdapterCounts{.used = 3, .loads = 3, .reads = 0});
}

TEST_CASE("equal prompts with different adapters share nothing") {
  // 64 tokens of one text, blocks of 16: at most 48 are found, by the same adapter alone.
  const std::vector<PrefixSegment> text{{.id = 7, .tokens = 64}};
  const auto cached = [&](std::int32_t first, std::int32_t second) {
    std::vector<Arrival> arrivals{with_adapter(first, 64, 1),
                                  with_adapter(second, 64, 1, 1000 * kUs)};
    for (Arrival& a : arrivals) a.prefix = text;
    PagedKvOptions pool = test::plain_pool(1000);
    pool.enable_prefix_caching = true;
    const test::PolicyRun run = test::run_policy(
        lora({.adapters = 2, .device_slots = 2, .host_slots = 2}, 1, pool), arrivals);
    TokenCount sum = 0;
    for (const EngineEvent& event : run.events) sum += event.cached_tokens;
    return sum;
  };
  CHECK(cached(1, 1) == 48);
  CHECK(cached(0, 0) == 48);
  CHECK(cached(1, 2) == 0);
  CHECK(cached(0, 1) == 0);
}

TEST_CASE("with adapters and preemptions any cut gives the same, and everybody is served") {
  for (const int depth : {1, 2}) {
    const auto make = [depth] {
      return lora({.adapters = 4, .device_slots = 2, .host_slots = 3, .load_ticks = 12345}, depth,
                  test::tight_pool(true));
    };
    std::vector<Arrival> arrivals = test::random_arrivals(3);
    for (std::size_t i = 0; i < arrivals.size(); ++i) {
      arrivals[i].adapter = static_cast<std::int32_t>(i * 3 % 5);
    }
    const test::PolicyRun run = test::run_policy(make(), arrivals);
    CHECK_FALSE(run.order_of(EngineEventKind::preempted).empty());
    for (const RequestRecord& r : run.requests) CHECK(r.outcome == Outcome::finished);
    CHECK(run.adapters.loads > 4);
    test::check_cut_invariance(make, arrivals);
  }
}

}  // namespace
}  // namespace headroom::vllm_lora_test
