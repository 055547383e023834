#include "sim/resolve/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "sim/kernel/process_memory.hpp"
#include "sim/kernel/seconds.hpp"
#include "sim/metrics/thin_percentiles.hpp"
#include "sim/resolve/factory.hpp"
#include "sim/resolve/fleet_cascade.hpp"
#include "sim/resolve/fleet_factory.hpp"
#include "sim/resolve/parallel.hpp"
#include "sim/resolve/records_memory.hpp"
#include "sim/resolve/run_time_memory.hpp"
#include "sim/resolve/simulation.hpp"
#include "sim/resolve/startup_budget.hpp"

namespace headroom {
namespace {

constexpr std::array<std::string_view, 5> kStopNames{"drained", "until", "max_events",
                                                     "no_progress", "interrupted"};

RunLimits limits_of(const RunSection& section, const RunControl& control) {
  RunLimits limits;
  if (section.until_s) limits.until_ns = ns_from_seconds(*section.until_s);
  if (section.max_events) limits.max_events = static_cast<std::uint64_t>(*section.max_events);
  limits.no_progress_events = static_cast<std::uint64_t>(section.no_progress_events);
  limits.interrupted = control.interrupted;
  return limits;
}

// What only a run shows. `whose`: "" of the run, "class chat: " of a class.
void warn_of_count(std::string_view whose, std::int64_t finished,
                   std::vector<std::string>& warnings) {
  const std::string_view thin = thin_percentiles(finished);
  if (thin.empty()) return;
  warnings.push_back(
      fmt::format("{}{} of {} finished request{} are unreliable: a percentile p needs at least 1 / "
                  "(1 - p) of them (p90 {}, p95 {}, p99 {})",
                  whose, thin, finished, finished == 1 ? "" : "s", kValuesForP90, kValuesForP95,
                  kValuesForP99));
}

void warn_of_counts(RunResult& result) {
  const RunSummary& summary = result.summary;
  warn_of_count("", summary.requests.finished, result.warnings);
  if (!thin_percentiles(summary.requests.finished).empty()) return;  // then those of classes, too
  for (const ClassSummary& one : summary.classes) {
    const std::string& name = result.workload.classes.at(static_cast<std::size_t>(one.class_id));
    warn_of_count(fmt::format("class {}: ", name), one.requests.finished, result.warnings);
  }
}

// How many requests of the longest length the pool holds, where the engine keeps room for it.
std::optional<TokenCount> longest_at_once(const RunResult& result) {
  const AdmissionLimits limits = admission_limits(result.resolved, result.pool_tokens);
  if (!limits.reserves_max_tokens) return std::nullopt;
  return result.pool_tokens / std::max(limits.max_model_len, 1);
}

void warn_of_reservations(RunResult& result) {
  if (!result.workload.leaves_max_tokens_open || !open_lengths_bind(result)) return;
  result.warnings.push_back(fmt::format(
      "requests declare no max_tokens, so the engine keeps room for the longest answer: {} tokens "
      "for each request of a pool of {}, and about {} run at once (set "
      "workload.max_tokens.rule to what clients send: value, times_output or per_class)",
      admission_limits(result.resolved, result.pool_tokens).max_model_len, result.pool_tokens,
      *longest_at_once(result)));
}

void warn_of_outcome(RunResult& result) {
  warn_of_counts(result);
  if (replica_options(result.resolved).responds_at_end) {
    result.warnings.emplace_back(
        "clients see the tokens of a batch only when it ends: TTFT is the whole latency, TPOT and "
        "ITL are 0 (set engine.stream = true to send tokens at once)");
  }
  if (judges_answers(result.resolved.scenario.fleet)) {
    result.warnings.emplace_back(
        "clients see an answer of an escalating route only after the verdict: its TTFT is the "
        "whole latency, its TPOT is 0, and it has no ITL");
  }
  if (!result.summary.windows.stationarity.stationary) {
    result.warnings.emplace_back(
        "not stationary: the backlog grows, so latencies depend on the "
        "length of the run");
    warn_of_reservations(result);
  }
  if (result.recorder->events().not_kept() > 0) {
    result.warnings.push_back(fmt::format(
        "events.jsonl holds the first {} events; {} more were only counted",
        result.recorder->events().events().size(), result.recorder->events().not_kept()));
  }
  if (const auto& use = result.totals.api_server; use && is_saturated(*use)) {
    result.warnings.push_back(
        fmt::format("the API server is the bottleneck: busy {:.1f} % of the time while requests "
                    "arrived, and up to {:.1f} s behind (engine.api_server_count = {})",
                    100 * utilisation(*use), backlog_s(*use),
                    *result.resolved.scenario.engine.api_server_count));
  }
  if (const auto& use = result.totals.entries; use && is_saturated(*use)) {
    result.warnings.push_back(
        fmt::format("client and API process are the bottleneck: requests come faster than one "
                    "process takes them ({:.1f} ms for a short prompt) and wait up to {:.1f} s "
                    "(engine.api_server_count gives it more)",
                    static_cast<double>(result.cost.entry.request_ns) / 1e6, backlog_s(*use)));
  }
  if (result.stop != StopReason::drained) {
    result.warnings.push_back(fmt::format("the run ended early ({}): {} requests unfinished",
                                          name_of(result.stop),
                                          result.summary.requests.unfinished));
  }
}

void warn_of_system(const Resolved& resolved, const CostFacts& cost,
                    std::vector<std::string>& warnings) {
  warnings.insert(warnings.end(), resolved.warnings.begin(), resolved.warnings.end());
  if (cost.uncalibrated) {
    warnings.push_back(
        fmt::format("uncalibrated: no measured constants for {} on {}; step times use {}{}",
                    resolved.engine->cost_family, resolved.device.id, cost.calibration,
                    cost.level == "kernels" && resolved.device.kernels_of
                        ? ", scaled by what kernels attain on each: an assumption"
                        : ""));
  }
  if (cost.level == "spec") {
    warnings.emplace_back("step times are data-sheet limits, faster than any real engine");
  }
}

// Of each group, once.
void warn_of_groups(RunResult& result) {
  for (const FleetGroup& group : result.groups) {
    std::vector<std::string> own;
    warn_of_system(group.resolved, group.cost, own);
    for (const std::string& warning : own) {
      const bool alone = result.groups.size() == 1;
      const std::string text = alone ? warning : fmt::format("{}: {}", group.name, warning);
      if (std::ranges::find(result.warnings, text) == result.warnings.end()) {
        result.warnings.push_back(text);
      }
    }
    if (group.cost.client_latency != result.cost.client_latency) {
      result.warnings.push_back(fmt::format(
          "{}: latencies include {:.1f} ms between client and engine, as measured for {}, instead "
          "of {:.1f}",
          group.name, static_cast<double>(result.cost.client_latency.request_ns) / 1e6,
          result.groups.front().name,
          static_cast<double>(group.cost.client_latency.request_ns) / 1e6));
    }
  }
}

void collect_warnings(RunResult& result) {
  result.warnings = result.workload.warnings;
  warn_of_groups(result);
  if (result.workload.rows_dropped > 0) {
    result.warnings.push_back(
        fmt::format("{} trace rows with zero tokens dropped", result.workload.rows_dropped));
  }
  if (result.workload.rows_clamped > 0) {
    result.warnings.push_back(
        fmt::format("{} trace rows with zero tokens counted as one", result.workload.rows_clamped));
  }
  if (result.workload.guessed_turns.added > 0) {
    result.warnings.push_back(
        fmt::format("{} later turns of sessions were read as added text: their prompts also "
                    "contain the previous turns and answers (workload.trace.session_input)",
                    result.workload.guessed_turns.added));
  }
  if (result.workload.guessed_turns.whole > 0) {
    result.warnings.push_back(
        fmt::format("{} later turns of sessions were read as whole prompts "
                    "(workload.trace.session_input)",
                    result.workload.guessed_turns.whole));
  }
  if (result.workload.outputs_cut > 0) {
    result.warnings.push_back(
        fmt::format("{} outputs were cut to max_tokens", result.workload.outputs_cut));
  }
  if (result.workload.shares_prefixes && !finds_prefixes(result.resolved)) {
    result.warnings.push_back(
        fmt::format("prompts of different requests share prefixes, but {} on {} does not reuse "
                    "them here, so each request computes its whole prompt (`headroom trace "
                    "describe` shows how much could be reused)",
                    result.resolved.scheduler->name, result.resolved.allocator->name));
  }
  if (result.workload.has_priorities && !serves_by_priority(result.resolved)) {
    result.warnings.push_back(
        fmt::format("priorities are not used: scheduler {} serves in the order of arrival",
                    result.resolved.scheduler->name));
  }
  if (const auto note =
          note_on_groups(result.resolved, result.budget, result.workload.shares_prefixes)) {
    result.warnings.push_back(*note);
  }
  if (!result.budget.failure) {
    if (const auto growth = memory_growth(result.resolved, result.budget)) {
      result.warnings.push_back(growth->text);
    }
  }
  if (result.started) warn_of_outcome(result);
}

// The first group that does not start, else the first one.
void show_group(RunResult& result) {
  const auto failed = std::ranges::find_if(
      result.groups, [](const FleetGroup& group) { return group.budget.failure.has_value(); });
  const FleetGroup& group = failed == result.groups.end() ? result.groups.front() : *failed;
  result.resolved = group.resolved;
  result.budget = group.budget;
  result.pool_tokens = group.pool_tokens;
  result.values = resolved_values(result.resolved);  // with those of the fleet
}

}  // namespace

bool open_lengths_bind(const RunResult& result) {
  const std::optional<TokenCount> at_once = longest_at_once(result);
  return at_once && *at_once < result.resolved.max_num_seqs;
}

std::string_view name_of(StopReason reason) { return kStopNames[static_cast<std::size_t>(reason)]; }

TimeNs exists_ns(const RunResult& result, std::size_t number) {
  const auto& lifecycle = result.totals.lifecycle;
  return lifecycle ? lifecycle->exists_ns.at(number) : result.totals.end_ns;
}

RunResult prepare_run(const Scenario& scenario, const Catalog& catalog,
                      std::optional<Workload> given, Workload& workload) {
  RunResult result;
  result.groups = resolve_groups(scenario, catalog);
  result.is_fleet = is_fleet(scenario);
  show_group(result);
  workload = given ? std::move(*given) : make_workload(result.resolved.scenario);
  result.workload = workload.facts;
  check_records_fit(result.resolved.scenario, result.workload.requests, process_memory_bytes());
  return result;
}

void conclude_run(const Catalog& catalog, Workload& workload, RunResult& result) {
  if (result.started && result.groups.size() == 1) {  // of several kinds nothing is known together
    result.expected_error = expected_error(result.resolved, catalog, result.pool_tokens,
                                           result.cost, result.summary.metrics);
  }
  workload.account(result.workload);
  // What a duration or a pool would yield shows only in the run.
  if (result.workload.requests == 0) result.workload.requests = result.summary.requests.arrived;
  collect_warnings(result);
}

namespace {

RunResult run_any(const Scenario& scenario, const Catalog& catalog, std::optional<Workload> given,
                  const RunControl& control) {
  Workload workload;
  RunResult result = prepare_run(scenario, catalog, std::move(given), workload);
  if (!result.budget.failure) {
    Simulation simulation(catalog, control, workload, result);
    simulation.settle(simulation.fleet().run(limits_of(result.resolved.scenario.run, control)));
  }
  conclude_run(catalog, workload, result);
  return result;
}

}  // namespace

RunResult run(const Scenario& scenario, const Catalog& catalog, const RunControl& control) {
  return run_any(scenario, catalog, std::nullopt, control);
}

RunResult run(const Scenario& scenario, const Catalog& catalog, Workload given,
              const RunControl& control) {
  return run_any(scenario, catalog, std::move(given), control);
}

RunResult check(const Scenario& scenario, const Catalog& catalog) {
  Workload workload;
  RunResult result = prepare_run(scenario, catalog, std::nullopt, workload);
  if (!result.budget.failure) {
    static_cast<void>(make_parts(result, catalog));
  }
  collect_warnings(result);
  return result;
}

}  // namespace headroom
