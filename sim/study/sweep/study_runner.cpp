#include "sim/study/sweep/study_runner.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <iterator>
#include <mutex>
#include <new>
#include <optional>
#include <thread>

#include "sim/study/run_pool.hpp"
#include "sim/study/sweep/run_row.hpp"

namespace headroom {
namespace {

constexpr std::chrono::milliseconds kInterval{100};
// Ends a run when its time is up.
class Alarm {
 public:
  explicit Alarm(double seconds)
      : thread_([this, seconds] {
          std::unique_lock lock(mutex_);
          if (!over_.wait_for(lock, std::chrono::duration<double>(seconds),
                              [this] { return off_; }))
            rung_.store(true, std::memory_order_relaxed);
        }) {}
  ~Alarm() {
    {
      const std::lock_guard lock(mutex_);
      off_ = true;
    }
    over_.notify_one();
    thread_.join();
  }
  Alarm(const Alarm&) = delete;
  Alarm& operator=(const Alarm&) = delete;
  [[nodiscard]] const std::atomic<bool>* rung() const { return &rung_; }

 private:
  std::atomic<bool> rung_{false};
  std::mutex mutex_;
  std::condition_variable over_;
  bool off_ = false;
  std::thread thread_;
};

// Points whose time is measured: enough to see that they differ, few enough to be quick.
constexpr std::size_t kSample = 5;

}  // namespace

std::optional<StoredRun> make_row(const std::function<Scenario()>& scenario, const Catalog& catalog,
                                  const std::function<std::string(const RunResult&)>& summary,
                                  const std::atomic<bool>* interrupted) {
  StoredRun row;
  std::int64_t seed = 0;
  try {
    const Scenario made = scenario();
    seed = made.seed;
    const RunResult result = run(made, catalog, {interrupted, nullptr});
    if (result.started && result.stop == StopReason::interrupted) return std::nullopt;
    row = row_of(result, summary ? summary(result) : std::string());
  } catch (const std::bad_alloc&) {
    row = {};
    row.error = "this machine does not have enough memory for the run";
  } catch (const std::exception& error) {
    row = {};
    row.error = error.what();
  }
  row.seed = seed;
  return row;
}

std::optional<StoredRun> make_run(const StudyPlan& plan, const Catalog& catalog,
                                  std::int64_t number,
                                  const std::function<std::string(const RunResult&)>& summary,
                                  const std::atomic<bool>* interrupted) {
  std::optional<StoredRun> row =
      make_row([&] { return plan.scenario(number); }, catalog, summary, interrupted);
  if (!row) return row;
  const std::int64_t replications = plan.study().replications;
  row->run = number;
  row->point = number / replications;
  row->replication = number % replications;
  return row;
}

SweepState run_study(const StudyPlan& plan, const Catalog& catalog,
                     std::span<const std::int64_t> runs, ResultsStore& store,
                     const SweepOptions& options) {
  SweepState state;
  state.wanted = static_cast<std::int64_t>(runs.size());
  const std::size_t threads =
      std::clamp<std::size_t>(options.threads, 1, std::max<std::size_t>(runs.size(), 1));
  RunPool<std::int64_t, StoredRun> pool(
      threads, [&](std::int64_t number, const std::atomic<bool>* stop) {
        return make_run(plan, catalog, number, options.summary, stop);
      });
  for (const std::int64_t number : runs) pool.ask(number);
  while (!pool.is_over()) {
    if (options.interrupted != nullptr && options.interrupted->load(std::memory_order_relaxed)) {
      pool.stop();
    }
    if (const std::optional<StoredRun> row = pool.take(kInterval)) {
      store.add(*row);
      ++state.stored;
      if (!row->done) ++state.failed;
    }
    if (options.progress) options.progress(state);
  }
  return state;
}

StudyFacts facts_of(const StudyPlan& plan, const std::string& version) {
  const Study& study = plan.study();
  return {version, study.name, study.text, study.sha256, plan.runs()};
}

std::vector<StoredParameter> parameters_of(const StudyPlan& plan) {
  std::vector<StoredParameter> all;
  for (std::int64_t point = 0; point < plan.points(); ++point) {
    for (StudyParameter& one : plan.parameters(point)) {
      all.push_back({point, std::move(one.path), std::move(one.json)});
    }
  }
  return all;
}

std::vector<std::int64_t> missing_runs(std::span<const std::int64_t> wanted,
                                       std::span<const std::int64_t> done) {
  std::vector<std::int64_t> missing;
  std::ranges::set_difference(wanted, done, std::back_inserter(missing));
  return missing;
}

SweepEstimate estimate(const StudyPlan& plan, const Catalog& catalog,
                       std::span<const std::int64_t> runs, double seconds_each) {
  using Clock = std::chrono::steady_clock;
  SweepEstimate estimate;
  const std::size_t count = std::min(runs.size(), kSample);
  double seconds = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = count == 1 ? 0 : i * (runs.size() - 1) / (count - 1);
    ++estimate.sampled;
    try {
      const Scenario scenario = plan.scenario(runs[at]);
      std::atomic<std::uint64_t> served{0};
      const Alarm alarm(seconds_each);
      const Clock::time_point start = Clock::now();
      const RunResult result = run(scenario, catalog, {alarm.rung(), &served});
      double took = std::chrono::duration<double>(Clock::now() - start).count();
      if (result.started && result.stop == StopReason::interrupted) {
        ++estimate.scaled;
        const auto all = static_cast<double>(result.workload.requests);
        took *= std::max(1.0, all / static_cast<double>(std::max<std::uint64_t>(served, 1)));
      }
      seconds += took;
    } catch (const std::exception&) {
      ++estimate.failed;
    }
  }
  const std::int64_t measured = estimate.sampled - estimate.failed;
  if (measured > 0) estimate.seconds_per_run = seconds / static_cast<double>(measured);
  return estimate;
}

}  // namespace headroom
