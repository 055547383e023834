// Engines that die while they run (docs/semantics.md, "An engine that dies"): worked examples, and
// any cut gives the same bytes.

#include <catch2/catch.hpp>

#include <algorithm>

#include "scheduler/batching/llamacpp.hpp"
#include "scheduler/batching/sglang.hpp"
#include "scheduler/batching/static.hpp"
#include "scheduler/batching/tgi.hpp"
#include "scheduler/batching/trtllm.hpp"
#include "scheduler/batching/vllm.hpp"
#include "scheduler/kv/contiguous.hpp"
#include "scheduler/kv/slots.hpp"
#include "tests/unit/scheduler/policy_fixture.hpp"

namespace headroom::test::engine_failure_test {
namespace {

constexpr ByteCount kBytePerUs = 3'600'000'000;  // per hour

// Grows by a byte a microsecond into `free_bytes`.
RunTimeMemory leak(ByteCount free_bytes) {
  return RunTimeMemory({.device = DeviceLedger(free_bytes), .device_bytes_per_hour = kBytePerUs});
}

// One seat; 51 us after each start the engine has no memory left, and is back 100 us later.
PolicySetup leaking(int depth, bool queue_survives) {
  PolicySetup setup = paged_setup<VllmScheduler>(seats_and_tokens(1, 100), plain_pool(100), depth);
  setup.memory = leak(50);
  setup.options.restart_ns = 100 * kUs;
  setup.options.queue_survives = queue_survives;
  return setup;
}

TEST_CASE("an engine that outgrows its memory dies at the next step end, and serves on later") {
  // Request 0: its prompt of 10 takes 10 + 10 us, each further token 10 + 1: tokens at 20, 31, 42,
  // 53 us. Growth no longer fits at 51 us, so the engine dies at 53 with 53 bytes wanted of 50. At
  // depth 2 the step from 53 to 64 is in flight then: its token does not come out. Request 1 waits
  // until 153 us and ends at 153 + 20 + 11, before the 51 us of the new engine are over.
  for (const int depth : {1, 2}) {
    CAPTURE(depth);
    const std::vector<Arrival> arrivals{arrival(0, 10, 10), arrival(40 * kUs, 10, 2)};
    const PolicyRun run = run_policy(leaking(depth, true), arrivals);
    CHECK(run.requests[0].outcome == Outcome::lost_to_oom);
    CHECK(run.requests[0].output_tokens == 4);
    CHECK(run.requests[0].finish_ns == 53 * kUs);
    REQUIRE(run.shortages.size() == 1);
    CHECK(run.shortages[0].wanted_bytes == 53);
    CHECK(run.shortages[0].free_bytes == 50);
    CHECK(run.requests[1].outcome == Outcome::finished);
    CHECK(run.requests[1].first_scheduled_ns == 153 * kUs);
    CHECK(run.requests[1].finish_ns == 184 * kUs);
    check_cut_invariance([&] { return leaking(depth, true); }, arrivals);
  }
}

TEST_CASE("a queue inside the engine is lost with it, and nobody is let in while it is down") {
  // Request 1 waits when the engine dies at 53 us, request 2 finds it down at 100 us, request 3
  // comes in the nanosecond in which it is back.
  const std::vector<Arrival> arrivals{arrival(0, 10, 10), arrival(40 * kUs, 10, 2),
                                      arrival(100 * kUs, 10, 2), arrival(153 * kUs, 10, 2)};
  const PolicyRun run = run_policy(leaking(1, false), arrivals);
  CHECK(run.requests[1].outcome == Outcome::lost_to_oom);
  CHECK(run.requests[1].finish_ns == 53 * kUs);
  CHECK(run.requests[2].outcome == Outcome::lost_to_oom);
  CHECK(run.requests[2].finish_ns == 100 * kUs);
  CHECK(run.requests[2].queued_ns == -1);
  CHECK(run.requests[3].finish_ns == 184 * kUs);
  check_cut_invariance([] { return leaking(1, false); }, arrivals);
}

TEST_CASE("a machine that stopped answering starts before its engine does") {
  // 200 us of reboot and 100 of restart behind the death at 53 us.
  PolicySetup setup = leaking(1, true);
  HostLedger host({.total_bytes = 50, .reserve_bytes = 0, .shm_bytes = {}, .host_bytes = {}});
  setup.memory = RunTimeMemory({.host = host, .shared = true, .device_bytes_per_hour = kBytePerUs});
  setup.options.reboot_ns = 200 * kUs;
  const PolicyRun run =
      run_policy(std::move(setup), {arrival(0, 10, 10), arrival(40 * kUs, 10, 2)});
  REQUIRE(run.shortages.size() == 1);
  CHECK(run.shortages[0].kind == OomKind::host_freeze);
  CHECK(run.requests[1].first_scheduled_ns == 353 * kUs);
}

TEST_CASE("log-probabilities of a prompt kill the engine in the step that makes them") {
  // 70 bytes are free and a token takes 10: chunks of 7 fit, one of 8 does not. With 8 tokens a
  // step request 0 (7 + 2 tokens) computes its prompt in step 1 and request 1 gets 1 token there, 7
  // beside the second token of request 0 in step 2, and 8 in step 3: its end. Steps 1 and 2 take
  // 10 + 8 us each. Depth 1 plans step 3 at 36 us, when both tokens are out; depth 2 at 18 us, and
  // the second token is lost in flight.
  for (const int depth : {1, 2}) {
    CAPTURE(depth);
    PolicySetup setup = paged_setup<VllmScheduler>(seats_and_tokens(4, 8), plain_pool(100), depth);
    setup.memory = RunTimeMemory({.device = DeviceLedger(70), .logprob_bytes_per_token = 10});
    setup.options.restart_ns = 100 * kUs;
    std::vector<Arrival> arrivals{arrival(0, 7, 2), arrival(0, 20, 1), arrival(30 * kUs, 20, 1)};
    arrivals[0].prompt_logprobs = arrivals[1].prompt_logprobs = true;
    const PolicyRun run = run_policy(std::move(setup), arrivals);
    REQUIRE(run.shortages.size() == 1);
    CHECK(run.shortages[0].wanted_bytes == 80);
    CHECK(run.shortages[0].free_bytes == 70);
    CHECK(run.requests[0].output_tokens == (depth == 1 ? 2 : 1));
    CHECK(run.requests[1].outcome == Outcome::lost_to_oom);
    CHECK(run.requests[1].finish_ns == (depth == 1 ? 36 : 18) * kUs);
    CHECK(run.requests[2].first_scheduled_ns == (depth == 1 ? 136 : 118) * kUs);
    CHECK(run.requests[2].outcome == Outcome::finished);  // it asked for none
  }
}

TEST_CASE("nothing of a prefix cache outlives its engine, or serves log-probabilities") {
  // The same prompt of 33 tokens four times, blocks of 16: the second finds 32 tokens. The third
  // wants log-probabilities and computes all. The engine dies while the fourth waits for its
  // batch, so that one finds nothing either.
  PagedKvOptions pool;
  pool.blocks = 100;
  PolicySetup setup = paged_setup<VllmScheduler>(seats_and_tokens(1, 100), pool);
  setup.memory = leak(240);
  setup.options.restart_ns = 100 * kUs;
  const std::vector<PrefixSegment> prompt{{7, 33}};
  std::vector<Arrival> arrivals;
  for (const TimeNs at : {0, 60, 110, 200}) {
    arrivals.push_back(arrival(at * kUs, 33, at == 110 ? 20 : 1));
    arrivals.back().prefix = prompt;
    arrivals.back().prompt_logprobs = at == 110;
  }
  const PolicyRun run = run_policy(std::move(setup), arrivals);
  std::vector<TokenCount> found;
  for (const EngineEvent& event : run.events) {
    if (event.kind == EngineEventKind::admitted) found.push_back(event.cached_tokens);
  }
  CHECK(found == std::vector<TokenCount>{0, 32, 0, 0});
  CHECK(run.requests[2].outcome == Outcome::lost_to_oom);
}

// Random traffic over about 2 ms through an engine that lives for 0.4 ms and is away for 0.05.
// Every fifth request wants log-probabilities, of which 57 tokens fit; every fifth client gives up
// early.
void check_failing_traffic(const std::function<PolicySetup()>& make) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    for (const bool survives : {false, true}) {
      CAPTURE(seed, survives);
      const auto setup = [&] {
        PolicySetup parts = make();
        parts.memory = RunTimeMemory({.device = DeviceLedger(400),
                                      .device_bytes_per_hour = kBytePerUs,
                                      .logprob_bytes_per_token = 7});
        parts.options.restart_ns = 50 * kUs;
        parts.options.queue_survives = survives;
        return parts;
      };
      std::vector<Arrival> arrivals = random_arrivals(seed);
      for (std::size_t i = 0; i < arrivals.size(); i += 5) {
        arrivals[i].prompt_logprobs = true;
        arrivals[i + 1].deadline_ns = arrivals[i + 1].time_ns + static_cast<TimeNs>(i) * 20 * kUs;
      }
      const PolicyRun run = run_policy(setup(), arrivals);
      CHECK(run.order_of(EngineEventKind::engine_lost).size() >= 3);
      CHECK(run.reason == StopReason::drained);
      CHECK(std::ranges::count(run.requests, Outcome::lost_to_oom, &RequestRecord::outcome) >= 3);
      CHECK(std::ranges::count(run.requests, Outcome::finished, &RequestRecord::outcome) >= 3);
      CHECK(std::ranges::count(run.requests, Outcome::unfinished, &RequestRecord::outcome) == 0);
      check_cut_invariance(setup, arrivals);
    }
  }
}

TEST_CASE("deaths of an engine are exact: any cut of a run gives the same bytes (vllm)") {
  for (const bool caching : {false, true}) {
    for (const int depth : {1, 2}) {
      CAPTURE(caching, depth);
      check_failing_traffic([&] {
        return paged_setup<VllmScheduler>(seats_and_tokens(6, 64), tight_pool(caching), depth);
      });
    }
  }
}

TEST_CASE("deaths of an engine are exact: any cut of a run gives the same bytes (sglang, trtllm)") {
  for (const int depth : {1, 2}) {
    CAPTURE(depth);
    check_failing_traffic([&] {
      SchedulerOptions options = seats_and_tokens(6, 1000);
      options.own.edit<SglangScheduling>().chunked_prefill_size = 32;
      return paged_setup<SglangScheduler>(options, tight_pool(true), depth);
    });
    check_failing_traffic([&] {
      SchedulerOptions options = seats_and_tokens(6, 64);
      options.own.edit<TrtllmScheduling>().capacity_scheduler_policy = "MAX_UTILIZATION";
      PolicySetup setup = paged_setup<VllmScheduler>(options, tight_pool(true), depth);
      options.finds_prefixes = true;
      setup.scheduler = std::make_unique<TrtllmScheduler>(options);
      return setup;
    });
  }
}

TEST_CASE("deaths of an engine are exact: any cut of a run gives the same bytes (tgi, llamacpp)") {
  check_failing_traffic([] {
    const SchedulerOptions options = seats_and_tokens(6, 1000);
    PagedKvOptions pool = plain_pool(20);
    pool.reserve_final = true;
    PolicySetup setup = paged_setup<TgiScheduler>(options, pool);
    setup.limits.reserves_max_tokens = true;
    return setup;
  });
  check_failing_traffic([] {
    PolicySetup setup;
    auto slots = std::make_unique<SlotKv>(SlotKvOptions{.slots = 4, .slot_tokens = 120});
    setup.scheduler = std::make_unique<LlamaCppScheduler>(seats_and_tokens(4, 64), *slots);
    setup.kv = std::move(slots);
    setup.limits.max_request_tokens = 120;
    setup.limits.reserves_max_tokens = true;
    return setup;
  });
}

TEST_CASE("deaths of an engine are exact: any cut of a run gives the same bytes (static)") {
  for (const bool at_end : {false, true}) {
    CAPTURE(at_end);
    check_failing_traffic([&] {
      PolicySetup setup;
      setup.scheduler = std::make_unique<StaticScheduler>(seats_and_tokens(2, 1000));
      setup.kv = std::make_unique<ContiguousKv>(400);
      setup.limits.reserves_max_tokens = true;
      setup.options.responds_at_end = at_end;
      setup.options.cancels_running = false;
      return setup;
    });
  }
}

}  // namespace
}  // namespace headroom::test::engine_failure_test
