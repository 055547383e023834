#include "sim/study/plan/plan_bounds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "sim/resolve/factory.hpp"
#include "sim/resolve/parallel.hpp"
#include "sim/resolve/start_verdict.hpp"
#include "sim/resolve/startup_budget.hpp"
#include "sim/study/plan/plan_targets.hpp"

namespace headroom {
namespace {

constexpr std::array<std::string_view, 8> kFateNames{
    "met", "quality", "not_possible", "memory", "latency", "throughput", "out_of_memory", "cost"};
constexpr double kMsPerTick = 1e-6 / static_cast<double>(kTicksPerNs);

double step_ms_of(const StepCost& cost, const StepShape& shape) {
  StepPrice price;
  cost.price(shape, price);
  return static_cast<double>(price.base) * kMsPerTick;
}

// Behind each other, steps like this take no less; with pipeline stages as long as the slowest one.
double pace_ms_of(const StepCost& cost, const StepShape& shape) {
  StepPrice price;
  cost.price(shape, price);
  StageTimes stages;
  if (!cost.split(shape, price, stages)) return static_cast<double>(price.base) * kMsPerTick;
  return static_cast<double>(stages.prepare + std::ranges::max(stages.busy)) * kMsPerTick;
}

// A whole prompt in one step: cut in chunks it takes no less.
double prompt_ms(const StepCost& cost, std::int64_t tokens) {
  StepShape shape;
  shape.chunk_rows = shape.sampled_rows = 1;
  shape.chunk_tokens = shape.chunk_context = tokens;
  shape.chunk_pairs_twice = tokens * tokens;
  return pace_ms_of(cost, shape);
}

double decode_ms(const StepCost& cost) {
  StepShape shape;
  shape.decode_rows = shape.sampled_rows = shape.decode_context = 1;
  return step_ms_of(cost, shape);
}

StepShape balanced_step(const PlanTraffic& traffic, std::int64_t rows) {
  const auto batch = static_cast<double>(rows);
  StepShape shape;
  shape.decode_rows = rows;
  shape.decode_context = std::llround(batch * (traffic.mean_prompt + 0.5 * traffic.mean_output));
  shape.chunk_tokens = std::llround(batch * traffic.mean_prompt / traffic.mean_output);
  if (shape.chunk_tokens > 0) {
    shape.chunk_rows = std::max<std::int64_t>(1, std::llround(batch / traffic.mean_output));
    // Chunks of one prompt together read each of its pairs once: q (2 ctx + q) sums to its square.
    shape.chunk_pairs_twice =
        std::llround(static_cast<double>(shape.chunk_tokens) * traffic.mean_prompt);
    shape.chunk_context = shape.chunk_tokens;
  }
  shape.sampled_rows = shape.decode_rows + shape.chunk_rows;
  return shape;
}

// The limit that `rows` sequences break, or nothing.
std::string broken_limit(const StepCost& cost, const PlanTraffic& traffic,
                         const BalanceLimits& limits, std::int64_t rows) {
  const StepShape shape = balanced_step(traffic, rows);
  if (rows > limits.max_num_seqs) return "max_num_seqs";
  if (shape.decode_context > limits.pool_tokens) return "KV pool";
  if (shape.decode_rows + shape.chunk_tokens > limits.max_step_tokens) return "step tokens";
  if (limits.tpot_ms && pace_ms_of(cost, shape) > *limits.tpot_ms) return "TPOT";
  return "";
}

// Below which a mean or quantile of traffic like `values` does not lie, but for 1 time in 700: 3
// standard deviations of the mean, or of the number of values below the quantile.
double surely_at_least(std::vector<double> values, std::optional<double> quantile) {
  constexpr double kDeviations = 3;
  const auto count = static_cast<double>(values.size());
  if (quantile) {
    const double share = *quantile - kDeviations * std::sqrt(*quantile * (1 - *quantile) / count);
    const double place = std::floor(std::max(0.0, share) * (count - 1));
    const auto at = values.begin() + static_cast<std::ptrdiff_t>(place);
    std::ranges::nth_element(values, at);
    return *at;
  }
  double mean = 0;
  for (const double value : values) mean += value / count;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return mean - kDeviations * std::sqrt(squares) / count;
}

class Bounding {
 public:
  Bounding(const FleetPlanFile& plan, const PlanCandidate& candidate, const PlanTraffic& traffic,
           const Catalog& catalog)
      : plan_(plan), candidate_(candidate), traffic_(traffic), catalog_(catalog) {}

  PlanBounds bounds() {
    const PlanModel& model = plan_.models[candidate_.model];
    if (plan_.min_quality && *model.quality < *plan_.min_quality) {
      return left_out(PlanFate::quality, fmt::format("quality {:g} is below {:g}", *model.quality,
                                                     *plan_.min_quality));
    }
    const Scenario scenario = case_scenario(plan_, candidate_, {});
    try {
      resolved_ = resolve(scenario, catalog_);
    } catch (const ConfigError& error) {
      return left_out(PlanFate::not_possible, error.what());
    }
    bounds_.restart_s = resolved_.scenario.engine.restart_s.value_or(0);
    BudgetedSystem system = budgeted(std::move(resolved_));
    resolved_ = std::move(system.resolved);
    const MemoryBudget& budget = system.budget;
    if (budget.failure) {
      const bool is_given = plan_.engines[candidate_.engine].contains("max_model_len");
      const std::int64_t certain = certain_length(*budget.failure);
      const bool fits = certain >= traffic_.longest && candidate_.max_model_len == 0;
      if (!is_given && fits) bounds_.fitting_length = certain;
      return left_out(PlanFate::memory,
                      fmt::format("does not start ({}): {}", name_of(budget.failure->stage),
                                  budget.failure->message));
    }
    bounds_.pool_tokens = engine_pool_tokens(resolved_, budget);
    const auto accepts = static_cast<TokenCount>(longest_request(resolved_));
    if (const TokenCount most = std::min(bounds_.pool_tokens, accepts); traffic_.longest > most) {
      return left_out(
          PlanFate::memory,
          fmt::format("the longest request has {} tokens, but at most {} fit ({})",
                      traffic_.longest, most, most < accepts ? "KV pool" : "max_model_len"));
    }
    CostFacts facts;
    const auto cost = make_replica_cost(resolved_, budget, catalog_, facts);
    check_latency(*cost, static_cast<double>(facts.client_latency.request_ns) / 1e6);
    if (bounds_.fate == PlanFate::met) balance_steps(*cost);
    return bounds_;
  }

 private:
  PlanBounds left_out(PlanFate fate, std::string reason) {
    bounds_.fate = fate;
    bounds_.reason = std::move(reason);
    return bounds_;
  }

  // Engines that find prefixes may compute less of a prompt, those that draft more than one token a
  // step, and those that answer at the end have no gaps: there a bound would be wrong.
  void check_latency(const StepCost& cost, double client_ms) {
    const bool at_end = replica_options(resolved_).responds_at_end;
    const bool drafts = resolved_.scenario.engine.speculative.is_on();
    const bool whole_prompts = !(traffic_.shares_prefixes && finds_prefixes(resolved_));
    bounds_.least_tpot_ms = at_end || drafts ? 0 : decode_ms(cost);
    for (const PlanTarget& target : plan_.targets) {
      if (target.metric.find("_tpot_") != std::string::npos) {
        if (bounds_.least_tpot_ms <= target.limit_ms) continue;
        left_out(PlanFate::latency,
                 fmt::format("TPOT of a single sequence is {:.1f} ms, but the limit on {} is {:g}",
                             bounds_.least_tpot_ms, target.metric, target.limit_ms));
      } else if (whole_prompts) {
        check_whole_prompts(cost, client_ms, target);
      }
    }
  }

  // TTFT or latency of the traffic's requests, each alone on an empty replica.
  void check_whole_prompts(const StepCost& cost, double client_ms, const PlanTarget& target) {
    const bool first_token = target.metric.find("_ttft_") != std::string::npos;
    std::vector<double> alone_ms;
    alone_ms.reserve(traffic_.lengths.size());
    for (const PlanRequest& request : traffic_.lengths) {
      const double decodes = first_token ? 0 : std::max(0, request.output - 1);
      alone_ms.push_back(client_ms + prompt_ms(cost, std::max(1, request.prompt)) +
                         decodes * bounds_.least_tpot_ms);
    }
    const double ms = surely_at_least(std::move(alone_ms), quantile_of(target.metric));
    if (first_token) bounds_.least_ttft_ms = std::max(bounds_.least_ttft_ms.value_or(0), ms);
    if (ms <= target.limit_ms) return;
    left_out(
        PlanFate::latency,
        fmt::format("{} is at least {:.0f} ms even with every request alone, but the limit is {:g}",
                    target.metric, ms, target.limit_ms));
  }

  void balance_steps(const StepCost& cost) {
    BalanceLimits limits;
    limits.max_num_seqs = std::max<std::int64_t>(1, resolved_.max_num_seqs);
    limits.max_step_tokens = std::max<std::int64_t>(
        limits.max_num_seqs, resolved_.max_num_batched_tokens * resolved_.sharding.pipeline);
    limits.pool_tokens = bounds_.pool_tokens;
    if (bounds_.least_tpot_ms > 0) limits.tpot_ms = tightest_limit(plan_, "_tpot_");
    bounds_.balance = step_balance(cost, traffic_, limits);
    const double replicas = std::ceil(traffic_.rate() / bounds_.balance.requests_per_s);
    bounds_.least_replicas =
        std::max<std::int64_t>(1, static_cast<std::int64_t>(std::min(replicas, 1e15)));
  }

  const FleetPlanFile& plan_;
  const PlanCandidate& candidate_;
  const PlanTraffic& traffic_;
  const Catalog& catalog_;
  Resolved resolved_;
  PlanBounds bounds_;
};

}  // namespace

std::string_view name_of(PlanFate fate) { return kFateNames[static_cast<std::size_t>(fate)]; }

StepBalance step_balance(const StepCost& cost, const PlanTraffic& traffic,
                         const BalanceLimits& limits) {
  StepBalance balance;
  // Of one sequence at a time every replica is capable, however long its prompts are.
  balance.limited_by = broken_limit(cost, traffic, limits, 1);
  std::int64_t good = 1;
  std::int64_t bad = balance.limited_by.empty() ? limits.max_num_seqs + 1 : 2;
  if (balance.limited_by.empty()) balance.limited_by = "max_num_seqs";
  while (bad - good > 1) {
    const std::int64_t rows = good + (bad - good) / 2;
    const std::string broken = broken_limit(cost, traffic, limits, rows);
    if (broken.empty()) {
      good = rows;
    } else {
      bad = rows;
      balance.limited_by = broken;
    }
  }
  balance.rows = good;
  balance.step_ms = pace_ms_of(cost, balanced_step(traffic, good));
  balance.requests_per_s =
      static_cast<double>(good) / (balance.step_ms * 1e-3) / traffic.mean_output;
  return balance;
}

PlanBounds plan_bounds(const FleetPlanFile& plan, const PlanCandidate& candidate,
                       const PlanTraffic& traffic, const Catalog& catalog) {
  return Bounding(plan, candidate, traffic, catalog).bounds();
}

}  // namespace headroom
