#include "sim/study/plan/fleet_planner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <mutex>

#include "sim/kernel/in_parallel.hpp"
#include "sim/study/plan/fleet_sizer.hpp"
#include "sim/study/plan/plan_front.hpp"

namespace headroom {
namespace {

// By which the balance of mean steps is too low a guess: bursts, and batches that vary.
constexpr double kUsualBurst = 1.25;

// Of the time of a step, at the slow end of what the model may be wrong by.
double slow_end(const ExpectedError& error) {
  double most = 0;
  for (const ErrorRange& range : error.ranges) {
    if (range.metric == "output_throughput") continue;  // a result of the others
    most = std::max(most, range.high);
  }
  return most;
}

class Planner {
 public:
  Planner(const FleetPlanFile& plan, const Catalog& catalog, const PlannerOptions& options)
      : plan_(plan), catalog_(catalog), options_(options) {}

  FleetPlanResult plan() {
    try {
      measure_all_traffic();
      bound_all();
      refuse_impossible();
      size_all();
      choose();
      resize_finalists();
    } catch (const PlanInterrupted&) {
      FleetPlanResult result;
      result.interrupted = true;
      return result;
    }
    for (const PlannedFleet& fleet : result_.fleets) result_.simulations += fleet.simulations;
    return std::move(result_);
  }

 private:
  void measure_all_traffic() {
    const std::vector<PlanCandidate> candidates = plan_candidates(plan_, catalog_);
    for (const PlanCandidate& candidate : candidates) {
      result_.fleets.push_back({});
      result_.fleets.back().candidate = candidate;
      if (candidate.model < result_.traffic.size()) continue;
      PlanCase whole;
      whole.scale = plan_.scale;
      result_.traffic.push_back(measure_traffic(case_scenario(plan_, candidate, whole)));
    }
  }

  void bound_all() {
    in_parallel(result_.fleets.size(), options_.threads, [&](std::size_t i) {
      PlannedFleet& fleet = result_.fleets[i];
      const PlanTraffic& traffic = result_.traffic[fleet.candidate.model];
      fleet.bounds = plan_bounds(plan_, fleet.candidate, traffic, catalog_);
      if (fleet.bounds.fitting_length > 0) {
        fleet.candidate.max_model_len = fleet.bounds.fitting_length;
        fleet.bounds = plan_bounds(plan_, fleet.candidate, traffic, catalog_);
      }
      fleet.fate = fleet.bounds.fate;
      fleet.reason = fleet.bounds.reason;
    });
  }

  // A plan without any valid scenario among its candidates is an error; one whose candidates are
  // all too slow is not.
  void refuse_impossible() const {
    const PlannedFleet* first = nullptr;
    for (const PlannedFleet& fleet : result_.fleets) {
      if (fleet.fate == PlanFate::quality) continue;
      if (fleet.fate != PlanFate::not_possible) return;
      if (first == nullptr) first = &fleet;
    }
    if (first == nullptr) return;
    throw ConfigError(Complaint{
        .origin = plan_.file,
        .problem =
            fmt::format("no candidate can run; the first one fails with {}", first->reason)});
  }

  void size_all() {
    std::vector<std::size_t> left;
    for (std::size_t i = 0; i < result_.fleets.size(); ++i) {
      if (result_.fleets[i].fate == PlanFate::met) left.push_back(i);
    }
    std::mutex mutex;
    std::size_t done = 0;
    in_parallel(left.size(), options_.threads, [&](std::size_t i) {
      size_one(result_.fleets[left[i]]);
      const std::lock_guard lock(mutex);
      ++done;
      if (options_.progress) options_.progress(done, left.size());
    });
  }

  void size_one(PlannedFleet& fleet) {
    FleetSizer sizer(plan_, fleet.candidate, result_.traffic[fleet.candidate.model], catalog_,
                     options_.interrupted);
    find_size(sizer, fleet);
    fleet.simulations += sizer.simulations();
  }

  // Replicas without spares that max_replicas and max_cost_per_hour allow.
  [[nodiscard]] std::int64_t most_needed(const PlannedFleet& fleet) const {
    if (!plan_.max_cost_per_hour) return plan_.max_replicas;
    const std::int64_t paid = affordable_replicas(plan_, fleet.candidate) - spare_replicas(plan_);
    return std::min(plan_.max_replicas, paid);
  }

  void leave_out(PlannedFleet& fleet, const FleetMeasure& last, std::int64_t most) const {
    fleet.fate = most < plan_.max_replicas ? PlanFate::cost : last.fate;
    fleet.reason = last.reason;
    if (fleet.fate == PlanFate::cost) fleet.reason += ": max_cost_per_hour does not allow more";
  }

  void find_size(FleetSizer& sizer, PlannedFleet& fleet) {
    FleetMeasure last;
    const std::int64_t most = most_needed(fleet);
    if (most < 1) {
      fleet.fate = PlanFate::cost;
      fleet.reason = fmt::format("{} replica{} cost $ {:.2f}/h, but max_cost_per_hour is {:g}",
                                 1 + spare_replicas(plan_), spare_replicas(plan_) > 0 ? "s" : "",
                                 cost_per_hour(plan_, fleet.candidate, 1 + spare_replicas(plan_)),
                                 *plan_.max_cost_per_hour);
      return;
    }
    const auto guess = static_cast<std::int64_t>(
        std::ceil(static_cast<double>(fleet.bounds.least_replicas) * kUsualBurst));
    auto needed = sizer.smallest(guess, most, {}, last);
    if (!needed) {
      leave_out(fleet, last, most);
      return;
    }
    fleet.without_spares = std::move(*needed);
    fleet.needed = fleet.without_spares.replicas;
    fleet.replicas = fleet.needed + spare_replicas(plan_);
    fleet.whole =
        fleet.replicas == fleet.needed ? fleet.without_spares : sizer.measure(fleet.replicas, {});
    fleet.expected_error = sizer.expected_error();
    price(fleet);
  }

  void price(PlannedFleet& fleet) const {
    fleet.instances = instances_for(plan_, fleet.candidate, fleet.replicas);
    fleet.dollars_per_hour = cost_per_hour(plan_, fleet.candidate, fleet.replicas);
    const double per_s = fleet.dollars_per_hour / 3600;
    const FleetMeasure& whole = fleet.whole;
    // A run is longer than the traffic by the time that its last requests take.
    const PlanTraffic& traffic = result_.traffic[fleet.candidate.model];
    const double rate = traffic.states_rate() ? traffic.rate() : whole.requests_per_s;
    const double tokens = whole.output_tokens_per_s / whole.requests_per_s;
    fleet.dollars_per_million_tokens = per_s / (rate * tokens) * 1e6;
    fleet.dollars_per_thousand_requests = per_s / rate * 1e3;
    if (whole.mean_w) fleet.joules_per_token = *whole.mean_w / whole.output_tokens_per_s;
    fleet.rolling_restart_s = static_cast<double>(fleet.replicas) * fleet.bounds.restart_s;
  }

  void choose() {
    std::vector<std::size_t> met;
    for (std::size_t i = 0; i < result_.fleets.size(); ++i) {
      if (result_.fleets[i].fate == PlanFate::met) met.push_back(i);
    }
    mark_front(met);
    std::ranges::stable_sort(met, {}, [&](std::size_t i) {
      const PlannedFleet& fleet = result_.fleets[i];
      return std::pair(fleet.dollars_per_hour, fleet.whole.p99_ttft_ms);
    });
    if (met.empty()) return;
    result_.chosen = met.front();
    std::vector<bool> has(plan_.models.size());
    for (const std::size_t i : met) {
      const std::size_t model = result_.fleets[i].candidate.model;
      if (!has[model]) result_.finalists.push_back(i);
      has[model] = true;
    }
  }

  void mark_front(const std::vector<std::size_t>& met) {
    const bool has_energy = std::ranges::all_of(
        met, [&](std::size_t i) { return result_.fleets[i].joules_per_token.has_value(); });
    const bool has_quality = std::ranges::all_of(
        plan_.models, [](const PlanModel& model) { return model.quality.has_value(); });
    std::vector<std::vector<double>> points;
    for (const std::size_t i : met) {
      const PlannedFleet& fleet = result_.fleets[i];
      points.push_back({fleet.dollars_per_hour, fleet.whole.p99_ttft_ms, fleet.whole.p99_tpot_ms});
      if (has_energy) points.back().push_back(*fleet.joules_per_token);
      if (has_quality) points.back().push_back(-*plan_.models[fleet.candidate.model].quality);
    }
    const std::vector<bool> front = pareto_front(points);
    for (std::size_t i = 0; i < met.size(); ++i) result_.fleets[met[i]].on_front = front[i];
  }

  // One task per finalist and circumstance.
  void resize_finalists() {
    const std::size_t each = plan_.growth.size() + 1;
    for (const std::size_t i : result_.finalists) {
      result_.fleets[i].growth.resize(plan_.growth.size());
    }
    std::vector<std::int64_t> runs(result_.finalists.size() * each);
    in_parallel(runs.size(), options_.threads, [&](std::size_t task) {
      PlannedFleet& fleet = result_.fleets[result_.finalists[task / each]];
      FleetSizer sizer(plan_, fleet.candidate, result_.traffic[fleet.candidate.model], catalog_,
                       options_.interrupted);
      const std::size_t at = task % each;
      if (at < plan_.growth.size()) {
        fleet.growth[at] = resize(sizer, fleet, {plan_.growth[at], 0}, plan_.growth[at]);
      } else if (const double slower = slow_end(fleet.expected_error); slower > 0) {
        fleet.slower = resize(sizer, fleet, {1, slower}, 1 + slower);
      }
      runs[task] = sizer.simulations();
    });
    for (const std::int64_t count : runs) result_.simulations += count;
  }

  FleetResize resize(FleetSizer& sizer, const PlannedFleet& fleet, const FleetSizer::Load& load,
                     double factor) const {
    FleetMeasure last;
    const auto guess =
        static_cast<std::int64_t>(std::ceil(static_cast<double>(fleet.needed) * factor));
    const auto found = sizer.smallest(guess, plan_.max_replicas, load, last);
    FleetResize resized;
    resized.factor = factor;
    if (!found) return resized;
    resized.replicas = found->replicas + spare_replicas(plan_);
    resized.dollars_per_hour = cost_per_hour(plan_, fleet.candidate, *resized.replicas);
    return resized;
  }

  const FleetPlanFile& plan_;
  const Catalog& catalog_;
  const PlannerOptions& options_;
  FleetPlanResult result_;
};

}  // namespace

FleetPlanResult plan_fleets(const FleetPlanFile& plan, const Catalog& catalog,
                            const PlannerOptions& options) {
  return Planner(plan, catalog, options).plan();
}

std::int64_t spare_replicas(const FleetPlanFile& plan) {
  return std::max<std::int64_t>(plan.failures, plan.rolling_restart ? 1 : 0);
}

Json chosen_scenario(const FleetPlanFile& plan, const FleetPlanResult& result) {
  if (!result.chosen) return nullptr;
  const PlannedFleet& fleet = result.fleets[*result.chosen];
  Json scenario =
      case_json(plan, fleet.candidate, {.scale = plan.scale, .replicas = fleet.replicas});
  for (const PlanTarget& target : plan.targets) {
    if (std::ranges::find(latency_limits(), target.metric, &LatencyLimit::metric) !=
        latency_limits().end()) {
      scenario["slo"][target.metric] = target.limit_ms;
    }
  }
  return scenario;
}

}  // namespace headroom
