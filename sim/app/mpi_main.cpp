// `headroom-mpi STUDY -o FILE`: the runs of a study on the ranks of an MPI job. A program of its
// own, so that `headroom` starts without MPI. Rank 0 keeps the file of results and hands a run to
// whoever asks; what is stored is what `headroom sweep` stores. When a rank is lost MPI ends the
// job; the file holds what was stored by then, and --resume goes on.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <boost/mpi.hpp>
#include <boost/serialization/string.hpp>
#include <boost/serialization/utility.hpp>
#include <boost/serialization/vector.hpp>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <optional>
#include <thread>

#include "sim/app/list.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/report/result_files.hpp"
#include "sim/study/store/results_store.hpp"
#include "sim/study/sweep/study_plan.hpp"
#include "sim/study/sweep/study_runner.hpp"

namespace boost::serialization {

template <typename Archive>
void serialize(Archive& archive, headroom::StoredOom& oom, unsigned /*version*/) {
  archive& oom.kind& oom.count& oom.first_time_s;
}

template <typename Archive>
void serialize(Archive& archive, headroom::StoredRun& run, unsigned /*version*/) {
  int stationary = run.stationary ? (*run.stationary ? 1 : 0) : -1;
  archive& run.run& run.point& run.replication& run.seed& run.done& run.error& run
      .digest& stationary& run.summary& run.metrics& run.ooms;
  if (stationary >= 0) run.stationary = stationary == 1;
}

}  // namespace boost::serialization

namespace headroom {
namespace {

namespace mpi = boost::mpi;

constexpr int kExitUser = 2;
constexpr int kExitIncomplete = 3;
constexpr int kExitInternal = 70;
constexpr int kExitInterrupted = 130;
const std::string kVersion = HEADROOM_VERSION;

// From a rank to rank 0: it asks for its first run, or brings one and asks for the next.
constexpr int kAsk = 1;
constexpr int kBring = 2;
// From rank 0: the number of a run, or kNoMore.
constexpr int kWork = 3;
constexpr std::int64_t kNoMore = -1;
constexpr std::chrono::milliseconds kPause{1};  // rank 0 looks for messages so often

std::atomic<bool> interrupted{false};
void on_interrupt(int) { interrupted = true; }

struct MpiArguments {
  std::string study;
  std::string output;
  std::vector<std::string> set;
  std::string catalog;
  bool resume = false;
};

std::string summary_of(const RunResult& result) { return summary_json(result, kVersion); }

// Hands out `runs` and stores what comes back, until every other rank has been told that no more
// will come.
SweepState serve(const mpi::communicator& world, const std::vector<std::int64_t>& runs,
                 ResultsStore& store) {
  SweepState state;
  state.wanted = static_cast<std::int64_t>(runs.size());
  std::size_t next = 0;
  for (int working = world.size() - 1; working > 0;) {
    const auto message = world.iprobe(mpi::any_source, mpi::any_tag);
    if (!message) {
      std::this_thread::sleep_for(kPause);
      continue;
    }
    if (message->tag() == kBring) {
      StoredRun row;
      world.recv(message->source(), kBring, row);
      store.add(row);
      ++state.stored;
      if (!row.done) ++state.failed;
    } else {
      world.recv(message->source(), kAsk);
    }
    const bool more = next < runs.size() && !interrupted;
    world.send(message->source(), kWork, more ? runs[next++] : kNoMore);
    if (!more) --working;
  }
  return state;
}

void work(const mpi::communicator& world, const StudyPlan& plan, const Catalog& catalog) {
  world.send(0, kAsk);
  while (true) {
    std::int64_t number = kNoMore;
    world.recv(0, kWork, number);
    if (number == kNoMore) return;
    // An interrupted job stores what is in progress: rank 0 hands out nothing after that.
    const std::optional<StoredRun> row = make_run(plan, catalog, number, summary_of, nullptr);
    world.send(0, kBring, *row);
  }
}

SweepState lead(const mpi::communicator& world, const StudyPlan& plan, const Catalog& catalog,
                const std::vector<std::int64_t>& runs, ResultsStore& store) {
  if (world.size() > 1) return serve(world, runs, store);
  SweepOptions options;
  options.interrupted = &interrupted;
  options.summary = summary_of;
  return run_study(plan, catalog, runs, store, options);
}

// What every rank reads for itself. ConfigError on all ranks when any of them cannot.
class SharedPlan {
 public:
  SharedPlan(const mpi::communicator& world, const MpiArguments& arguments) {
    std::string error;
    try {
      catalog_ = load_catalog(arguments.catalog);
      plan_.emplace(load_study(arguments.study, arguments.set));
    } catch (const ConfigError& wrong) {
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
            fmt::format("{}: rank {} reads another study, or base, than rank 0: give "
                        "all machines the same files",
                        arguments.study, rank));
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
int sweep(const mpi::communicator& world, const MpiArguments& arguments) {
  const SharedPlan shared(world, arguments);
  const StudyPlan& plan = shared.plan();
  if (world.rank() != 0) {
    bool open = false;
    mpi::broadcast(world, open, 0);
    if (open) work(world, plan, shared.catalog());
    return open ? 0 : kExitUser;
  }
  SweepState state;
  bool open = false;
  try {
    plan.check(shared.catalog());
    ResultsStore store(arguments.output, arguments.resume ? StoreMode::resume : StoreMode::create,
                       facts_of(plan, kVersion), parameters_of(plan));
    const std::vector<std::int64_t> missing = missing_runs(plan.runs_of({}), store.done());
    open = true;
    mpi::broadcast(world, open, 0);
    state = lead(world, plan, shared.catalog(), missing, store);
    store.finish();
  } catch (...) {
    if (!open) mpi::broadcast(world, open, 0);
    throw;
  }
  fmt::print("{} of {} runs, {} failed, {} ranks, in {}\n", state.stored, state.wanted,
             state.failed, world.size(), arguments.output);
  if (state.stored < state.wanted) return kExitInterrupted;
  return state.failed > 0 ? kExitIncomplete : 0;
}

int run_job(int argc, char** argv, const mpi::communicator& world) {
  MpiArguments arguments;
  CLI::App app("The runs of a study on the ranks of an MPI job.", "headroom-mpi");
  app.set_version_flag("--version", "headroom-mpi " + kVersion);
  app.add_option("study", arguments.study, "a file, or a name of `headroom list studies`")
      ->required();
  app.add_option("-o,--output", arguments.output, "file of results (SQLite)")->required();
  app.add_option("--set", arguments.set, "path=value, laid over the base")->allow_extra_args(false);
  app.add_option("--catalog", arguments.catalog,
                 "folder with own models, devices, environments, calibrations");
  app.add_flag("--resume", arguments.resume, "go on with that file");
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& wanted) {
    return world.rank() == 0 ? app.exit(wanted) : 0;
  } catch (const CLI::ParseError& error) {
    throw ConfigError(fmt::format("command line: {} (see headroom-mpi --help)", error.what()));
  }
  std::signal(SIGINT, on_interrupt);
  std::signal(SIGTERM, on_interrupt);
  return sweep(world, arguments);
}

// Mistakes are known to all ranks, or to rank 0 alone: it speaks for them. Anything else ends the
// job.
int guarded(int argc, char** argv, const mpi::communicator& world) {
  try {
    return run_job(argc, argv, world);
  } catch (const ConfigError& error) {
    if (world.rank() == 0) fmt::print(stderr, "headroom-mpi: {}\n", error.what());
    return kExitUser;
  } catch (const std::exception& error) {
    fmt::print(stderr, "headroom-mpi: rank {}: {}\n", world.rank(), error.what());
    mpi::environment::abort(kExitInternal);
    return kExitInternal;
  }
}

}  // namespace
}  // namespace headroom

int main(int argc, char** argv) {
  const boost::mpi::environment environment(argc, argv);
  const boost::mpi::communicator world;
  return headroom::guarded(argc, argv, world);
}
