#pragma once
// Makes the runs of a study with several threads, and stores each as soon as it is done.

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/resolve/run.hpp"
#include "sim/study/store/results_store.hpp"
#include "sim/study/sweep/study_plan.hpp"

namespace headroom {

struct SweepState {
  std::int64_t wanted = 0;  // runs of this call
  std::int64_t stored = 0;  // of these, failed ones included
  std::int64_t failed = 0;
};

struct SweepOptions {
  std::size_t threads = 1;
  const std::atomic<bool>* interrupted = nullptr;        // ends after what is stored by then
  std::function<std::string(const RunResult&)> summary;  // summary.json, called by any thread
  std::function<void(const SweepState&)> progress = {};  // several times a second, by the caller's
};

// A run in stored form, without its numbers; one that throws counts as failed. Empty: interrupted.
// `summary` may be empty.
[[nodiscard]] std::optional<StoredRun> make_row(
    const std::function<Scenario()>& scenario, const Catalog& catalog,
    const std::function<std::string(const RunResult&)>& summary,
    const std::atomic<bool>* interrupted);

// One run of a study.
[[nodiscard]] std::optional<StoredRun> make_run(
    const StudyPlan& plan, const Catalog& catalog, std::int64_t number,
    const std::function<std::string(const RunResult&)>& summary,
    const std::atomic<bool>* interrupted);

// Runs are taken in the order of `runs`; each is a function of its scenario alone, so what is
// stored does not depend on the number of threads. A run that throws is stored as failed. Runs that
// an interruption cut short are not stored.
[[nodiscard]] SweepState run_study(const StudyPlan& plan, const Catalog& catalog,
                                   std::span<const std::int64_t> runs, ResultsStore& store,
                                   const SweepOptions& options);

// What `store` has to know of a study.
[[nodiscard]] StudyFacts facts_of(const StudyPlan& plan, const std::string& version);
[[nodiscard]] std::vector<StoredParameter> parameters_of(const StudyPlan& plan);
// `wanted` without what is done already; both in order.
[[nodiscard]] std::vector<std::int64_t> missing_runs(std::span<const std::int64_t> wanted,
                                                     std::span<const std::int64_t> done);

// How long a study will take on this machine, from runs of a few of its points.
struct SweepEstimate {
  double seconds_per_run = 0;  // of one thread; mean over the sample
  std::int64_t sampled = 0;    // points
  std::int64_t scaled = 0;     // of these: cut short and scaled by the requests still to come
  std::int64_t failed = 0;     // of these: not part of the mean
};
// Points spread evenly over `runs`; each gets at most `seconds_each`.
[[nodiscard]] SweepEstimate estimate(const StudyPlan& plan, const Catalog& catalog,
                                     std::span<const std::int64_t> runs, double seconds_each);

}  // namespace headroom
