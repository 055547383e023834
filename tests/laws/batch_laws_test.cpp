// VERIFICATION V3, C6 to C10: continuous batching. Times in ms, rates per ms. "Decode only": a
// prompt of one token, priced like a decode, so that L tokens take L steps.

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "scheduler/batching/orca.hpp"
#include "sim/metrics/serving_metrics.hpp"
#include "tests/laws/law_support.hpp"
#include "tests/support/record_sums.hpp"

namespace headroom::laws::batch_laws_test {
namespace {

// Steps of a + b * sequences.
Experiment decode_only(double rate, Ticks a, Ticks b, LengthDraw length) {
  Experiment e;
  e.rate_per_ms = rate;
  e.draw_output = std::move(length);
  e.cost = {.step = a, .decode_row = b, .chunk_row = b};
  return e;
}
LengthDraw constant(std::int32_t tokens) {
  return [tokens](RandomStream&) { return tokens; };
}

// --- C6, processor sharing: step = b n, b = 1, L = 100, rate .007 -------------------------------
// rho = rate L b = .7; T = L b / (1 - rho) = 333.3 whatever the law of L. A step that runs when a
// request arrives holds b (E n^2 / E n) = b (1 + rho) / (1 - rho) = 5.7 at most: the bias.

Experiment shared_processor(LengthDraw length) {
  return decode_only(.007, 0, kMs, std::move(length));
}

bool processor_sharing_holds(const Experiment& e) {
  const auto m =
      measure(e, [](const LawRun& run) { return std::vector<double>{run.sojourn_ms()}; });
  return law_holds("C6 T", 100 / .3, m[0], 5.7);
}

TEST_CASE("law C6: steps in proportion to the batch share the processor, for any law of lengths") {
  REQUIRE(processor_sharing_holds(shared_processor(constant(100))));
  REQUIRE(processor_sharing_holds(shared_processor(geometric(100))));
}

TEST_CASE("law C6 refuses slower steps and one request after the other") {
  REQUIRE_FALSE(processor_sharing_holds(brief(slower(shared_processor(constant(100))))));
  REQUIRE_FALSE(processor_sharing_holds(brief(slower(shared_processor(geometric(100))))));
  // M/D/1 instead: T = 100 + .7 * 100 / .6 = 216.7.
  Experiment queue = shared_processor(constant(100));
  queue.max_num_seqs = 1;
  REQUIRE_FALSE(processor_sharing_holds(brief(queue)));
}

// --- C7: step = a + b n, a = 10, b = .25, L = 200, rate .01 -------------------------------------
// rho = rate L b = .5. N is negative binomial with 1 + a/b = 41 and rho: mean 41 rho / (1 - rho) =
// 41, variance 41 rho / (1 - rho)^2 = 82; T = L (a + b) / (1 - rho) = 4100; TPOT = T / L = 20.5.
// Bias: one mean step, a + b N = 20.3, in T; a 200th of it in TPOT; rate times it in N; and the
// same share of the variance (0.5 %).

Experiment sharing_with_base(LengthDraw length) {
  return decode_only(.01, 10 * kMs, kMs / 4, std::move(length));
}

// Number in system as arrivals of the window find it: with Poisson arrivals, its time average.
std::vector<double> found_in_system(const LawRun& run) {
  std::vector<TimeNs> ends;
  for (const RequestRecord& record : run.records) ends.push_back(record.finish_ns);
  std::sort(ends.begin(), ends.end());
  double sum = 0;
  double squares = 0;
  for (const RequestRecord& record : run.steady()) {
    const auto left = std::upper_bound(ends.begin(), ends.end(), record.arrival_ns) - ends.begin();
    const auto present = static_cast<double>(static_cast<std::ptrdiff_t>(record.index) - left);
    sum += present;
    squares += present * present;
  }
  const double count = static_cast<double>(run.steady().size());
  return {sum / count, squares / count - (sum / count) * (sum / count)};
}

bool sharing_with_base_holds(const Experiment& e) {
  const auto m = measure(e, [](const LawRun& run) {
    const ServingMetrics metrics = serving_metrics(run.steady(), nullptr, {});
    const auto duration = static_cast<double>(run.to_ns() - run.from_ns());
    const auto area = population_integral_ns(run.records, run.from_ns(), run.to_ns());
    const std::vector<double> found = found_in_system(run);
    return std::vector<double>{metrics.mean_e2el_ms, metrics.mean_tpot_ms,
                               static_cast<double>(area) / duration, found[0], found[1]};
  });
  const bool sojourn = law_holds("C7 T", 4100, m[0], 20.3);
  const bool per_token = law_holds("C7 TPOT", 20.5, m[1], .102);
  const bool number = law_holds("C7 N, time average", 41, m[2], .203);
  const bool found = law_holds("C7 N, as found", 41, m[3], .203);
  return law_holds("C7 var N", 82, m[4], .41) && sojourn && per_token && number && found;
}

TEST_CASE("law C7: steps with a constant share are processor sharing that depends on its state") {
  REQUIRE(sharing_with_base_holds(sharing_with_base(constant(200))));
  REQUIRE(sharing_with_base_holds(sharing_with_base(geometric(200))));
}

TEST_CASE("law C7 refuses slower steps and a cap on the batch") {
  REQUIRE_FALSE(sharing_with_base_holds(brief(slower(sharing_with_base(constant(200))))));
  Experiment capped = sharing_with_base(geometric(200));
  capped.max_num_seqs = 40;
  REQUIRE_FALSE(sharing_with_base_holds(brief(capped)));
}

// --- C8, step balance: C7 with a prefill of P = 1000 tokens at c = .02 each, rate .008 ----------
// Time is spent on steps, prompts and decodes: 1 = (a / mean step) + rate (c P + b D), with D
// decode steps per request, so mean step = a / (1 - rate (c P + b D)); mean decode batch = rate D
// mean step.

Experiment with_prefill(std::int64_t output_tokens) {
  Experiment e;
  e.rate_per_ms = .008;
  e.prompt = fixed(1000);
  e.output = fixed(output_tokens);
  e.cost = {.step = 10 * kMs, .decode_row = kMs / 4, .chunk_token = kMs / 50};
  return e;
}

// The prefill step emits the first token: D = output tokens - 1. No bias: it is a balance.
bool step_balance_holds(const Experiment& e) {
  const auto decodes = static_cast<double>(e.output.tokens - 1);
  const double step = 10 / (1 - .008 * (20 + .25 * decodes));
  const auto m = measure(e, [](const LawRun& run) {
    const auto steps = static_cast<double>(run.steps.steps);
    return std::vector<double>{static_cast<double>(run.steps.ticks) / steps / kMs,
                               static_cast<double>(run.steps.decode_rows) / steps};
  });
  const bool mean = law_holds("C8 mean step", step, m[0]);
  return law_holds("C8 mean decode batch", .008 * decodes * step, m[1]) && mean;
}

// D = 200: 22.727 and 36.364. D = 199: 22.624 and 36.018.
TEST_CASE("law C8: the mean step balances arrivals") {
  REQUIRE(step_balance_holds(with_prefill(201)));
  REQUIRE(step_balance_holds(with_prefill(200)));
}

TEST_CASE("law C8: the step balance holds for any chunking and any order") {
  Experiment chunked = with_prefill(201);
  chunked.max_num_batched_tokens = 300;
  chunked.max_num_seqs = 300;
  REQUIRE(step_balance_holds(chunked));
  Experiment orca = with_prefill(201);
  orca.scheduler = [](const SchedulerOptions& options) {
    return std::make_unique<OrcaScheduler>(options);
  };
  orca.max_num_seqs = 60;
  REQUIRE(step_balance_holds(orca));
}

TEST_CASE("law C8 refuses slower steps and chunks that cost extra") {
  REQUIRE_FALSE(step_balance_holds(brief(slower(with_prefill(201)))));
  Experiment extra = with_prefill(201);
  extra.max_num_batched_tokens = 300;
  extra.max_num_seqs = 300;
  extra.cost.chunk_row = kMs;  // four chunks a prompt: 24 ms instead of 20
  REQUIRE_FALSE(step_balance_holds(brief(extra)));
}

// --- C9, M/G/infinity: step a = 10, no cap, L = 200, rate .01 -----------------------------------
// A request waits half a step on average and then takes L of them: T = (L + 1/2) a = 2005. The
// batch at a step is Poisson: mean = variance = rate L a = 20. Exact: no bias.

Experiment no_contention() { return decode_only(.01, 10 * kMs, 0, constant(200)); }

bool infinite_servers_hold(const Experiment& e) {
  const auto m = measure(e, [](const LawRun& run) {
    const auto steps = static_cast<double>(run.steps.steps);
    const double mean = static_cast<double>(run.steps.rows) / steps;
    const double squares = static_cast<double>(run.steps.rows_squared) / steps;
    return std::vector<double>{run.sojourn_ms(), mean, squares - mean * mean};
  });
  const bool sojourn = law_holds("C9 T", 2005, m[0]);
  const bool mean = law_holds("C9 mean batch", 20, m[1]);
  return law_holds("C9 var batch", 20, m[2]) && sojourn && mean;
}

TEST_CASE("law C9: constant steps without a cap serve as M/G/infinity") {
  REQUIRE(infinite_servers_hold(no_contention()));
}

TEST_CASE("law C9 refuses slower steps, steps that grow with the batch, and a cap") {
  REQUIRE_FALSE(infinite_servers_hold(brief(slower(no_contention()))));
  Experiment grows = no_contention();
  grows.cost.decode_row = kMs / 100;
  REQUIRE_FALSE(infinite_servers_hold(brief(grows)));
  Experiment capped = no_contention();
  capped.max_num_seqs = 24;
  REQUIRE_FALSE(infinite_servers_hold(brief(capped)));
}

// --- C10, M/M/8: at most 8 sequences, step 5, L geometric with mean 200, rate .0064 -------------
// S = 1000, 6.4 erlang. Erlang C: P(wait) = .4576; T = S + P(wait) S / (8 - 6.4) = 1286.0.

double erlang_c(int servers, double erlang) {
  double blocked = 1;  // Erlang B by its recursion
  for (int k = 1; k <= servers; ++k) blocked = erlang * blocked / (k + erlang * blocked);
  const double rho = erlang / servers;
  return blocked / (1 - rho * (1 - blocked));
}

Experiment eight_slots() {
  Experiment e = decode_only(.0064, 5 * kMs, 0, geometric(200));
  e.max_num_seqs = 8;
  e.requests = 30'000;
  return e;
}

// Even an unlimited batch waits for the end of the running step, so "waited" is: longer than a
// step.
double share_that_waited(const LawRun& run) {
  std::int64_t waited = 0;
  for (const RequestRecord& record : run.steady()) {
    if (record.first_scheduled_ns - record.arrival_ns > 5'000'000) ++waited;
  }
  return static_cast<double>(waited) / static_cast<double>(run.steady().size());
}

// Bias: one step of 5 in T. Who waits, waits exponentially at rate (8 - 6.4) / 1000: 0.8 % of them
// for less than a step.
bool erlang_c_holds(const Experiment& e) {
  const double waits = erlang_c(8, 6.4);
  const auto m = measure(e, [](const LawRun& run) {
    return std::vector<double>{run.sojourn_ms(), share_that_waited(run)};
  });
  const bool sojourn = law_holds("C10 T", 1000 + waits * 1000 / 1.6, m[0], 5);
  return law_holds("C10 P(wait)", waits, m[1], .008 * waits) && sojourn;
}

TEST_CASE("law C10: a capped batch of constant steps waits as Erlang C says") {
  CHECK(erlang_c(8, 6.4) == Approx(.4576).epsilon(1e-4));
  REQUIRE(erlang_c_holds(eight_slots()));
}

TEST_CASE("law C10 refuses slower steps and another cap") {
  REQUIRE_FALSE(erlang_c_holds(brief(slower(eight_slots()))));
  for (const std::int32_t cap : {7, 9}) {
    Experiment other = eight_slots();
    other.max_num_seqs = cap;
    REQUIRE_FALSE(erlang_c_holds(brief(other)));
  }
}

}  // namespace
}  // namespace headroom::laws::batch_laws_test
