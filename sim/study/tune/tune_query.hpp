#pragma once
// A tuning as people ask for it, and the scenario that it ends with.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/study/tune/tune.hpp"

namespace headroom {

struct TuneWords {
  std::string objective = "goodput";
  std::optional<double> price;     // $ for an hour of one device
  std::vector<std::string> keep;   // paths that stay as they stand
  std::vector<std::string> tries;  // "engine.quantization=fp8,int4"
  bool only_tries = false;
  std::int64_t budget = kTuneBudget;
  std::int64_t seed = 1;
};

// Without targets. ConfigError naming the flag of `headroom tune`: a word that means nothing, or a
// value that the scenario refuses.
[[nodiscard]] TuneQuery tune_query(const TuneWords& words, ScenarioDocument document);

// The scenario with the best options, and the engine's command for them, of each replica.
struct TunedScenario {
  Json root;
  std::string command;
};
[[nodiscard]] TunedScenario tuned_scenario(const TuneQuery& query, const TuneAnswer& answer);

}  // namespace headroom
