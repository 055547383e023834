#pragma once
// Closed-form laws (VERIFICATION V3) against the production event loop: one run of synthetic
// traffic, and means with their standard errors over independent runs.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sim/kernel/random.hpp"
#include "sim/serving/batch_scheduler.hpp"
#include "sim/serving/metrics_sink.hpp"
#include "sim/serving/options.hpp"
#include "sim/serving/workload_source.hpp"
#include "tests/oracle/oracle_types.hpp"
#include "workloads/lengths.hpp"

namespace headroom::laws {

inline constexpr Ticks kMs = 1'000'000 * kTicksPerNs;

using LengthDraw = std::function<std::int32_t(RandomStream&)>;
using SchedulerMaker = std::function<std::unique_ptr<BatchScheduler>(const SchedulerOptions&)>;

// Poisson arrivals at one replica with more KV than it can ever need.
struct Experiment {
  double rate_per_ms = 1.0;
  std::int64_t requests = 20'000;  // of one run
  LengthOptions prompt;            // one token unless said
  LengthOptions output;
  LengthDraw draw_prompt;  // instead of the law
  LengthDraw draw_output;
  std::int32_t max_num_seqs = INT32_MAX;
  std::int32_t max_num_batched_tokens = INT32_MAX;
  SchedulerMaker scheduler;  // absent: vllm
  int replicas = 1;
  std::string router = "round_robin";
  std::int64_t max_in_flight = 0;  // in the fleet; 0: no limit
  oracle::AffineCost cost{.step = 0};
};

// A length whose mean is `mean`, with the memoryless law on 1, 2, 3 ...
[[nodiscard]] LengthDraw geometric(double mean);
// Nanoseconds (or tokens) of an exponential law, rounded, at least 1.
[[nodiscard]] LengthDraw exponential(double mean);
[[nodiscard]] LengthOptions fixed(std::int64_t tokens);

// Sums over the steps that lie wholly in the steady window.
struct StepTotals {
  StepCount steps = 0;
  TickSum ticks = 0;
  Int128 decode_rows = 0;
  Int128 rows = 0;  // decodes and chunks
  Int128 rows_squared = 0;
};

// The steady window: from the arrival of the request that follows the first tenth to the arrival of
// the one that precedes the last twentieth, so that neither the empty start nor the drain counts.
struct LawRun {
  std::vector<RequestRecord> records;  // all, in order of arrival
  StepTotals steps;

  [[nodiscard]] std::span<const RequestRecord> steady() const;
  [[nodiscard]] TimeNs from_ns() const { return steady().front().arrival_ns; }
  [[nodiscard]] TimeNs to_ns() const { return steady().back().arrival_ns; }

  // Means over the requests of the window, in ms.
  [[nodiscard]] double sojourn_ms() const;
  [[nodiscard]] double wait_ms() const;                            // arrival to first scheduled
  [[nodiscard]] double wait_ms(std::int32_t prompt_tokens) const;  // of those of this length
};

// `observer`, if any, sees the run too.
[[nodiscard]] LawRun run_law(const Experiment& experiment, std::uint64_t seed,
                             MetricsSink* observer = nullptr);

// Replicas for `experiment`'s policies and costs under any workload and sink.
void run_replica(const Experiment& experiment, WorkloadSource& workload, MetricsSink& sink,
                 std::uint64_t router_seed = 1);

struct Estimate {
  double mean = 0;
  double standard_error = 0;
};

// What one run yields, measured in runs of different seeds: one estimate per quantity.
using Measure = std::function<std::vector<double>(const LawRun&)>;
inline constexpr int kReplications = 16;
[[nodiscard]] std::vector<Estimate> measure(const Experiment& experiment,
                                            const Measure& quantities);

// Within 4 standard errors and `bias` (what discrete steps may add) of the expected value. Says
// what it compared in the next assertion's message.
[[nodiscard]] bool law_holds(const char* quantity, double expected, const Estimate& measured,
                             double bias = 0);

// The wrong model that every law must refuse: each step takes 5 % longer.
[[nodiscard]] Experiment slower(Experiment experiment);
// A quarter of the traffic: enough to refuse a wrong model.
[[nodiscard]] Experiment brief(Experiment experiment);

}  // namespace headroom::laws
