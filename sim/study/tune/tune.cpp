#include "sim/study/tune/tune.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "sim/kernel/errors.hpp"
#include "sim/kernel/random.hpp"
#include "sim/resolve/energy.hpp"
#include "sim/resolve/run_verdict.hpp"
#include "sim/scenario/short_paths.hpp"
#include "sim/study/compare/student_t.hpp"
#include "sim/study/tune/tune_meter.hpp"
#include "sim/study/tune/tune_race.hpp"

namespace headroom {
namespace {

constexpr std::array<std::string_view, 3> kObjectiveNames{"goodput", "dollars", "joules"};
constexpr std::int64_t kMostRandom = 96;  // configurations of the first race
constexpr std::int64_t kRandomShare = 5;  // of the budget, one part of so many
constexpr int kSmallerRounds = 3;
constexpr double kBetter = 1.02;  // twice what a race can tell
constexpr double kWorse = 0.98;   // likewise
constexpr std::int64_t kGainSeeds = 5;
constexpr std::size_t kTopFew = 5;  // judged again at the ends of the known error

// Long enough for percentiles; a longer scenario is cut.
ScenarioDocument shortened(ScenarioDocument document) {
  place_short_keys(document.json);
  const Scenario whole = with_settings(document, {});
  const auto& count = whole.workload.num_requests;
  if (count && *count > kTuneRequests) {
    document.json.root["workload"]["num_requests"] = kTuneRequests;
  }
  return document;
}

class Tuner {
 public:
  Tuner(const TuneQuery& query, const Catalog& catalog, const TuneOptions& options)
      : query_(query),
        catalog_(catalog),
        scenario_(with_settings(query.document, {})),
        meter_(query, scenario_, catalog, options) {
    answer_.objective = query.objective;
    answer_.load = meter_.load();
    answer_.by_load = meter_.by_load();
    answer_.run = headroom::run(scenario_, catalog, {.interrupted = options.interrupted});
  }

  TuneAnswer answer() {
    TuneChoice choice = query_.choice;
    choice.may_use_less = query_.objective == TuneObjective::dollars;
    answer_.levers = tune_levers(answer_.run, choice, catalog_);
    price_ = device_price();
    check_objective();
    widen(choice);
    const TuneConfig zero(levers().size(), 0);
    answer_.as_it_stands = alone(zero);
    answer_.defaults = alone(defaults());
    best_ =
        better(answer_.defaults, answer_.as_it_stands) ? answer_.defaults : answer_.as_it_stands;
    race_design();
    climb(choice);
    answer_.search_runs = meter_.runs();
    prune();
    answer_.best = finished(best_);
    answer_.as_it_stands = finished(answer_.as_it_stands);
    answer_.defaults = finished(answer_.defaults);
    answer_.settings = settings_of(levers(), answer_.best.config);
    explain();
    repeat_with_seeds();
    judge_ends();
    answer_.configs = static_cast<std::int64_t>(tried_.size());
    answer_.refused = std::ranges::count(tried_, false, [](const auto& one) { return one.second; });
    answer_.runs = meter_.runs();
    answer_.interrupted = meter_.is_stopped();
    return std::move(answer_);
  }

 private:
  [[nodiscard]] const std::vector<TuneLever>& levers() const { return answer_.levers; }

  // Smaller counts than `ask` proposes in one step: a smaller batch or step often helps only when
  // it is much smaller.
  void widen(const TuneChoice& choice) {
    for (int round = 0; round < kSmallerRounds; ++round) {
      for (const TuneLever& lever : levers()) {  // extended below, none added
        const std::optional<Setting> least = least_count(lever);
        if (!least) continue;
        try {
          const std::array settings{*least};
          const RunResult run = check(with_settings(query_.document, settings), catalog_);
          (void)extend_levers(answer_.levers, run, choice, catalog_);
        } catch (const UserError&) {
          continue;  // too small for the engine
        }
      }
    }
  }

  [[nodiscard]] static std::optional<Setting> least_count(const TuneLever& lever) {
    std::optional<Setting> least;
    for (const TuneLevel& level : lever.levels) {
      const bool counts = level.settings.size() == 1 && lever.name != kDevicesLever &&
                          level.settings.front().value.is_number_integer();
      if (counts && (!least || level.settings.front().value < least->value)) {
        least = level.settings.front();
      }
    }
    return least;
  }

  [[nodiscard]] TuneConfig defaults() const {
    TuneConfig config;
    for (const TuneLever& lever : levers()) config.push_back(lever.default_level);
    return config;
  }

  [[nodiscard]] static bool better(const TunePoint& a, const TunePoint& b) {
    return a.merit && (!b.merit || *a.merit > *b.merit);
  }

  // $/h of one device.
  [[nodiscard]] std::optional<double> device_price() const {
    if (query_.device_price) return query_.device_price;
    const std::int64_t devices = devices_in(answer_.run);
    double dollars = 0;
    for (const FleetGroup& group : answer_.run.groups) {
      if (!group.cost_per_hour) return std::nullopt;
      dollars += *group.cost_per_hour * static_cast<double>(group.count);
    }
    return devices > 0 ? std::optional(dollars / static_cast<double>(devices)) : std::nullopt;
  }

  void check_objective() const {
    const auto refuse = [](std::string problem) {
      throw ConfigError(
          Complaint{.kind = ErrorKind::missing, .origin = "tune", .problem = std::move(problem)});
    };
    if (query_.objective == TuneObjective::dollars && !price_) {
      refuse("dollars need a price: --price for an hour of one device, or fleet.cost_per_hour");
    }
    const bool needs_power = query_.objective == TuneObjective::joules && answer_.run.started;
    if (needs_power && !energy_of(answer_.run)) {
      refuse("joules need the device's power: give device.power");
    }
    if (levers().empty()) refuse("nothing to change: every option is kept, or there is none");
  }

  [[nodiscard]] TuneRacer racer(const TuneConfig& config) {
    TuneRacer racer{settings_of(levers(), config), 1};
    if (query_.objective == TuneObjective::dollars && meter_.by_load()) {
      racer.scale = device_share(racer.settings);
    }
    return racer;
  }

  // Devices relative to the scenario as it stands; what is not valid has as many.
  [[nodiscard]] double device_share(const std::vector<Setting>& settings) const {
    try {
      const RunResult changed = check(with_settings(query_.document, settings), catalog_);
      return static_cast<double>(devices_in(changed)) /
             static_cast<double>(devices_in(answer_.run));
    } catch (const UserError&) {
      return 1;
    }
  }

  // The whole race of `configs`, noted.
  RaceEnd race_of(const std::vector<TuneConfig>& configs, RaceRules rules) {
    std::vector<TuneRacer> racers;
    for (const TuneConfig& config : configs) racers.push_back(racer(config));
    RaceEnd end = race(meter_, query_.objective, racers, rules);
    for (std::size_t i = 0; i < configs.size(); ++i) tried_[configs[i]] |= end.possible[i];
    return end;
  }

  [[nodiscard]] double first_load() const {
    return meter_.by_load() && answer_.load.value > 0 ? answer_.load.value : 1;
  }

  // The merit of one configuration.
  TunePoint alone(const TuneConfig& config) {
    const RaceEnd end = race_of({config}, {.from = first_load(), .may_fall = true});
    TunePoint point;
    point.config = config;
    point.merit = end.merit;
    note(point);
    return point;
  }

  void note(const TunePoint& point) {
    if (point.merit) known_[point.config] = *point.merit;
  }

  [[nodiscard]] std::int64_t budget_left() const { return query_.budget - meter_.runs(); }

  // Of several that are worth the same: the fewest changes, then the least that they cost.
  [[nodiscard]] TuneConfig plainest(const std::vector<TuneConfig>& configs,
                                    const std::vector<std::size_t>& numbers) const {
    const auto weight = [this](const TuneConfig& config) {
      std::int64_t changes = 0;
      std::int64_t cost = 0;
      for (std::size_t i = 0; i < config.size(); ++i) {
        changes += config[i] != 0;
        cost += static_cast<std::int64_t>(levers()[i].levels[config[i]].cost);
      }
      return std::pair(changes, cost);
    };
    return configs[*std::ranges::min_element(numbers, {}, [&](std::size_t number) {
      return std::pair(weight(configs[number]), number);
    })];
  }

  // Whether one of `configs` is clearly better than the best so far, which it then is.
  bool challenge(const std::vector<TuneConfig>& configs) {
    if (configs.empty() || meter_.is_stopped()) return false;
    if (budget_left() <= 0) {
      answer_.out_of_budget = true;
      return false;
    }
    RaceRules rules{.from = best_.merit ? kBetter * *best_.merit : first_load(),
                    .may_fall = !best_.merit,
                    .budget = budget_left()};
    const RaceEnd end = race_of(configs, rules);
    answer_.out_of_budget = answer_.out_of_budget || end.out_of_budget;
    if (!end.merit) return false;
    best_ = {};
    best_.config = plainest(configs, end.winners);
    best_.merit = end.merit;
    for (const std::size_t number : end.winners) known_[configs[number]] = *end.merit;
    return true;
  }

  // Every single change, and random configurations in which half of the levers are moved.
  void race_design() {
    std::vector<TuneConfig> design;
    std::set<TuneConfig> seen{answer_.as_it_stands.config, answer_.defaults.config};
    const auto add = [&](const TuneConfig& config) {
      if (seen.insert(config).second) design.push_back(config);
    };
    for (const TuneConfig& config : neighbours(answer_.as_it_stands.config)) add(config);
    RandomStream random(static_cast<std::uint64_t>(query_.seed), "tune");
    const std::int64_t count = std::min(kMostRandom, query_.budget / kRandomShare);
    for (std::int64_t i = 0; i < count; ++i) {
      TuneConfig config;
      for (const TuneLever& lever : levers()) {
        const std::int64_t last = std::ssize(lever.levels) - 1;
        const bool moves = random.uniform_int(0, 1) == 1;
        config.push_back(moves ? static_cast<std::size_t>(random.uniform_int(1, last)) : 0);
      }
      add(config);
    }
    challenge(design);
  }

  [[nodiscard]] std::vector<TuneConfig> neighbours(const TuneConfig& config) const {
    std::vector<TuneConfig> all;
    for (std::size_t i = 0; i < levers().size(); ++i) {
      for (std::size_t level = 0; level < levers()[i].levels.size(); ++level) {
        if (level == config[i]) continue;
        all.push_back(config);
        all.back()[i] = level;
      }
    }
    return all;
  }

  // Single changes of the best until none is better; with further values around its own.
  void climb(const TuneChoice& choice) {
    while (best_.merit && !meter_.is_stopped() && !answer_.out_of_budget) {
      if (challenge(neighbours(best_.config))) continue;
      const std::vector<std::size_t> before = level_counts();
      const std::vector<Setting> settings = settings_of(levers(), best_.config);
      const RunResult run = check(with_settings(query_.document, settings), catalog_);
      if (!extend_levers(answer_.levers, run, choice, catalog_)) return;
      std::vector<TuneConfig> further = neighbours(best_.config);
      std::erase_if(further, [&](const TuneConfig& config) {
        for (std::size_t i = 0; i < config.size(); ++i) {
          if (config[i] >= before[i]) return false;
        }
        return true;
      });
      if (!challenge(further)) return;
    }
  }

  [[nodiscard]] std::vector<std::size_t> level_counts() const {
    std::vector<std::size_t> counts;
    for (const TuneLever& lever : levers()) counts.push_back(lever.levels.size());
    return counts;
  }

  // Whether each of `configs` is worth at least `merit`.
  std::vector<RaceEnd> hold(const std::vector<TuneConfig>& configs, double merit) {
    std::vector<RaceEnd> ends(configs.size());
    if (!meter_.by_load()) {
      for (std::size_t i = 0; i < configs.size(); ++i)
        ends[i] = race_of({configs[i]}, {.from = merit});
      return ends;
    }
    std::vector<TuneTrial> trials;
    for (const TuneConfig& config : configs) {
      const TuneRacer one = racer(config);
      trials.push_back({one.settings, merit * one.scale});
    }
    const std::vector<TuneOutcome> outcomes = meter_.at(trials);
    for (std::size_t i = 0; i < configs.size(); ++i) {
      ends[i].possible = {outcomes[i].possible};
      if (outcomes[i].holds) ends[i].merit = merit;
    }
    return ends;
  }

  // Changes without which the best is worth as much are taken back.
  void prune() {
    if (!best_.merit) return;
    for (std::size_t i = 0; i < best_.config.size(); ++i) {
      if (best_.config[i] == 0) continue;
      TuneConfig without = best_.config;
      without[i] = 0;
      const double least = (meter_.by_load() ? 1 : 1 - kTuneTolerance) * *best_.merit;
      if (const RaceEnd end = hold({without}, least).front(); end.merit) {
        best_.config = std::move(without);
        best_.merit = end.merit;
      }
    }
    note(best_);
  }

  // With the figures of a run at its own load.
  TunePoint finished(TunePoint point) {
    if (!point.merit) return point;
    const TuneRacer one = racer(point.config);
    TuneTrial trial{one.settings, std::nullopt};
    if (meter_.by_load()) {
      const double load = *point.merit * one.scale;
      trial.load = answer_.load.kind == LoadKind::users ? std::floor(load) : load;
      point.load = trial.load;
    }
    const TuneOutcome outcome = meter_.at({trial}).front();
    point.devices = outcome.devices;
    point.joules_per_token = outcome.joules_per_token;
    if (price_ && outcome.tokens_per_s > 0) {
      const double per_hour = *price_ * static_cast<double>(outcome.devices);
      point.dollars_per_million_tokens = per_hour / 3600 / outcome.tokens_per_s * 1e6;
    }
    return point;
  }

  // What each change is worth, and what was left as it is.
  void explain() {
    if (!best_.merit) return;
    const double merit = *best_.merit;
    const double base = answer_.as_it_stands.merit.value_or(0);
    for (std::size_t i = 0; i < best_.config.size(); ++i) {
      if (best_.config[i] != 0) {
        TuneConfig without = best_.config;
        without[i] = 0;
        TuneShare share{i, alone(without).merit};
        if (merit > base) share.share = (merit - share.merit.value_or(0)) / (merit - base);
        answer_.shares.push_back(share);
        continue;
      }
      TuneLeft left{i};
      std::vector<TuneConfig> others;
      for (std::size_t level = 1; level < levers()[i].levels.size(); ++level) {
        others.push_back(best_.config);
        others.back()[i] = level;
      }
      for (const RaceEnd& end : hold(others, kWorse * merit)) {
        left.possible = left.possible || end.possible.front();
        left.matters = left.matters || (end.possible.front() && !end.merit);
      }
      answer_.left.push_back(left);
    }
    std::ranges::stable_sort(answer_.shares, std::greater<>(), &TuneShare::share);
  }

  [[nodiscard]] bool has_no_draws() const {
    if (scenario_.workload.trace.file.empty()) return false;
    Scenario other = scenario_;
    ++other.seed;
    return headroom::run(other, catalog_).digest == answer_.run.digest;
  }

  // The gain with draws of the same traffic that the search has not seen: the best of many
  // configurations was also lucky with its own.
  void repeat_with_seeds() {
    if (!best_.merit || !answer_.as_it_stands.merit) return;
    answer_.has_no_draws = has_no_draws();
    if (answer_.has_no_draws) return;
    std::vector<double> gains;
    for (std::int64_t i = 1; i <= kGainSeeds && !meter_.is_stopped(); ++i) {
      const auto merit = [&](const TunePoint& point) {
        return race_of({point.config},
                       {.from = *point.merit, .may_fall = true, .seed = scenario_.seed + i})
            .merit;
      };
      const std::optional<double> before = merit(answer_.as_it_stands);
      const std::optional<double> after = merit(best_);
      if (before && after && *before > 0) gains.push_back(*after / *before - 1);
    }
    if (gains.empty()) return;
    const MeanInterval interval = mean_interval(gains);
    answer_.gain = interval.mean;
    answer_.gain_half_width = interval.half_width;
    answer_.gain_seeds = std::ssize(gains);
  }

  // The best few again, with all times at either end of what measured runs were.
  void judge_ends() {
    const ErrorRange range = latency_range(answer_.run.expected_error, LatencyKind::e2el);
    if (!best_.merit || range.low == range.high || meter_.is_stopped()) return;
    std::vector<std::pair<double, TuneConfig>> ranked;
    for (const auto& [config, merit] : known_) {
      if (config != best_.config) ranked.emplace_back(-merit, config);
    }
    std::ranges::stable_sort(ranked, {}, [](const auto& one) { return one.first; });
    std::vector<TuneConfig> few{best_.config};
    for (const auto& [merit, config] : ranked) {
      if (few.size() < kTopFew) few.push_back(config);
    }
    for (const double slower : {1 + range.low, 1 + range.high}) {
      RaceRules rules{.from = *best_.merit / slower, .may_fall = true, .slower = slower};
      const RaceEnd own = race_of({best_.config}, rules);
      const RaceEnd end = race_of(few, rules);
      TuneAtEnd at{slower, true, best_.config, 0};
      if (end.merit && own.merit) at.gain = *end.merit / *own.merit - 1;
      at.same = !end.merit || (own.merit && at.gain <= kBetter - 1);
      if (!at.same) at.best = plainest(few, end.winners);
      answer_.ends.push_back(std::move(at));
    }
  }

  const TuneQuery& query_;
  const Catalog& catalog_;
  Scenario scenario_;
  TuneMeter meter_;
  std::optional<double> price_;
  TunePoint best_;
  std::map<TuneConfig, bool> tried_;    // whether it starts
  std::map<TuneConfig, double> known_;  // merits
  TuneAnswer answer_;
};

}  // namespace

std::string_view name_of(TuneObjective objective) {
  return kObjectiveNames[static_cast<std::size_t>(objective)];
}

TuneAnswer tune(const TuneQuery& query, const Catalog& catalog, const TuneOptions& options) {
  TuneQuery cut = query;
  cut.document = shortened(std::move(cut.document));
  return Tuner(cut, catalog, options).answer();
}

}  // namespace headroom
