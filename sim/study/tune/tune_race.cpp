#include "sim/study/tune/tune_race.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace headroom {
namespace {

constexpr double kRise = 1.5;
constexpr int kMostFalls = 40;  // by half each: to as good as no load
constexpr double kMostMerit = 1e6;

class LoadRace {
 public:
  LoadRace(TuneMeter& meter, const std::vector<TuneRacer>& racers, const RaceRules& rules)
      : meter_(meter), racers_(racers), rules_(rules), first_run_(meter.runs()) {
    end_.possible.assign(racers.size(), false);
    end_.winners.resize(racers.size());
    std::iota(end_.winners.begin(), end_.winners.end(), std::size_t{0});
  }

  RaceEnd run() {
    std::optional<double> failing = start();
    if (!end_.merit) {
      end_.winners.clear();
      return std::move(end_);
    }
    while (!failing && *end_.merit < kMostMerit) {
      const double next = kRise * *end_.merit + (is_whole() ? 1 : 0);
      if (!holds_at(next)) failing = next;
      if (end_.out_of_budget) return std::move(end_);
    }
    while (failing && is_wide(*end_.merit, *failing)) {
      const double middle = std::sqrt(*end_.merit) * std::sqrt(*failing);
      if (!holds_at(middle)) failing = middle;
      if (end_.out_of_budget) break;
    }
    return std::move(end_);
  }

 private:
  [[nodiscard]] bool is_whole() const { return meter_.load().kind == LoadKind::users; }

  [[nodiscard]] bool is_wide(double low, double high) const {
    if (is_whole() && high - low <= 1) return false;
    return high > low * (1 + kTuneTolerance);
  }

  // The first load that somebody holds; the next one above it that nobody does, if one is known.
  std::optional<double> start() {
    std::optional<double> failing;
    double load = rules_.from;
    for (int i = 0; !holds_at(load) && !end_.out_of_budget; ++i) {
      failing = load;
      load /= 2;
      const bool is_least = is_whole() && load < 1;
      if (!rules_.may_fall || i == kMostFalls || is_least || !is_any_possible()) break;
    }
    return failing;
  }

  [[nodiscard]] bool is_any_possible() const {
    return std::ranges::find(end_.possible, true) != end_.possible.end();
  }

  // Whether anybody still in the race holds it; the others leave it then.
  bool holds_at(double merit) {
    const auto count = static_cast<std::int64_t>(end_.winners.size());
    if (meter_.runs() - first_run_ + count > rules_.budget) {
      end_.out_of_budget = true;
      return false;
    }
    std::vector<TuneTrial> trials;
    for (const std::size_t number : end_.winners) {
      const TuneRacer& racer = racers_[number];
      trials.push_back({racer.settings, merit * racer.scale, rules_.slower, rules_.seed});
    }
    const std::vector<TuneOutcome> outcomes = meter_.at(trials);
    std::vector<std::size_t> holding;
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
      if (outcomes[i].possible) end_.possible[end_.winners[i]] = true;
      if (outcomes[i].holds) holding.push_back(end_.winners[i]);
    }
    if (holding.empty()) return false;
    end_.winners = std::move(holding);
    end_.merit = merit;
    return true;
  }

  TuneMeter& meter_;
  const std::vector<TuneRacer>& racers_;
  const RaceRules& rules_;
  std::int64_t first_run_;
  RaceEnd end_;
};

// At the load of the scenario: tokens/s, tokens/J, tokens/s for each device.
std::optional<double> figure_of(const TuneOutcome& outcome, TuneObjective objective) {
  if (!outcome.holds) return std::nullopt;
  if (objective == TuneObjective::goodput) return outcome.tokens_per_s;
  if (objective == TuneObjective::dollars) {
    return outcome.tokens_per_s / static_cast<double>(outcome.devices);
  }
  if (!outcome.joules_per_token || *outcome.joules_per_token <= 0) return std::nullopt;
  return 1 / *outcome.joules_per_token;
}

RaceEnd figure_race(TuneMeter& meter, TuneObjective objective, const std::vector<TuneRacer>& racers,
                    const RaceRules& rules) {
  RaceEnd end;
  end.possible.assign(racers.size(), false);
  std::vector<TuneTrial> trials;
  for (const TuneRacer& racer : racers) {
    if (static_cast<std::int64_t>(trials.size()) == rules.budget) break;
    trials.push_back({racer.settings, std::nullopt, rules.slower, rules.seed});
  }
  end.out_of_budget = trials.size() < racers.size();
  const std::vector<TuneOutcome> outcomes = meter.at(trials);
  std::vector<std::optional<double>> figures;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    end.possible[i] = outcomes[i].possible;
    figures.push_back(figure_of(outcomes[i], objective));
    if (figures[i] && (!end.merit || *figures[i] > *end.merit)) end.merit = figures[i];
  }
  if (end.merit && *end.merit < rules.from && !rules.may_fall) end.merit.reset();
  for (std::size_t i = 0; end.merit && i < figures.size(); ++i) {
    if (figures[i] == end.merit) end.winners.push_back(i);
  }
  return end;
}

}  // namespace

RaceEnd race(TuneMeter& meter, TuneObjective objective, const std::vector<TuneRacer>& racers,
             const RaceRules& rules) {
  if (!meter.by_load()) return figure_race(meter, objective, racers, rules);
  return LoadRace(meter, racers, rules).run();
}

}  // namespace headroom
