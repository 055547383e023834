// VERIFICATION V3, C12 and C17: laws without chance, to the nanosecond.

#include <catch2/catch.hpp>
#include <random>

#include "sim/metrics/fan_out.hpp"
#include "sim/metrics/recorder.hpp"
#include "sim/metrics/serving_metrics.hpp"
#include "tests/laws/law_schedulers.hpp"
#include "tests/laws/law_support.hpp"
#include "tests/support/production.hpp"

namespace headroom::laws::exact_laws_test {
namespace {

// --- C12: closed loop, N = 32 users without thinking, L = 200 tokens, step = 10 + .25 n ms ------

// A user sends its next request in the nanosecond (or `think_ns` after it) in which its last one
// ends.
class ClosedLoop final : public WorkloadSource {
 public:
  ClosedLoop(std::int64_t users, std::int64_t requests, TimeNs think_ns)
      : left_(requests - users), ready_(users), think_ns_(think_ns) {}

  [[nodiscard]] TimeNs next_time() override { return ready_ > 0 ? now_ns_ : kNever; }
  [[nodiscard]] Arrival take() override {
    --ready_;
    return {.time_ns = now_ns_, .prompt_tokens = 1, .output_tokens = 200};
  }
  void on_done(std::uint64_t, Outcome, TimeNs now_ns) override {
    now_ns_ = now_ns + think_ns_;
    if (left_ == 0) return;
    --left_;
    ++ready_;
  }

 private:
  std::int64_t left_;
  std::int64_t ready_;
  TimeNs think_ns_;
  TimeNs now_ns_ = 0;
};

// Counts the steps that are not 32 sequences in 18 ms exactly.
class StepChecker final : public MetricsSink {
 public:
  void on_steps(const StepRun& run) override {
    const bool right = run.shape->decode_rows + run.shape->chunk_rows == 32 &&
                       run.first_ticks == 18 * kMs && run.slope_ticks == 0;
    if (!right) wrong += run.steps;
  }
  void on_request(const RequestRecord&) override {}
  void on_event(const EngineEvent&) override {}
  void on_idle(std::uint16_t, TickSum, const ReplicaState&) override {}

  StepCount wrong = 0;
};

Experiment loop_engine() {
  Experiment engine;
  engine.cost = {.step = 10 * kMs, .decode_row = kMs / 4, .chunk_row = kMs / 4};
  return engine;
}

struct Loop {
  std::int64_t users = 32;
  TimeNs think_ns = 0;
  Experiment engine = loop_engine();
};

// All users stay in step: 50 rounds of 200 steps of 18 ms, 180 s in all; 32 tokens per 18 ms are
// 1777.8 tokens/s.
bool closed_loop_holds(const Loop& loop) {
  constexpr std::int64_t kRequests = 32 * 50;
  ClosedLoop users(loop.users, kRequests, loop.think_ns);
  Recorder recorder;
  StepChecker steps;
  FanOut sinks({&recorder, &steps});
  run_replica(loop.engine, users, sinks);
  const ServingMetrics metrics = serving_metrics(recorder.records(), nullptr, {});
  return steps.wrong == 0 && metrics.completed == kRequests && metrics.duration == 180.0 &&
         metrics.output_throughput == 32 * 200 * 50 / 180.0;
}

TEST_CASE("law C12: a closed loop without thinking keeps its batch full") {
  REQUIRE(closed_loop_holds({}));
}

TEST_CASE("law C12 refuses slower steps, lost wake-ups, a lost user and a nanosecond of thought") {
  Loop wrong;
  wrong.engine = slower(wrong.engine);
  REQUIRE_FALSE(closed_loop_holds(wrong));
  Loop lost;
  lost.engine.scheduler = losing_wake_ups();
  REQUIRE_FALSE(closed_loop_holds(lost));
  REQUIRE_FALSE(closed_loop_holds({.users = 31}));
  REQUIRE_FALSE(closed_loop_holds({.think_ns = 1}));
}

// --- C17: a lone request of P tokens in chunks of q, affine cost: TTFT = ceil(P / q) a + c P
// ------

struct Lone {
  std::int32_t prompt = 0;
  std::int32_t chunk = 0;
  TimeNs a_ns = 0;
  TimeNs c_ns = 0;
};

Lone random_lone(std::mt19937_64& engine) {
  Lone lone;
  lone.prompt = 1 + static_cast<std::int32_t>(engine() % 5000);
  lone.chunk = 1 + static_cast<std::int32_t>(engine() % 700);
  lone.a_ns = 1 + static_cast<TimeNs>(engine() % 10'000'000);
  lone.c_ns = static_cast<TimeNs>(engine() % 10'000);
  return lone;
}

// `distort`: what the engine does otherwise than the law says.
bool lone_prefill_holds(const Lone& lone, void (*distort)(oracle::Scenario&)) {
  constexpr TimeNs kArrival = 12'345;
  oracle::Scenario s;
  s.arrivals = {{.time_ns = kArrival, .prompt_tokens = lone.prompt, .output_tokens = 2}};
  s.max_num_seqs = 1;
  s.max_num_batched_tokens = lone.chunk;
  s.max_model_len = lone.prompt + 2;
  s.kv_blocks = lone.prompt + 2;
  s.cost = {.step = lone.a_ns * kTicksPerNs, .chunk_token = lone.c_ns * kTicksPerNs};
  distort(s);
  const oracle::Result result = test::run_production(s);
  const TimeNs chunks = (lone.prompt + lone.chunk - 1) / lone.chunk;
  const TimeNs ttft_ns = chunks * lone.a_ns + lone.c_ns * lone.prompt;
  return result.requests.front().first_token_ns == kArrival + ttft_ns;
}

bool lone_prefills_hold(void (*distort)(oracle::Scenario&)) {
  std::mt19937_64 engine(17);
  for (int i = 0; i < 500; ++i) {
    if (!lone_prefill_holds(random_lone(engine), distort)) return false;
  }
  return true;
}

TEST_CASE("law C17: a lone prompt takes its chunks' constants and its tokens, exactly") {
  REQUIRE(lone_prefills_hold([](oracle::Scenario&) {}));
}

TEST_CASE("law C17 refuses another chunk size, a price per chunk, and a nanosecond per step") {
  REQUIRE_FALSE(lone_prefills_hold([](oracle::Scenario& s) { ++s.max_num_batched_tokens; }));
  REQUIRE_FALSE(lone_prefills_hold([](oracle::Scenario& s) { s.cost.chunk_row = kTicksPerNs; }));
  REQUIRE_FALSE(lone_prefills_hold([](oracle::Scenario& s) { s.cost.step += kTicksPerNs; }));
}

}  // namespace
}  // namespace headroom::laws::exact_laws_test
