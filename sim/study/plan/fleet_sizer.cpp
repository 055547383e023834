#include "sim/study/plan/fleet_sizer.hpp"

#include <fmt/format.h>

#include <map>

#include "sim/study/plan/smallest_count.hpp"

namespace headroom {
namespace {

// Requests that did not get what they came for.
std::string losses(const RequestCounts& counts) {
  std::string text;
  const auto add = [&](std::int64_t count, std::string_view what) {
    if (count == 0) return;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, what);
  };
  add(counts.rejected, "rejected");
  add(counts.cancelled, "cancelled");
  add(counts.lost_to_oom, "lost to OOM");
  add(counts.lost_to_fault, "lost to crashes");
  add(counts.unfinished, "unfinished");
  return text;
}

void fail(FleetMeasure& measure, PlanFate fate, std::string reason) {
  measure.verdict = Verdict::fails;
  measure.fate = fate;
  measure.reason = std::move(reason);
}

double busy_share(const RunResult& result) {
  const double whole_s = static_cast<double>(result.totals.end_ns) / 1e9 *
                         static_cast<double>(result.totals.replicas.size());
  return whole_s > 0 ? result.summary.engine.busy_s / whole_s : 0;
}

}  // namespace

struct FleetSizer::Sums {
  std::vector<std::vector<double>> values;  // by target
  double p99_ttft_ms = 0;
  double p99_tpot_ms = 0;
  double requests_per_s = 0;
  double output_tokens_per_s = 0;
  double input_tokens_per_s = 0;
  double busy = 0;
  double watts = 0;
  bool has_power = true;
};

bool FleetSizer::add_run(const Load& load, Sums& sums, FleetMeasure& measure) {
  const PlanCase one{.scale = plan_.scale * load.growth,
                     .replicas = measure.replicas,
                     .replication = measure.runs,
                     .span_s = traffic_.span_s,
                     .slower = load.slower};
  ++simulations_;
  RunControl control;
  control.interrupted = interrupted_;
  const RunResult result = run(case_scenario(plan_, candidate_, one), catalog_, control);
  if (result.started && result.stop == StopReason::interrupted) throw PlanInterrupted{};
  ++measure.runs;
  if (!result.started) {
    fail(measure, PlanFate::memory, result.budget.failure->message);
    return false;
  }
  expected_error_ = result.expected_error;
  const RunSummary& s = result.summary;
  if (!s.ooms.empty()) {
    fail(measure, PlanFate::out_of_memory,
         fmt::format("{} x {}, first at {:.0f} s", name_of(s.ooms.front().kind),
                     s.ooms.front().count, static_cast<double>(s.ooms.front().time_ns) / 1e9));
    return false;
  }
  if (const std::string lost = losses(s.requests); !lost.empty()) {
    fail(measure, PlanFate::throughput, fmt::format("of {} requests {}", s.requests.arrived, lost));
    return false;
  }
  // Any queue keeps targets on the time per token.
  const bool limits_waits = tightest_limit(plan_, "_ttft_") || tightest_limit(plan_, "_e2el_");
  if (!limits_waits && !s.windows.stationarity.stationary) {
    fail(measure, PlanFate::throughput,
         fmt::format("the backlog grows with {} replica{} (no target on TTFT or E2EL says how long "
                     "requests may wait)",
                     measure.replicas, measure.replicas == 1 ? "" : "s"));
    return false;
  }
  const ServingMetrics& m = s.metrics;
  for (std::size_t i = 0; i < plan_.targets.size(); ++i) {
    sums.values[i].push_back(plan_metric(m, plan_.targets[i].metric));
  }
  sums.p99_ttft_ms += m.p99_ttft_ms;
  sums.p99_tpot_ms += m.p99_tpot_ms;
  sums.requests_per_s += m.request_throughput;
  sums.output_tokens_per_s += m.output_throughput;
  sums.input_tokens_per_s += m.total_token_throughput - m.output_throughput;
  sums.busy += busy_share(result);
  const auto energy = energy_of(result);
  sums.has_power = sums.has_power && energy.has_value();
  if (energy) {
    sums.watts += energy->mean_w();
    measure.power_assumed = energy->assumed;
  }
  return true;
}

bool FleetSizer::add_runs(std::int64_t runs, const Load& load, Sums& sums, FleetMeasure& measure) {
  while (measure.runs < runs) {
    if (!add_run(load, sums, measure)) return false;
  }
  return true;
}

void FleetSizer::conclude(const Sums& sums, FleetMeasure& measure) const {
  measure.targets.clear();
  measure.verdict = Verdict::passes;
  measure.fate = PlanFate::met;
  measure.reason.clear();
  const auto runs = static_cast<double>(sums.values.front().size());
  measure.p99_ttft_ms = sums.p99_ttft_ms / runs;
  measure.p99_tpot_ms = sums.p99_tpot_ms / runs;
  measure.requests_per_s = sums.requests_per_s / runs;
  measure.output_tokens_per_s = sums.output_tokens_per_s / runs;
  measure.input_tokens_per_s = sums.input_tokens_per_s / runs;
  measure.busy_share = sums.busy / runs;
  if (sums.has_power) measure.mean_w = sums.watts / runs;
  for (std::size_t i = 0; i < plan_.targets.size(); ++i) {
    const PlanTarget& target = plan_.targets[i];
    const PlanVerdict& verdict =
        measure.targets.emplace_back(judge_target(sums.values[i], target.limit_ms));
    if (verdict.verdict == Verdict::passes || measure.verdict == Verdict::fails) continue;
    std::string mean = fmt::format("{:.0f}", verdict.mean);
    if (runs > 1) mean += fmt::format(" +- {:.0f}", verdict.upper - verdict.mean);
    fail(measure, PlanFate::throughput,
         fmt::format("{} is {} ms with {} replica{}{}, but the limit is {:g}", target.metric, mean,
                     measure.replicas, measure.replicas == 1 ? "" : "s",
                     verdict.verdict == Verdict::open ? ", which is uncertain" : "",
                     target.limit_ms));
    measure.verdict = verdict.verdict;
  }
}

std::vector<std::int64_t> FleetSizer::looks(const Load& load) const {
  const std::int64_t first = plan_.replications;
  if (first == 1 || always_the_same(load)) return {1};
  std::vector<std::int64_t> all;
  // A fleet that is far too small is known after two.
  if (first > 2) all.push_back(2);
  for (std::int64_t rounds = 1; rounds <= kMostPlanRounds; rounds *= 2) {
    all.push_back(first * rounds);
  }
  return all;
}

FleetMeasure FleetSizer::judge(std::int64_t replicas, const Load& load) {
  FleetMeasure measure;
  measure.replicas = replicas;
  Sums sums;
  sums.values.resize(plan_.targets.size());
  for (const std::int64_t runs : looks(load)) {
    if (!add_runs(runs, load, sums, measure)) return measure;
    conclude(sums, measure);
    if (measure.verdict == Verdict::fails) break;
    if (measure.verdict == Verdict::passes && runs >= plan_.replications) break;
  }
  return measure;
}

FleetMeasure FleetSizer::measure(std::int64_t replicas, const Load& load) {
  FleetMeasure measure;
  measure.replicas = replicas;
  Sums sums;
  sums.values.resize(plan_.targets.size());
  const std::int64_t runs = always_the_same(load) ? 1 : plan_.replications;
  if (add_runs(runs, load, sums, measure)) conclude(sums, measure);
  return measure;
}

std::optional<FleetMeasure> FleetSizer::smallest(std::int64_t guess, std::int64_t most,
                                                 const Load& load, FleetMeasure& last) {
  std::map<std::int64_t, FleetMeasure> kept;
  const auto found = smallest_count(guess, most, [&](std::int64_t replicas) {
    FleetMeasure measured = judge(replicas, load);
    if (measured.kept()) {
      kept[replicas] = std::move(measured);
      return true;
    }
    last = std::move(measured);
    return false;
  });
  if (!found) return std::nullopt;
  return std::move(kept[*found]);
}

}  // namespace headroom
