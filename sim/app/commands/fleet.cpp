// `headroom fleet plan`: the cheapest fleets that keep the targets of a plan, a file or flags.

#include <fmt/format.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/app/command.hpp"
#include "sim/app/commands/short_flag.hpp"
#include "sim/app/emitting.hpp"
#include "sim/app/interruption.hpp"
#include "sim/app/list.hpp"
#include "sim/app/output_name.hpp"
#include "sim/app/plan_flags.hpp"
#include "sim/app/progress.hpp"
#include "sim/app/threads.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/report/files/created_folders.hpp"
#include "sim/report/files/emitted_files.hpp"
#include "sim/report/files/replaced_file.hpp"
#include "sim/report/json/deployment_head.hpp"
#include "sim/report/json/json_text.hpp"
#include "sim/report/json/plan_json.hpp"
#include "sim/report/text/plan_report.hpp"
#include "sim/scenario/options.hpp"
#include "sim/study/plan/fleet_planner.hpp"

namespace headroom {
namespace {

struct FleetPlanArguments {
  std::string plan;                     // a file, or a name; empty: flags
  PlanFlags flags;                      // their trace also takes the place of a file's
  std::string save;                     // file for the plan of the flags; empty: none
  std::string output;                   // folder; empty: results/<name of the plan>
  std::vector<std::string> set;         // path=value, changes the plan
  std::string catalog;                  // folder that overrides the embedded one; empty: none
  std::string emit;                     // form of a deployment; empty: none
  std::optional<std::int64_t> threads;  // empty: all cores
  bool json = false;
};

namespace fs = std::filesystem;

// Opened before the work, so that what cannot be written is known by then.
struct PlanFiles {
  explicit PlanFiles(const std::string& folder)
      : folders(folder, folder + ": cannot write: "),
        plan(folder + "/plan.json"),
        page(folder + "/plan.html"),
        fleet(folder + "/fleet.json") {}
  CreatedFolders folders;
  ReplacedFile plan;
  ReplacedFile page;
  ReplacedFile fleet;
};

std::string folder_of(const FleetPlanArguments& arguments, const FleetPlanFile& plan) {
  if (!arguments.output.empty() || arguments.json) return arguments.output;
  return "results/" + output_name(plan.file, plan.name);
}

// Names of files in a scenario are relative to its own folder.
void move_files(Json& workload, const FleetPlanFile& plan, const std::string& folder) {
  const auto move = [&](Json& part, const char* section, const char* key) {
    if (!part.contains(section) || !part[section].is_object()) return;
    if (!part[section].contains(key) || !part[section][key].is_string()) return;
    const bool of_flag = plan.origins.contains(fmt::format("/workload/{}/{}", section, key));
    const fs::path file =
        fs::path(of_flag ? "" : plan.directory) / part[section][key].get<std::string>();
    if (!file.is_absolute()) part[section][key] = fs::proximate(file, folder).generic_string();
  };
  const auto move_all = [&](Json& part) {
    move(part, "trace", "file");
    move(part, "servegen", "directory");
    move(part, "prompt", "file");
    move(part, "output", "file");
  };
  move_all(workload);
  if (!workload.contains("classes") || !workload["classes"].is_array()) return;
  for (Json& one : workload["classes"]) move_all(one);
}

// As a file in `folder`.
Json chosen_scenario(const FleetPlanFile& plan, const FleetPlanResult& result,
                     const std::string& folder) {
  Json scenario = chosen_scenario(plan, result);
  if (scenario.is_null()) return scenario;
  move_files(scenario["workload"], plan, folder.empty() ? "." : folder);
  return scenario;
}

// Written over on a terminal; elsewhere few lines.
void show_progress(std::size_t done, std::size_t all) {
  if (::isatty(STDERR_FILENO) != 1) {
    if (is_told(done, all)) fmt::print(stderr, "{} of {} candidates sized\n", done, all);
    return;
  }
  fmt::print(stderr, "\r{} of {} candidates sized\033[K{}", done, all,
             done == all ? "\r\033[K" : "");
  std::fflush(stderr);
}

// ", kubernetes.yaml"; of many files the number.
std::string names_of(const EmittedDeployment& emitted) {
  constexpr std::size_t kMostNames = 3;
  if (emitted.files.size() > kMostNames) {
    return fmt::format(", {} files to deploy", emitted.files.size());
  }
  std::string text;
  for (const DeploymentText& file : emitted.files) text += ", " + file.name;
  return text;
}

// A form that does not exist is known before the work.
void check_emit(const FleetPlanArguments& arguments, const std::string& folder) {
  if (arguments.emit.empty()) return;
  check_deployment_form(arguments.emit, "--emit");
  if (folder.empty()) throw ConfigError("--emit writes files: name a folder with -o");
}

// The chosen fleet as files to deploy.
EmittedDeployment emitted_fleet(const FleetPlanArguments& arguments, const FleetPlanFile& plan,
                                const FleetPlanResult& result, const Json& scenario,
                                const Catalog& catalog) {
  if (scenario.is_null()) {
    throw ConfigError(Complaint{.origin = "--emit",
                                .problem = "no fleet keeps the targets, so there is nothing to "
                                           "deploy: " +
                                           plan_verdict(plan, result).reason});
  }
  return emit_deployment(arguments.emit, parse_scenario({plan.file, scenario, plan.origins}),
                         catalog, deployment_head(plan, result, kVersion));
}

struct AskedPlan {
  FleetPlanFile plan;
  std::vector<std::string> assumed;  // by flags
  std::string saved;                 // the text of --save
};

// What stands in a folder names its files from there.
std::string saved_text(Json root, const std::string& file) {
  Json& workload = root["traffic"]["scenario"]["workload"];
  if (workload.contains("trace")) {
    auto& trace = workload["trace"]["file"].get_ref<std::string&>();
    const fs::path folder = fs::path(file).parent_path();
    if (!fs::path(trace).is_absolute()) {
      trace = fs::proximate(trace, folder.empty() ? "." : folder).generic_string();
    }
  }
  return json_text(root);
}

AskedPlan plan_by_flags(const FleetPlanArguments& arguments, const Catalog& catalog) {
  DescribedPlan described = plan_of_flags(arguments.flags, catalog);
  AskedPlan asked;
  asked.plan = set_fleet_plan(described.document, arguments.set);
  asked.assumed = std::move(described.assumed);
  asked.saved = saved_text(std::move(described.document.root), arguments.save);
  return asked;
}

AskedPlan asked_plan(const FleetPlanArguments& arguments, const Catalog& catalog) {
  std::vector<std::string> given = given_flags(arguments.flags);
  if (!arguments.save.empty()) given.emplace_back("--save");
  if (arguments.plan.empty() && given.empty()) {
    throw ConfigError(Complaint{
        .kind = ErrorKind::missing,
        .origin = "fleet plan",
        .problem =
            "name a plan, a file or one of `headroom list plans`; or describe it by --model, "
            "--device, --price, --rate and --slo"});
  }
  if (arguments.plan.empty()) return plan_by_flags(arguments, catalog);
  if (!given.empty()) {
    throw ConfigError(Complaint{
        .kind = ErrorKind::conflict,
        .origin = given.front(),
        .problem = fmt::format("is for a plan by flags, without a file: {} says it itself (--set "
                               "changes it)",
                               arguments.plan)});
  }
  const std::string trace = arguments.flags.traffic.trace.value_or("");
  return {load_fleet_plan(arguments.plan, trace, arguments.set), {}, {}};
}

struct FleetAnswer {
  StudyAnswer answer;
  std::optional<ConfigError> not_emitted;  // the plan is kept all the same
};

FleetAnswer fleet_plan_command(const FleetPlanArguments& arguments, const std::string& version,
                               const std::atomic<bool>& interrupted) {
  const Catalog catalog = load_catalog(arguments.catalog);
  AskedPlan asked = asked_plan(arguments, catalog);
  const FleetPlanFile& plan = asked.plan;
  const std::string folder = folder_of(arguments, plan);
  check_emit(arguments, folder);
  std::optional<PlanFiles> files;
  std::optional<ReplacedFile> saved;
  if (!arguments.save.empty()) saved.emplace(arguments.save);
  if (!folder.empty()) files.emplace(folder);
  PlannerOptions options;
  options.threads = threads_of(arguments.threads);
  options.interrupted = &interrupted;
  options.progress = show_progress;
  const FleetPlanResult result = plan_fleets(plan, catalog, options);
  if (result.interrupted) {
    return {{"interrupted before the plan was ready\n", StudyEnd::interrupted}, {}};
  }

  const Json scenario = chosen_scenario(plan, result, folder);
  std::optional<EmittedDeployment> emitted;
  std::optional<ConfigError> not_emitted;
  if (!arguments.emit.empty()) {
    try {
      emitted = emitted_fleet(arguments, plan, result, scenario, catalog);
    } catch (const ConfigError& error) {
      not_emitted = error;
    }
  }
  if (saved) saved->publish(asked.saved);
  const Json answer = plan_json(plan, result, catalog, version, scenario);
  if (files) {
    files->plan.publish(json_text(answer));
    files->page.publish(plan_page(answer, version));
    if (!scenario.is_null()) files->fleet.publish(json_text(scenario));
    if (emitted) {
      write_emitted_beside(emitted->files, folder);
      tell_not_said(*emitted);
    }
  }
  const std::string written = folder.empty() ? ""
                                             : fmt::format("{}/plan.html, plan.json{}{}", folder,
                                                           scenario.is_null() ? "" : ", fleet.json",
                                                           emitted ? names_of(*emitted) : "");
  return {{arguments.json ? json_text(answer)
                          : plan_text(plan, result, catalog, asked.assumed, written)},
          std::move(not_emitted)};
}

void add_plan_flags(CLI::App& plan, PlanFlags& flags) {
  plan.add_option("--model", flags.models, "without a plan: catalog ids, names or files; a,b,...")
      ->allow_extra_args(false);
  plan.add_option("--device", flags.devices, "instances: 8xl40s,8xh100-sxm")
      ->allow_extra_args(false);
  plan.add_option("--price", flags.prices, "$ per hour of each instance: 8,20")
      ->allow_extra_args(false);
  plan.add_option("--engine", flags.engines, "engines, each with its release or not: vllm@0.19,...")
      ->allow_extra_args(false);
  with_short_numbers(plan.add_option("--rate", flags.traffic.rate, "requests per second"),
                     "requests/s");
  plan.add_option("--in", flags.traffic.prompt, "tokens of a prompt: 3000, 8k (1024)");
  plan.add_option("--out", flags.traffic.output, "tokens of an answer (256)");
  plan.add_option("--trace", flags.traffic.trace, "replay this trace file");
  plan.add_option("--slo", flags.targets, "targets: p99_ttft=1s,p99_tpot=50ms")
      ->allow_extra_args(false);
  plan.add_option("--failures", flags.failures, "replicas that may be gone (0)");
}

std::function<int()> add_fleet(CLI::App& command) {
  const auto a = std::make_shared<FleetPlanArguments>();
  command.require_subcommand(1);
  CLI::App* plan = command.add_subcommand("plan", "find the cheapest fleets that meet the targets");
  plan->add_option("plan", a->plan, "a file, or a name from `list plans`; else --model and so on");
  add_plan_flags(*plan, a->flags);
  plan->add_option("--save", a->save, "also write the plan of these flags to this file");
  plan->add_option("-o,--output", a->output, "folder (results/<name of the plan>)");
  plan->add_option("--set", a->set,
                   "path=value, e.g. traffic.scenario.workload.arrivals.request_rate=200, "
                   "slo.p99_ttft_ms=2s")
      ->allow_extra_args(false);
  plan->add_option("-j,--threads", a->threads, "candidates in parallel (all cores)");
  plan->add_option("--emit", a->emit, "also write the chosen fleet to deploy it: " + forms_help());
  plan->add_option("--catalog", a->catalog, kCatalogHelp);
  plan->add_flag("--json", a->json, "print plan.json; write files only with -o");
  return [a] {
    const FleetAnswer found = fleet_plan_command(*a, kVersion, stop_on_signals());
    const int code = answer_of(found.answer, a->json);
    if (found.not_emitted) throw ConfigError(*found.not_emitted);
    return code;
  };
}

}  // namespace

const Command kFleetCommand{"fleet", "plan a fleet for your traffic and targets", add_fleet};

}  // namespace headroom
