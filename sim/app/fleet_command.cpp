#include "sim/app/fleet_command.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "sim/app/list.hpp"
#include "sim/app/threads.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/report/json_text.hpp"
#include "sim/report/plan_report.hpp"
#include "sim/report/replaced_file.hpp"
#include "sim/study/plan/fleet_planner.hpp"

namespace headroom {
namespace {

namespace fs = std::filesystem;

void make_folder(const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw ConfigError(fmt::format("{}: cannot write: {}", folder, error.message()));
}

void write_file(const std::string& path, const std::string& text) {
  ReplacedFile file(path);
  file.write(text);
  file.publish();
}

// Names of files in a scenario are relative to its own folder.
void move_files(Json& workload, const FleetPlanFile& plan, const std::string& folder) {
  const auto move = [&](Json& part, const char* section, const char* key) {
    if (!part.contains(section) || !part[section].is_object()) return;
    if (!part[section].contains(key) || !part[section][key].is_string()) return;
    const bool flag = !plan.origins.empty();
    const fs::path file =
        fs::path(flag ? "" : plan.directory) / part[section][key].get<std::string>();
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

Json chosen_scenario(const FleetPlanFile& plan, const FleetPlanResult& result,
                     const std::string& folder) {
  if (!result.chosen) return nullptr;
  const PlannedFleet& fleet = result.fleets[*result.chosen];
  Json scenario =
      case_json(plan, fleet.candidate, {.scale = plan.scale, .replicas = fleet.replicas});
  move_files(scenario["workload"], plan, folder.empty() ? "." : folder);
  return scenario;
}

// Written over on a terminal; elsewhere nothing.
void show_progress(std::size_t done, std::size_t all) {
  if (::isatty(STDERR_FILENO) != 1) return;
  fmt::print(stderr, "\r{} of {} candidates sized\033[K{}", done, all,
             done == all ? "\r\033[K" : "");
  std::fflush(stderr);
}

}  // namespace

StudyAnswer fleet_plan_command(const FleetPlanArguments& arguments, const std::string& version,
                               const std::atomic<bool>& interrupted) {
  const FleetPlanFile plan = load_fleet_plan(arguments.plan, arguments.trace);
  const Catalog catalog = load_catalog(arguments.catalog);
  PlannerOptions options;
  options.threads = threads_of(arguments.threads);
  options.interrupted = &interrupted;
  options.progress = show_progress;
  const FleetPlanResult result = plan_fleets(plan, catalog, options);
  if (result.interrupted) return {"interrupted: there is no plan yet\n", StudyEnd::interrupted};

  std::string folder = arguments.output;
  if (folder.empty() && !arguments.json) {
    std::string name = plan.name;
    std::ranges::replace(name, '/', '_');
    folder = "results/" + name;
  }
  const Json scenario = chosen_scenario(plan, result, folder);
  const Json answer = plan_json(plan, result, catalog, version, scenario);
  if (!folder.empty()) {
    make_folder(folder);
    write_file(folder + "/plan.json", json_text(answer));
    write_file(folder + "/plan.html", plan_page(answer, version));
    if (!scenario.is_null()) write_file(folder + "/fleet.json", json_text(scenario));
  }
  const std::string files =
      folder.empty() ? "" : fmt::format("{0}/plan.html, plan.json, fleet.json", folder);
  return {arguments.json ? json_text(answer) : plan_text(plan, result, catalog, files)};
}

}  // namespace headroom
