#include "sim/study/tune/tune_meter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <span>
#include <utility>

#include "sim/kernel/errors.hpp"
#include "sim/resolve/energy.hpp"
#include "sim/resolve/run_verdict.hpp"
#include "sim/study/ask/ask_target.hpp"
#include "sim/study/run_pool.hpp"
#include "sim/study/search/verdict.hpp"
#include "sim/study/sweep/run_row.hpp"

namespace headroom {
namespace {

constexpr std::chrono::milliseconds kPatience{100};

// Every latency limit of a scenario, those of its classes included.
std::vector<Setting> slo_of(const Scenario& scenario) {
  std::vector<Setting> limits;
  const auto add = [&limits](const std::string& section, const SloSection& slo) {
    const auto one = [&](const char* name, const std::optional<double>& ms) {
      if (ms) limits.push_back({fmt::format("{}.{}", section, name), *ms});
    };
    one("ttft_ms", slo.ttft_ms);
    one("tpot_ms", slo.tpot_ms);
    one("e2el_ms", slo.e2el_ms);
  };
  add("slo", scenario.slo);
  for (std::size_t i = 0; i < scenario.workload.classes.size(); ++i) {
    add(fmt::format("workload.classes.{}.slo", i), scenario.workload.classes[i].slo);
  }
  return limits;
}

}  // namespace

std::int64_t devices_in(const RunResult& run) {
  std::int64_t devices = 0;
  for (const FleetGroup& group : run.groups) {
    devices += group.count * group.resolved.sharding.devices();
  }
  return devices;
}

TuneMeter::TuneMeter(const TuneQuery& query, const Scenario& scenario, const Catalog& catalog,
                     const TuneOptions& options)
    : query_(query),
      catalog_(catalog),
      options_(options),
      targets_(with_limits_of(scenario.slo, query.targets)),
      load_(load_of(scenario)),
      slo_(slo_of(scenario)) {
  // Without targets users only wait longer.
  const bool has_limits = !targets_.empty() || !slo_.empty();
  const bool grows = load_.kind != LoadKind::none && (load_.kind != LoadKind::users || has_limits);
  by_load_ = grows && query.objective != TuneObjective::joules;
}

bool TuneMeter::is_stopped() const {
  return options_.interrupted != nullptr && options_.interrupted->load(std::memory_order_relaxed);
}

ValueSearch TuneMeter::rules_at(double slower) const {
  std::vector<Limit> limits = targets_;
  for (Limit& limit : limits) limit.bound /= slower;
  if (!slo_.empty()) limits.push_back({"goodput_share", false, kKeptShare});
  ValueSearch rules = load_search(load_, limits);
  rules.stationary = load_.kind != LoadKind::none;
  return rules;
}

TuneOutcome TuneMeter::outcome_of(const TuneTrial& trial, const std::atomic<bool>* stop) const {
  std::vector<Setting> settings = trial.settings;
  if (trial.seed) settings.push_back({"seed", *trial.seed});
  for (const Setting& limit : slo_) {
    settings.push_back({limit.path, limit.value.get<double>() / trial.slower});
  }
  const bool is_whole = load_.kind == LoadKind::users;
  if (is_whole && trial.load) {
    settings.push_back({load_.path, static_cast<std::int64_t>(*trial.load)});
  } else if (load_.kind != LoadKind::none && !is_whole) {
    settings.push_back({load_.path, trial.load.value_or(load_.value) * trial.slower});
  }
  TuneOutcome outcome;
  const ValueSearch rules = rules_at(trial.slower);
  try {
    const RunResult run =
        headroom::run(with_settings(query_.document, settings), catalog_, {.interrupted = stop});
    outcome.devices = devices_in(run);
    outcome.possible = run.started;
    if (!run.started) return outcome;
    outcome.holds = judge(rules, {row_of(run, "")}).verdict == Verdict::passes;
    outcome.tokens_per_s = run.summary.metrics.output_throughput / trial.slower;
    const auto tokens = static_cast<double>(run.summary.metrics.total_output_tokens);
    if (const auto energy = energy_of(run); energy && tokens > 0) {
      outcome.joules_per_token = energy->joules / tokens;
    }
  } catch (const UserError&) {
    outcome = {};  // options that cannot stand together
  }
  return outcome;
}

std::vector<TuneOutcome> TuneMeter::at(const std::vector<TuneTrial>& trials) {
  std::vector<TuneOutcome> outcomes(trials.size());
  struct Made {
    std::size_t number;
    TuneOutcome outcome;
    std::exception_ptr error;  // no fault of the configuration
  };
  const std::size_t threads = std::clamp(options_.threads, std::size_t{1}, trials.size() + 1);
  RunPool<std::size_t, Made> pool(
      threads, [&](std::size_t number, const std::atomic<bool>* stop) -> std::optional<Made> {
        try {
          return Made{number, outcome_of(trials[number], stop), nullptr};
        } catch (...) {
          return Made{number, {}, std::current_exception()};
        }
      });
  for (std::size_t i = 0; i < trials.size(); ++i) pool.ask(i);
  while (!pool.is_over()) {
    if (is_stopped()) pool.stop();
    if (std::optional<Made> made = pool.take(kPatience)) {
      if (made->error) std::rethrow_exception(made->error);
      outcomes[made->number] = made->outcome;
      ++runs_;
    }
  }
  return is_stopped() ? std::vector<TuneOutcome>(trials.size()) : outcomes;
}

}  // namespace headroom
