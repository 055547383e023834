// VERIFICATION V3, C1 to C5: one slot, prompts only. Times in ms, rates per ms.

#include <catch2/catch.hpp>
#include <cmath>
#include <utility>
#include <vector>

#include "sim/metrics/serving_metrics.hpp"
#include "tests/laws/law_schedulers.hpp"
#include "tests/laws/law_support.hpp"

namespace headroom::laws::one_slot_laws_test {
namespace {

// --- C1, M/D/1: every step takes S = 10; T = S + rho S / (2 (1 - rho)), Lq = rate * Wq ----------

Experiment deterministic(double rate) {
  Experiment e;
  e.rate_per_ms = rate;
  e.max_num_seqs = 1;
  e.cost.step = 10 * kMs;
  return e;
}

// Time average of the number waiting: the time that requests of the window waited, per time.
double mean_queue(const LawRun& run) {
  return run.wait_ms() * static_cast<double>(run.steady().size() - 1) /
         (static_cast<double>(run.to_ns() - run.from_ns()) / kNsPerMsReal);
}

bool md1_holds(const Experiment& e) {
  const double rho = e.rate_per_ms * 10;
  const double wait = rho * 10 / (2 * (1 - rho));
  const auto m = measure(e, [](const LawRun& run) {
    return std::vector<double>{run.sojourn_ms(), mean_queue(run)};
  });
  const bool sojourn = law_holds("C1 T", 10 + wait, m[0]);
  return law_holds("C1 Lq", e.rate_per_ms * wait, m[1]) && sojourn;
}

// rate .05: T = 15, Lq = .25; rate .08: T = 30, Lq = 1.6.
TEST_CASE("law C1: constant service in one slot waits as M/D/1 says") {
  REQUIRE(md1_holds(deterministic(.05)));
  REQUIRE(md1_holds(deterministic(.08)));
}

TEST_CASE("law C1 refuses slower steps and lost wake-ups") {
  REQUIRE_FALSE(md1_holds(brief(slower(deterministic(.05)))));
  Experiment lost = deterministic(.05);
  lost.scheduler = losing_wake_ups();
  REQUIRE_FALSE(md1_holds(brief(lost)));
}

// --- C2, M/M/1: T = S / (1 - rho), quantile p of the sojourn = -T ln(1 - p) ---------------------

// A prompt token costs 1 ns; prompts of 10^7 tokens on average.
Experiment exponential_service(double rate) {
  Experiment e;
  e.rate_per_ms = rate;
  e.max_num_seqs = 1;
  e.draw_prompt = exponential(10 * kNsPerMsReal);
  e.cost.chunk_token = kTicksPerNs;
  return e;
}

bool mm1_holds(const Experiment& e) {
  const double mean = 10 / (1 - e.rate_per_ms * 10);
  const auto m = measure(e, [](const LawRun& run) {
    const ServingMetrics metrics = serving_metrics(run.steady(), nullptr, {});
    return std::vector<double>{metrics.mean_e2el_ms, metrics.median_e2el_ms, metrics.p99_e2el_ms};
  });
  const bool sojourn = law_holds("C2 T", mean, m[0]);
  const bool median = law_holds("C2 p50", mean * std::log(2.0), m[1]);
  return law_holds("C2 p99", mean * std::log(100.0), m[2]) && sojourn && median;
}

// rate .05: T = 20; rate .08: T = 50, p50 = 34.66, p99 = 230.3.
TEST_CASE("law C2: exponential service in one slot has the sojourns of M/M/1") {
  REQUIRE(mm1_holds(exponential_service(.05)));
  REQUIRE(mm1_holds(exponential_service(.08)));
}

TEST_CASE("law C2 refuses slower steps, lost wake-ups and service that is not exponential") {
  REQUIRE_FALSE(mm1_holds(brief(slower(exponential_service(.05)))));
  Experiment lost = exponential_service(.05);
  lost.scheduler = losing_wake_ups();
  REQUIRE_FALSE(mm1_holds(brief(lost)));
  Experiment constant = exponential_service(.05);
  constant.draw_prompt = [](RandomStream&) { return 10'000'000; };
  REQUIRE_FALSE(mm1_holds(brief(constant)));
}

// --- C3 to C5: nine prompts of 1 ms to one of 19 ms, rate .25 -----------------------------------
// E S = 2.8, rho = .225 + .475 = .7, E S^2 = 37; residual work met W0 = .25 * 37 / 2 = 4.625.

constexpr double kResidual = 4.625;

Experiment short_and_long(SchedulerMaker scheduler) {
  Experiment e;
  e.rate_per_ms = .25;
  e.requests = 30'000;
  e.prompt.law = LengthLaw::empirical;
  e.prompt.values = {1, 19};
  e.prompt.weights = {9, 1};
  e.max_num_seqs = 1;
  e.scheduler = std::move(scheduler);
  e.cost.chunk_token = kMs;
  return e;
}

// Wq = W0 / (1 - rho) = 15.417, T = 18.217.
bool pollaczek_khinchine_holds(const Experiment& e) {
  const auto m = measure(e, [](const LawRun& run) {
    return std::vector<double>{run.wait_ms(), run.sojourn_ms()};
  });
  const bool wait = law_holds("C3 Wq", kResidual / .3, m[0]);
  return law_holds("C3 T", kResidual / .3 + 2.8, m[1]) && wait;
}

TEST_CASE("law C3: mixed prompts in order of arrival wait as Pollaczek and Khinchine say") {
  REQUIRE(pollaczek_khinchine_holds(short_and_long(nullptr)));  // production's vllm
}

TEST_CASE("law C3 refuses slower steps, lost wake-ups and another order") {
  REQUIRE_FALSE(pollaczek_khinchine_holds(brief(slower(short_and_long(nullptr)))));
  REQUIRE_FALSE(pollaczek_khinchine_holds(brief(short_and_long(losing_wake_ups()))));
  REQUIRE_FALSE(pollaczek_khinchine_holds(brief(short_and_long(one_slot(Order::shortest_first)))));
}

// Cobham: Wq = W0 / (1 - .225) = 5.968 for the short, W0 / ((1 - .225)(1 - .7)) = 19.892 for the
// long ones, 7.360 for all.
bool cobham_holds(const Experiment& e) {
  const auto m = measure(e, [](const LawRun& run) {
    return std::vector<double>{run.wait_ms(1), run.wait_ms(19), run.wait_ms()};
  });
  const double of_short = kResidual / .775;
  const double of_long = of_short / .3;
  const bool short_holds = law_holds("C4 Wq short", of_short, m[0]);
  const bool long_holds = law_holds("C4 Wq long", of_long, m[1]);
  return law_holds("C4 Wq", .9 * of_short + .1 * of_long, m[2]) && short_holds && long_holds;
}

TEST_CASE("law C4: shortest first without preemption waits as Cobham says") {
  REQUIRE(cobham_holds(short_and_long(one_slot(Order::shortest_first))));
}

TEST_CASE("law C4 refuses slower steps and other orders") {
  REQUIRE_FALSE(cobham_holds(brief(slower(short_and_long(one_slot(Order::shortest_first))))));
  REQUIRE_FALSE(cobham_holds(brief(short_and_long(one_slot(Order::first_come)))));
  REQUIRE_FALSE(cobham_holds(brief(short_and_long(one_slot(Order::longest_first)))));
}

// Kleinrock: .225 Wq(short) + .475 Wq(long) = rho W0 / (1 - rho) = 10.7917 for every order.
bool conservation_holds(const Experiment& e) {
  const auto m = measure(e, [](const LawRun& run) {
    return std::vector<double>{.225 * run.wait_ms(1) + .475 * run.wait_ms(19)};
  });
  return law_holds("C5 sum of rho Wq", .7 * kResidual / .3, m[0]);
}

TEST_CASE("law C5: no order of one slot changes the mean wait weighted by load") {
  REQUIRE(conservation_holds(short_and_long(nullptr)));
  for (const Order order : {Order::last_come, Order::shortest_first, Order::longest_first}) {
    REQUIRE(conservation_holds(short_and_long(one_slot(order))));
  }
}

TEST_CASE("law C5 refuses slower steps and lost wake-ups") {
  REQUIRE_FALSE(conservation_holds(brief(slower(short_and_long(one_slot(Order::longest_first))))));
  REQUIRE_FALSE(conservation_holds(brief(short_and_long(losing_wake_ups()))));
}

}  // namespace
}  // namespace headroom::laws::one_slot_laws_test
