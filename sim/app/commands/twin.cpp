// `headroom twin URL`: a running server is measured, its step costs are fitted, the fit is scored
// on traffic that it has not seen, and the model answers how much is left.

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/app/command.hpp"
#include "sim/app/commands/short_flag.hpp"
#include "sim/app/failure.hpp"
#include "sim/app/interruption.hpp"
#include "sim/app/list.hpp"
#include "sim/app/observing.hpp"
#include "sim/app/threads.hpp"
#include "sim/fidelity/run_validation.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/report/files/replaced_file.hpp"
#include "sim/report/page/twin_page.hpp"
#include "sim/report/text/calibrate_report.hpp"
#include "sim/resolve/resolve.hpp"
#include "sim/resolve/workload_factory.hpp"
#include "sim/study/ask/ask_target.hpp"
#include "workloads/listed_arrivals.hpp"

namespace headroom {
namespace {

namespace fs = std::filesystem;

constexpr const char* kRow = "twin";
constexpr const char* kOneUser = "one-user";
constexpr const char* kManyUsers = "many-users";
constexpr const char* kTraffic = "traffic";
constexpr std::int64_t kRequestsOfOne = 16;
constexpr std::int64_t kRequestsPerUser = 4;
constexpr std::int64_t kMostLoopUsers = 1024;

struct TwinArguments {
  ObserveFlags observe;
  std::vector<std::string> targets;
  std::vector<std::string> fit;
  std::int64_t users = 8;
  std::optional<std::int64_t> threads;
  std::string output;
};

// Signals end a command that has measured half of what it needs; what it has is on disk.
struct TwinInterrupted {};

// What a step of such an engine is made of, as far as two closed loops can tell it apart.
std::vector<std::string> usual_constants(const Calibration& row) {
  const bool is_async = row.mode == EngineMode::async;
  return {is_async ? "step_us" : "host_step_us", "weight_bandwidth_share", "compute_share",
          "attention_row_us", "client_latency_ms"};
}

class TwinMaker {
 public:
  explicit TwinMaker(const TwinArguments& a)
      : a_(a), folder_(a.output), plan_(observe_plan(a.observe, "twin")) {
    if (!plan_.question.scenario.contains("model") || !plan_.question.scenario.contains("device")) {
      throw ConfigError(Complaint{
          .kind = ErrorKind::missing,
          .origin = "twin",
          .problem = "say what serves: its command behind --, a compose file, a log or a scenario; "
                     "or --model, --device and --engine"});
    }
    targets_ = parse_targets(a.targets);
    (void)constants_to_fit(a.fit.empty() ? std::vector<std::string>{"step_us"} : a.fit);
  }

  int run() {
    const std::vector<Arrival> lengths = first_requests();
    Catalog catalog = load_catalog(a_.observe.catalog);
    measure_loop(kOneUser, lengths, 1, kRequestsOfOne);
    measure_loop(kManyUsers, lengths, a_.users, a_.users * kRequestsPerUser);
    measure(kTraffic, plan_.question, [&] { return observed(a_.observe, plan_); });
    fit(catalog);
    score(catalog);
    ask_model(catalog);
    write();
    return 0;
  }

 private:
  // --- measuring ---

  // Of the traffic, without what its prompts share: a prefix cache would hide what they cost.
  std::vector<Arrival> first_requests() const {
    const Workload workload = make_workload(plan_.scenario);
    const auto wanted =
        static_cast<std::size_t>(std::max(kRequestsOfOne, a_.users * kRequestsPerUser));
    std::vector<Arrival> list;
    while (list.size() < wanted && workload.source->next_time() != kNever) {
      list.push_back(workload.source->take());
      list.back().prefix = {};
      list.back().class_id = 0;
    }
    const std::size_t known = list.size();  // a closed loop shows no more than its users
    while (list.size() < wanted) list.push_back(list[list.size() % known]);
    return list;
  }

  void measure_loop(const char* name, const std::vector<Arrival>& lengths, std::int64_t users,
                    std::int64_t requests) {
    const std::vector<Arrival> own(lengths.begin(), lengths.begin() + requests);
    ObservedQuestion question = plan_.question;
    question.classes.clear();
    question.users = users;
    ListedInClosedLoop loop(own, users);
    measure(name, question, [&] { return observed(a_.observe, plan_, loop, requests); });
  }

  // A server that does not even answer the warm-up of a later run ends the twin, too.
  template <typename Measure>
  Observation kept_if_lost(Measure measured) {
    try {
      return measured();
    } catch (const ConfigError& error) {
      if (twin_.runs.empty()) throw;
      throw lost(error.what());
    }
  }

  [[nodiscard]] ConfigError lost(std::string_view why) const {
    return ConfigError(
        Complaint{.kind = ErrorKind::unreadable,
                  .origin = "twin",
                  .problem = fmt::format("{}; what was measured is in {}", why, a_.output)});
  }

  template <typename Measure>
  void measure(const char* name, ObservedQuestion question, Measure measured) {
    fmt::print(stderr, "measuring {}\n", name);
    ObservationFolder folder((folder_ / "runs" / name).string());
    Observation seen = kept_if_lost(measured);
    name_release(seen, question.scenario);
    (void)folder.write(seen, question, kVersion);
    plan_.question.scenario = question.scenario;
    if (seen.end == ObservationEnd::interrupted) throw TwinInterrupted{};
    if (seen.end == ObservationEnd::server_lost) throw lost("the server was lost");
    TwinRun& run = twin_.runs.emplace_back();
    run.seen = std::move(seen);
    run.is_fitted_on = name != std::string(kTraffic);
  }

  // --- the model ---

  [[nodiscard]] std::string runs_folder() const { return (folder_ / "runs").string(); }

  // The row that the catalog has for the system, as one of its own device.
  Calibration starting_row(const Catalog& catalog, const MeasuredRun& run) {
    const RunResult result = replay(run, catalog);
    twin_.started_from = result.cost.calibration;
    Calibration row = catalog.calibration(result.cost.calibration);
    const DeviceSpec& device = result.resolved.device;
    row.id = kRow;
    row.device = device.id;
    row.engine = result.resolved.engine->cost_family;
    row.bandwidth_bytes_per_s = device.bandwidth_bytes_per_s;
    row.peak_flops = device.fp16_flops;
    row.only_models.clear();
    row.only_dense = row.prompts_by_kernels = false;
    row.fitted_runs.clear();
    row.observed.clear();
    row.observed_elsewhere.clear();
    row.source = "headroom twin, " + twin_.runs.back().seen.started_utc;
    return row;
  }

  void fit(Catalog& catalog) {
    const MeasuredRuns measured = read_measured_runs(runs_folder(), catalog);
    for (const ExcludedRun& run : measured.excluded) {
      throw ConfigError(
          Complaint{.origin = "twin", .problem = fmt::format("{}: {}", run.data_set, run.why)});
    }
    const Calibration row = starting_row(catalog, measured.runs.front());
    catalog.put(row);
    for (TwinRun& run : twin_.runs) {
      run.before = replay_and_score(run_named(measured, run), catalog, kRow);
    }
    twin_.fit = calibrate({.directory = runs_folder(),
                           .calibration = kRow,
                           .runs = {kOneUser, kManyUsers},
                           .fit = a_.fit.empty() ? usual_constants(row) : a_.fit},
                          catalog);
    catalog.put(twin_.fit.calibration);
  }

  const MeasuredRun& run_named(const MeasuredRuns& measured, const TwinRun& run) const {
    constexpr std::array kNames{kOneUser, kManyUsers, kTraffic};
    const auto at = static_cast<std::size_t>(&run - twin_.runs.data());
    return *std::ranges::find(measured.runs, std::string(kNames.at(at)), &MeasuredRun::data_set);
  }

  void score(const Catalog& catalog) {
    const MeasuredRuns measured = read_measured_runs(runs_folder(), catalog);
    for (TwinRun& run : twin_.runs) {
      const MeasuredRun& recorded = run_named(measured, run);
      run.after = replay_and_score(recorded, catalog, kRow);
      const RunResult result = replay(recorded, catalog, kRow);
      const auto records = std::span(result.recorder->records());
      run.replay.assign(records.begin(), records.end());
      run.client_latency = result.cost.client_latency;
    }
  }

  void ask_model(const Catalog& catalog) {
    ScenarioDocument document{.json = {"twin", plan_.question.scenario, {}},
                              .directory = plan_.scenario.directory};
    set_value(document.json, "cost.level=calibrated");
    set_value(document.json, fmt::format("cost.calibration={}", kRow));
    twin_.scenario = document.json.root.dump(2) + "\n";
    AskQuery query;
    query.document = document;
    query.targets = targets_;
    twin_.answer = ask(query, catalog, {threads_of(a_.threads), &stop_on_signals()});
    if (stop_on_signals()) throw TwinInterrupted{};
    twin_.next = fmt::format("headroom ask {0}/scenario.json --catalog {0}", a_.output);
  }

  void write() const {
    const auto put = [&](const char* name, const std::string& text) {
      ReplacedFile((folder_ / name).string()).publish(text);
    };
    put("calibrations.json", calibrations_file(twin_.fit.calibration));
    put("scenario.json", twin_.scenario);
    put("index.html", twin_page(twin_, kVersion));
    print(twin_text(twin_, (folder_ / "index.html").string()));
  }

  const TwinArguments& a_;
  fs::path folder_;
  ObservePlan plan_;
  std::vector<Limit> targets_;
  Twin twin_;
};

int twin_command(const TwinArguments& a) {
  if (a.users < 1 || a.users > kMostLoopUsers) {
    throw ConfigError(fmt::format("--loop-users: expected 1 to {}", kMostLoopUsers));
  }
  try {
    return TwinMaker(a).run();
  } catch (const TwinInterrupted&) {
    return interrupted_exit_code();
  } catch (const UserError&) {
    if (stop_on_signals()) return interrupted_exit_code();
    throw;
  }
}

std::function<int()> add_twin(CLI::App& command) {
  const auto a = std::make_shared<TwinArguments>();
  add_observe_options(command, a->observe);
  command.add_option("--slo", a->targets, "targets: p99_ttft=2s,p95_tpot=50ms")
      ->allow_extra_args(false);
  with_short_numbers(
      command.add_option("--loop-users", a->users,
                         "users of the second measurement that constants are fitted on (8)"),
      "users");
  command
      .add_option("--fit", a->fit,
                  "constants to fit, as `calibrate` names them: a,b,... (five usual ones)")
      ->delimiter(',');
  command.add_option("-j,--threads", a->threads, "runs in parallel (all cores)");
  command.add_option("-o,--output", a->output, "new folder for measurements, model and page")
      ->required();
  return [a] { return twin_command(*a); };
}

}  // namespace

const Command kTwinCommand{"twin", "measure a running server, fit its model, show what is left",
                           add_twin};

}  // namespace headroom
