#pragma once
// Which of several configurations is worth most, in few runs: all run at a load, those that hold it
// meet a higher one, and so on. Most are out after one run.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/study/tune/tune_meter.hpp"

namespace headroom {

inline constexpr double kTuneTolerance = 0.01;  // relative, of a merit

struct TuneRacer {
  std::vector<Setting> settings;
  double scale = 1;  // its load for a merit of 1
};

struct RaceRules {
  double from = 1;        // a merit that the winner holds at least
  bool may_fall = false;  // search below it, too, where nobody holds it
  double slower = 1;
  std::optional<std::int64_t> seed = {};
  std::int64_t budget = kMostTuneBudget;  // runs
};

struct RaceEnd {
  std::vector<std::size_t> winners;  // none: nobody holds `from`
  std::optional<double> merit;       // that the winners hold, and nobody more than 1 % above
  std::vector<bool> possible;        // by racer: it starts
  bool out_of_budget = false;        // the winners are those of the last load that was afforded
};

// Where merits are loads; a load that holds is taken to leave all lower ones holding. Else one run
// of each decides, and `from` is what the winner's merit must reach.
[[nodiscard]] RaceEnd race(TuneMeter& meter, TuneObjective objective,
                           const std::vector<TuneRacer>& racers, const RaceRules& rules);

}  // namespace headroom
