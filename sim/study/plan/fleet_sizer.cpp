#include "sim/study/plan/fleet_sizer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
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
  measure.kept = false;
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

bool FleetSizer::add_run(const PlanCase& one, Sums& sums, FleetMeasure& measure) {
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
  const ServingMetrics& m = s.metrics;
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
  for (std::size_t i = 0; i < plan_.targets.size(); ++i) {
    const PlanTarget& target = plan_.targets[i];
    if (sums.values[i].back() <= target.limit_ms) continue;
    fail(measure, PlanFate::throughput,
         fmt::format("{} is {:.0f} ms with {} replica{}, {:g} may be", target.metric,
                     sums.values[i].back(), one.replicas, one.replicas == 1 ? "" : "s",
                     target.limit_ms));
    return false;
  }
  return true;
}

FleetMeasure FleetSizer::measure_share(std::int64_t replicas, double scale, double slower,
                                       std::int64_t replications) {
  FleetMeasure measure;
  measure.replicas = replicas;
  measure.kept = true;
  Sums sums;
  sums.values.resize(plan_.targets.size());
  for (std::int64_t i = 0; i < replications; ++i) {
    const PlanCase one{.scale = scale,
                       .replicas = replicas,
                       .replication = i,
                       .span_s = traffic_.span_s,
                       .slower = slower};
    if (!add_run(one, sums, measure)) break;
  }
  if (sums.values.front().empty()) return measure;
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
    measure.targets.push_back(judge_target(sums.values[i], target.limit_ms));
    if (measure.targets.back().kept || !measure.kept) continue;
    fail(measure, PlanFate::throughput,
         fmt::format("{} may be up to {:.0f} ms with {} replicas (interval of 95 %), {:g} may be",
                     target.metric, measure.targets.back().upper, replicas, target.limit_ms));
  }
  return measure;
}

FleetMeasure FleetSizer::measure(std::int64_t replicas, const Load& load,
                                 std::int64_t replications) {
  const double scale = plan_.scale * load.growth;
  // One recording, neither laid over itself nor thinned, is the same in every replication.
  if (traffic_.is_recorded && scale == 1) replications = 1;
  return measure_share(replicas, scale, load.slower, replications);
}

std::optional<std::int64_t> FleetSizer::split(std::int64_t guess, FleetMeasure& last) {
  return smallest_count(guess, plan_.max_replicas, [&](std::int64_t parts) {
    FleetMeasure measured = measure_share(1, plan_.scale / static_cast<double>(parts), 0, 1);
    const bool kept = measured.kept;
    if (!kept) last = std::move(measured);
    return kept;
  });
}

std::optional<FleetMeasure> FleetSizer::smallest(std::int64_t guess, const Load& load,
                                                 FleetMeasure& last) {
  const auto found = smallest_count(guess, plan_.max_replicas, [&](std::int64_t replicas) {
    FleetMeasure measured = measure(replicas, load, 1);
    const bool kept = measured.kept;
    if (!kept) last = std::move(measured);
    return kept;
  });
  if (!found) return std::nullopt;
  for (std::int64_t replicas = *found; replicas <= plan_.max_replicas; ++replicas) {
    FleetMeasure measured = measure(replicas, load, plan_.replications);
    if (measured.kept) return measured;
    last = std::move(measured);
  }
  return std::nullopt;
}

}  // namespace headroom
