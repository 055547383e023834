#include "sim/api/headroom.hpp"

#include <fmt/format.h>

#include <atomic>
#include <utility>

#include "sim/api/control.hpp"
#include "sim/api/door.hpp"
#include "sim/api/scenario_document.hpp"
#include "sim/api/simulator_data.hpp"
#include "sim/api/tables.hpp"
#include "sim/intake/serve_command.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/kernel/in_parallel.hpp"
#include "sim/memory/audit.hpp"
#include "sim/memory/capacity.hpp"
#include "sim/report/json/ask_json.hpp"
#include "sim/report/json/audit_json.hpp"
#include "sim/report/json/capacity_json.hpp"
#include "sim/report/json/compare_json.hpp"
#include "sim/report/json/json_text.hpp"
#include "sim/report/json/plan_json.hpp"
#include "sim/report/json/result_json.hpp"
#include "sim/resolve/run.hpp"
#include "sim/study/ask/ask.hpp"
#include "sim/study/ask/ask_target.hpp"
#include "sim/study/compare/compare.hpp"
#include "sim/study/plan/fleet_planner.hpp"
#include "sim/study/sweep/run_row.hpp"
#include "sim/study/sweep/study_plan.hpp"
#include "sim/study/sweep/study_runner.hpp"

namespace headroom::api {
namespace {

const std::string kVersion(version());

Metrics metrics_of(const StoredRun& row) { return {row.metrics.begin(), row.metrics.end()}; }

ConfigError wrong_count(std::string_view name, std::int64_t value, std::string problem) {
  return ConfigError(Complaint{
      .origin = std::string(name), .value = std::to_string(value), .problem = std::move(problem)});
}

std::string no_summary(const RunResult&) { return {}; }

std::vector<ChangeAnswer> changes_of(const std::vector<AskChange>& changes) {
  std::vector<ChangeAnswer> answers;
  for (const AskChange& change : changes) {
    const AskCandidate& candidate = change.candidate;
    answers.push_back({.option = candidate.setting.path,
                       .to = candidate.setting.value.dump(),
                       .cost = std::string(name_of(candidate.cost)),
                       .largest_load = change.largest.value_or(0),
                       .holds = change.holds});
  }
  return answers;
}

RunAnswer answer_of(RunResult result, const Catalog& catalog, bool with_tables) {
  RunAnswer answer;
  answer.started = result.started;
  if (result.budget.failure) answer.failure = result.budget.failure->message;
  answer.metrics = metrics_of(row_of(result, {}));
  answer.stop = result.started ? name_of(result.stop) : "startup_oom";
  answer.digest = result.digest;
  answer.warnings = result.warnings;
  const RunVerdict verdict = judge_run(result, catalog);
  answer.json = summary_json(result, kVersion, &verdict);
  if (with_tables) answer.tables = run_tables(std::move(result.recorder));
  return answer;
}

}  // namespace

Simulator::Simulator() : data_(behind_door([] { return std::make_unique<const Data>(); })) {}
Simulator::~Simulator() = default;

std::vector<std::string> Simulator::models() const { return data_->catalog.model_ids(); }
std::vector<std::string> Simulator::devices() const { return data_->catalog.device_ids(); }
std::vector<std::string> Simulator::environments() const {
  return data_->catalog.environment_ids();
}
CommandAnswer Simulator::command(const Scenario& scenario) const {
  return behind_door([&] {
    const headroom::Scenario read = scenario.document_->read();
    const Json& root = scenario.document_->written.json.root;
    Json engine = root.value("engine", Json::object());
    if (engine.is_string()) engine = {{"name", engine}};
    if (!engine.contains("name")) engine["name"] = read.engine.name;
    const std::string model = read.model;
    const bool listed = data_->catalog.has_model(model);
    const std::string repository = listed ? data_->catalog.model(model).hf_repo : "";
    headroom::ServeCommand command =
        headroom::serve_command(engine, repository.empty() ? model : repository);
    return CommandAnswer{std::move(command.text), std::move(command.not_a_flag)};
  });
}

RunAnswer Simulator::run(const Scenario& scenario, const Control& control) const {
  return behind_door([&] {
    const headroom::Scenario read = scenario.document_->read();
    const StopFlag stop(control.stop);
    std::atomic<std::uint64_t> done{0};
    RunAnswer answer;
    with_reports(control, done, 0, [&] {
      answer = answer_of(headroom::run(read, data_->catalog, {&stop.flag(), &done}), data_->catalog,
                         control.tables);
    });
    return answer;
  });
}

CapacityAnswer Simulator::capacity(const Scenario& scenario,
                                   const std::vector<std::int64_t>& contexts) const {
  return behind_door([&] {
    CapacityQuery query;
    for (const std::int64_t tokens : contexts) {
      if (tokens < 1) throw wrong_count("contexts", tokens, "expected at least 1 token");
    }
    query.systems = {scenario.document_->read()};
    query.contexts = contexts;
    const std::vector<CapacityRow> rows = headroom::capacity(query, data_->catalog);
    const CapacityRow& row = rows.front();
    CapacityAnswer answer;
    answer.starts = !row.budget.failure;
    if (row.budget.failure) answer.failure = row.budget.failure->message;
    answer.kv_tokens = row.pool_tokens;
    for (const ContextCapacity& c : row.contexts) {
      answer.contexts.push_back({.tokens = c.tokens,
                                 .requests = c.requests,
                                 .kv_bytes = c.kv_bytes,
                                 .limit = std::string(name_of(c.limit))});
    }
    answer.warnings = row.resolved.warnings;
    answer.json = capacity_json(rows);
    return answer;
  });
}

AuditAnswer Simulator::audit(const Scenario& scenario, std::int64_t context,
                             std::int64_t concurrency) const {
  return behind_door([&] {
    const AuditReport report = headroom::audit(
        {.scenario = scenario.document_->read(), .need = {context, concurrency}, .mitigate = false},
        data_->catalog);
    AuditAnswer answer;
    answer.verdict = name_of(report.verdict);
    for (const AuditTerm& term : report.terms) {
      answer.bytes[std::string(name_of(term.purpose))] = term.bytes;
    }
    for (const Fix& fix : report.fixes) {
      answer.fixes.push_back({fix.option, fix.from, fix.to, std::string(name_of(fix.cost))});
    }
    answer.json = audit_json(report);
    return answer;
  });
}

AskAnswer Simulator::ask(const Scenario& scenario, std::string_view targets,
                         const Control& control) const {
  return behind_door([&] {
    AskQuery query;
    query.document = scenario.document_->written;
    if (!targets.empty()) query.targets = parse_targets({std::string(targets)});
    const StopFlag stop(control.stop);
    const std::atomic<std::uint64_t> done{0};  // how many runs an answer takes shows at its end
    headroom::AskAnswer found;
    with_reports(control, done, 0, [&] {
      found = headroom::ask(query, data_->catalog,
                            {.threads = control.threads, .interrupted = &stop.flag()});
    });
    AskAnswer answer;
    if (found.interrupted) return answer;
    answer.verdict = name_of(found.verdict);
    answer.reason = found.reason;
    if (found.largest_load) {
      answer.largest_load = found.largest_load->largest;
      answer.binds = name_of(found.largest_load->binds);
    }
    answer.changes = changes_of(found.changes);
    answer.hardware = changes_of(found.hardware);
    answer.json = json_text(ask_json(found, query.document.json.root, kVersion));
    return answer;
  });
}

CompareAnswer Simulator::compare(const Scenario& a, const Scenario& b, std::int64_t replications,
                                 const Control& control) const {
  return behind_door([&] {
    if (replications < 1 || replications > kMostReplications) {
      throw wrong_count("replications", replications,
                        fmt::format("expected 1 to {}", kMostReplications));
    }
    Comparison comparison;
    comparison.a = {a.document_->written.json.name, a.document_->read()};
    comparison.b = {b.document_->written.json.name, b.document_->read()};
    comparison.name = comparison.a.label + " and " + comparison.b.label;
    comparison.replications = replications;
    const StopFlag stop(control.stop);
    std::atomic<std::uint64_t> done{0};
    const auto runs = static_cast<std::uint64_t>(2 * replications);
    ComparisonResult result;
    with_reports(control, done, runs, [&] {
      result = headroom::compare(
          comparison, data_->catalog,
          {.threads = control.threads, .interrupted = &stop.flag(), .done = &done});
    });
    CompareAnswer answer;
    if (stop.is_set()) return answer;  // of runs that were cut short
    for (const MetricPair& metric : result.metrics) {
      answer.metrics[metric.name] = {metric.mean_a, metric.mean_b, metric.difference,
                                     metric.half_width};
    }
    answer.json = compare_json(comparison, result, kVersion);
    return answer;
  });
}

std::vector<SweepPoint> Simulator::sweep(std::string_view study_json, const Control& control,
                                         const Origin& origin) const {
  return behind_door([&] {
    const StudyPlan plan(parse_study(parse_json(study_json, origin.name), origin.folder, {}));
    if (!plan.study().searches.empty()) {
      throw ConfigError(
          Complaint{.kind = ErrorKind::unsupported,
                    .origin = origin.name,
                    .problem = "this study searches for values, but sweep runs only points"});
    }
    plan.check(data_->catalog);
    const StopFlag stop(control.stop);
    std::atomic<std::uint64_t> done{0};
    const auto runs = static_cast<std::size_t>(plan.runs());
    std::vector<std::optional<SweepPoint>> points(runs);
    const auto make = [&](std::size_t number) {
      if (stop.is_set()) return;
      const auto run = static_cast<std::int64_t>(number);
      const auto row = make_run(plan, data_->catalog, run, no_summary, &stop.flag());
      if (!row) return;
      SweepPoint point{.parameters = {},
                       .replication = row->replication,
                       .error = row->error,
                       .metrics = metrics_of(*row),
                       .digest = row->digest};
      for (const StudyParameter& parameter : plan.parameters(row->point)) {
        point.parameters[parameter.path] = parameter.json;
      }
      points[number] = std::move(point);
      done.fetch_add(1, std::memory_order_relaxed);
    };
    with_reports(control, done, runs, [&] { in_parallel(runs, control.threads, make); });
    std::vector<SweepPoint> finished;
    for (std::optional<SweepPoint>& point : points) {
      if (point) finished.push_back(std::move(*point));
    }
    return finished;
  });
}

PlanAnswer Simulator::plan(std::string_view plan_json, const Control& control,
                           const Origin& origin) const {
  return behind_door([&] {
    const FleetPlanFile file =
        parse_fleet_plan(parse_json(plan_json, origin.name), origin.folder, {});
    const StopFlag stop(control.stop);
    PlannerOptions options;
    options.threads = control.threads;
    options.interrupted = &stop.flag();
    std::atomic<std::uint64_t> done{0};
    std::atomic<std::uint64_t> all{0};
    options.progress = [&](std::size_t of, std::size_t candidates) {
      done.store(of, std::memory_order_relaxed);
      all.store(candidates, std::memory_order_relaxed);
    };
    FleetPlanResult result;
    Control reports = control;
    if (control.progress) {
      reports.progress = [&](std::uint64_t of, std::uint64_t) {
        control.progress(of, all.load(std::memory_order_relaxed));
      };
    }
    with_reports(reports, done, 0, [&] { result = plan_fleets(file, data_->catalog, options); });
    PlanAnswer answer;
    if (result.interrupted) return answer;
    answer.found = result.chosen.has_value();
    answer.json = json_text(
        headroom::plan_json(file, result, data_->catalog, kVersion, chosen_scenario(file, result)));
    return answer;
  });
}

}  // namespace headroom::api
