// `headroom-mpi STUDY -o FILE`: a study on the ranks of an MPI job. A separate program, so that
// `headroom` starts without MPI. Rank 0 owns the results file and hands out a run, or when none is
// left a whole search, to each rank that asks. It stores the same as `headroom sweep`. When a rank
// is lost, MPI ends the job; the file keeps what was stored until then, and --resume continues.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <boost/mpi.hpp>
#include <boost/serialization/string.hpp>
#include <boost/serialization/utility.hpp>
#include <boost/serialization/vector.hpp>
#include <chrono>
#include <cstdio>
#include <optional>
#include <thread>

#include "sim/app/failure.hpp"
#include "sim/app/interruption.hpp"
#include "sim/app/list.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/kernel/visible_text.hpp"
#include "sim/report/files/result_files.hpp"
#include "sim/report/json/result_json.hpp"
#include "sim/resolve/run_verdict.hpp"
#include "sim/study/search/finish_searches.hpp"
#include "sim/study/search/search_runner.hpp"
#include "sim/study/store/results_store.hpp"
#include "sim/study/sweep/study_plan.hpp"
#include "sim/study/sweep/study_runner.hpp"

namespace headroom {

// From rank 0: a run, a search with its probes that are stored, or neither: no more will come.
struct MpiOrder {
  static constexpr std::int64_t kNone = -1;
  std::int64_t run = kNone;
  std::int64_t search = kNone;  // its place in tasks_of
  std::vector<StoredProbe> known;

  [[nodiscard]] bool is_last() const { return run == kNone && search == kNone; }
};

// To rank 0: what came of an order.
struct MpiResult {
  std::optional<StoredRun> run;
  std::optional<SearchAnswer> search;
};

}  // namespace headroom

namespace boost::serialization {

// Boost knows its own optional only.
template <typename Archive, typename T>
void serialize_optional(Archive& archive, std::optional<T>& value) {
  bool is_there = value.has_value();
  archive& is_there;
  if (!is_there) return;
  if (!value) value.emplace();
  archive&* value;
}

template <typename Archive>
void serialize(Archive& archive, headroom::StoredOom& oom, unsigned /*version*/) {
  archive& oom.kind& oom.count& oom.first_time_s;
}

template <typename Archive>
void serialize(Archive& archive, headroom::StoredRun& run, unsigned /*version*/) {
  archive& run.run& run.point& run.replication& run.seed& run.done& run.error& run.digest;
  serialize_optional(archive, run.stationary);
  archive& run.summary& run.metrics& run.ooms;
}

template <typename Archive>
void serialize(Archive& archive, headroom::StoredProbe& probe, unsigned /*version*/) {
  archive& probe.search& probe.value& probe.run;
}

template <typename Archive>
void serialize(Archive& archive, headroom::StoredSearch& row, unsigned /*version*/) {
  archive& row.search& row.point& row.name& row.kind& row.status& row.detail;
  serialize_optional(archive, row.value);
  serialize_optional(archive, row.low);
  serialize_optional(archive, row.high);
}

template <typename Archive>
void serialize(Archive& archive, headroom::SearchAnswer& answer, unsigned /*version*/) {
  archive& answer.probes& answer.row;
}

template <typename Archive>
void serialize(Archive& archive, headroom::MpiOrder& order, unsigned /*version*/) {
  archive& order.run& order.search& order.known;
}

template <typename Archive>
void serialize(Archive& archive, headroom::MpiResult& result, unsigned /*version*/) {
  serialize_optional(archive, result.run);
  serialize_optional(archive, result.search);
}

}  // namespace boost::serialization

namespace headroom {
namespace {

namespace mpi = boost::mpi;

const std::string kVersion = HEADROOM_VERSION;

// From a rank to rank 0: a request for the first job, or a result and a request for the next.
constexpr int kAsk = 1;
constexpr int kBring = 2;
// From rank 0: an order.
constexpr int kWork = 3;
constexpr std::chrono::milliseconds kPause{1};  // rank 0 looks for messages so often

struct MpiArguments {
  std::string study;
  std::string output;
  std::vector<std::string> set;
  std::string catalog;
  bool resume = false;
};

std::string summary_of(const RunResult& result, const Catalog& catalog) {
  const RunVerdict verdict = judge_run(result, catalog);
  return summary_json(result, kVersion, &verdict);
}

// What is to do, and how far it is.
struct MpiWork {
  std::vector<std::int64_t> runs;
  std::vector<SearchTask> searches;
  SweepState run_state = {};
  SearchState search_state = {};

  [[nodiscard]] bool is_done() const {
    return run_state.stored == run_state.wanted && search_state.done == search_state.wanted;
  }
  [[nodiscard]] bool has_failed() const { return run_state.failed + search_state.failed > 0; }
};

// Hands out orders and stores what comes back, until every other rank has been told that no more
// will come.
class Desk {
 public:
  Desk(const mpi::communicator& world, const StudyPlan& plan, const std::atomic<bool>& interrupted,
       MpiWork& work, ResultsStore& store)
      : world_(world),
        all_(tasks_of(plan, {})),
        interrupted_(interrupted),
        work_(work),
        store_(store) {}

  void serve() {
    for (int working = world_.size() - 1; working > 0;) {
      const auto message = world_.iprobe(mpi::any_source, mpi::any_tag);
      if (!message) {
        std::this_thread::sleep_for(kPause);
        continue;
      }
      if (message->tag() == kBring) {
        MpiResult result;
        world_.recv(message->source(), kBring, result);
        keep(result);
      } else {
        world_.recv(message->source(), kAsk);
      }
      const MpiOrder order = next_order();
      world_.send(message->source(), kWork, order);
      if (order.is_last()) --working;
    }
  }

 private:
  void keep(const MpiResult& result) {
    if (result.run) {
      store_.add(*result.run);
      ++work_.run_state.stored;
      if (!result.run->done) ++work_.run_state.failed;
    }
    if (!result.search) return;
    Transaction transaction(store_.database());
    SearchRows rows(store_.database());
    for (const StoredProbe& probe : result.search->probes) rows.add(probe);
    rows.add(result.search->row);
    transaction.commit();
    ++work_.search_state.done;
    work_.search_state.probes += std::ssize(result.search->probes);
    if (result.search->row.status == name_of(SearchEnd::failed)) ++work_.search_state.failed;
  }

  MpiOrder next_order() {
    MpiOrder order;
    if (interrupted_) return order;
    if (next_run_ < work_.runs.size()) {
      order.run = work_.runs[next_run_++];
    } else if (next_search_ < work_.searches.size()) {
      const SearchTask& task = work_.searches[next_search_++];
      order.search = std::ranges::find(all_, task) - all_.begin();
      const auto number = static_cast<std::int64_t>(task.search);
      order.known = read_probes(store_.database(), number, task.point);
    }
    return order;
  }

  const mpi::communicator& world_;
  const std::vector<SearchTask> all_;
  const std::atomic<bool>& interrupted_;
  MpiWork& work_;
  ResultsStore& store_;
  std::size_t next_run_ = 0;
  std::size_t next_search_ = 0;
};

void work(const mpi::communicator& world, const StudyPlan& plan, const Catalog& catalog) {
  const std::vector<SearchTask> tasks = tasks_of(plan, {});
  const auto summary = [&](const RunResult& result) { return summary_of(result, catalog); };
  world.send(0, kAsk);
  while (true) {
    MpiOrder order;
    world.recv(0, kWork, order);
    if (order.is_last()) return;
    // An interrupted job stores what is in progress: rank 0 hands out nothing after that.
    MpiResult result;
    if (order.run != MpiOrder::kNone) {
      result.run = make_run(plan, catalog, order.run, summary, nullptr);
    } else {
      result.search = make_search(plan, catalog, tasks[static_cast<std::size_t>(order.search)],
                                  std::move(order.known));
    }
    world.send(0, kBring, result);
  }
}

void lead(const mpi::communicator& world, const StudyPlan& plan, const Catalog& catalog,
          const std::atomic<bool>& interrupted, MpiWork& work, ResultsStore& store) {
  work.run_state.wanted = std::ssize(work.runs);
  work.search_state.wanted = std::ssize(work.searches);
  if (world.size() > 1) return Desk(world, plan, interrupted, work, store).serve();
  SweepOptions options;
  options.interrupted = &interrupted;
  options.summary = [&](const RunResult& result) { return summary_of(result, catalog); };
  work.run_state = run_study(plan, catalog, work.runs, store, options);
  if (interrupted) return;
  SearchOptions search;
  search.interrupted = &interrupted;
  work.search_state = run_searches(plan, catalog, work.searches, store, search);
}

// What every rank reads for itself. UserError on all ranks when any of them cannot.
class SharedPlan {
 public:
  SharedPlan(const mpi::communicator& world, const MpiArguments& arguments) {
    std::string error;
    try {
      catalog_ = load_catalog(arguments.catalog);
      plan_.emplace(load_study(arguments.study, arguments.set));
    } catch (const UserError& wrong) {
      error = wrong.what();
    }
    std::vector<std::string> errors;
    mpi::all_gather(world, error, errors);
    std::vector<std::string> hashes;
    mpi::all_gather(world, plan_ ? plan_->study().sha256 : std::string(), hashes);
    for (std::size_t rank = 0; rank < errors.size(); ++rank) {
      if (!errors[rank].empty()) {
        throw ConfigError(rank == 0 ? errors[rank]
                                    : fmt::format("rank {}: {}", rank, errors[rank]));
      }
      if (hashes[rank] != hashes[0]) {
        throw ConfigError(
            Complaint{.origin = arguments.study,
                      .problem = fmt::format("rank {} reads a different study or base scenario "
                                             "than rank 0: give all machines the same files",
                                             rank)});
      }
    }
  }
  [[nodiscard]] const Catalog& catalog() const { return catalog_; }
  [[nodiscard]] const StudyPlan& plan() const { return *plan_; }

 private:
  Catalog catalog_;
  std::optional<StudyPlan> plan_;
};

// The file is opened on rank 0 alone; no other rank begins before that has worked.
int sweep(const mpi::communicator& world, const MpiArguments& arguments,
          const std::atomic<bool>& interrupted) {
  const SharedPlan shared(world, arguments);
  const StudyPlan& plan = shared.plan();
  if (world.rank() != 0) {
    bool open = false;
    mpi::broadcast(world, open, 0);
    if (open) work(world, plan, shared.catalog());
    return open ? 0 : kExitUser;
  }
  MpiWork job;
  bool open = false;
  try {
    plan.check(shared.catalog());
    ResultsStore store(arguments.output, arguments.resume ? StoreMode::resume : StoreMode::create,
                       facts_of(plan, kVersion), parameters_of(plan));
    job.runs = missing_runs(plan.runs_of({}), store.done());
    job.searches = missing_tasks(tasks_of(plan, {}), store.database());
    open = true;
    mpi::broadcast(world, open, 0);
    lead(world, plan, shared.catalog(), interrupted, job, store);
    store.finish();
  } catch (...) {
    if (!open) mpi::broadcast(world, open, 0);
    throw;
  }
  finish_searches(arguments.output);
  fmt::print("{} of {} runs, {} failed, {} ranks, in {}\n", job.run_state.stored,
             job.run_state.wanted, job.run_state.failed, world.size(),
             visible_text(arguments.output));
  if (job.search_state.wanted > 0) {
    fmt::print("{} of {} searches, {} failed; they took {} runs\n", job.search_state.done,
               job.search_state.wanted, job.search_state.failed, job.search_state.probes);
  }
  if (!job.is_done()) return interrupted_exit_code();
  return job.has_failed() ? kExitIncomplete : 0;
}

int run_job(int argc, char** argv, const mpi::communicator& world) {
  MpiArguments arguments;
  CLI::App app("Distributes the runs of a study over the ranks of an MPI job.", "headroom-mpi");
  app.set_version_flag("--version", "headroom-mpi " + kVersion);
  app.add_option("study", arguments.study, "a file, or a name of `headroom list studies`")
      ->required();
  app.add_option("-o,--output", arguments.output, "results file (SQLite)")->required();
  app.add_option("--set", arguments.set, "path=value, overrides the base scenario")
      ->allow_extra_args(false);
  app.add_option("--catalog", arguments.catalog,
                 "folder with your own models, devices, environments and calibrations");
  app.add_flag("--resume", arguments.resume, "continue an interrupted study in that file");
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& wanted) {
    return world.rank() == 0 ? app.exit(wanted) : 0;
  } catch (const CLI::ParseError& error) {
    throw ConfigError(fmt::format("command line: {} (see headroom-mpi --help)", error.what()));
  }
  return sweep(world, arguments, stop_on_signals());
}

// Mistakes are known to all ranks, or to rank 0 alone: it speaks for them. Anything else ends the
// job.
int guarded(int argc, char** argv, const mpi::communicator& world) {
  try {
    return run_job(argc, argv, world);
  } catch (...) {
    const Failure failure = current_failure();
    if (failure.exit_code == kExitInternal) {
      fmt::print(stderr, "headroom-mpi: rank {}: {}\n", world.rank(), visible_text(failure.text));
      mpi::environment::abort(failure.exit_code);
    } else if (world.rank() == 0) {
      fmt::print(stderr, "headroom-mpi: {}\n", visible_text(failure.text));
    }
    return failure.exit_code;
  }
}

}  // namespace
}  // namespace headroom

int main(int argc, char** argv) {
  const boost::mpi::environment environment(argc, argv);
  const boost::mpi::communicator world;
  return headroom::guarded(argc, argv, world);
}
