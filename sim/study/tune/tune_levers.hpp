#pragma once
// What `headroom tune` may change: each option that `headroom ask` tries, with all values that it
// proposes, as one lever; and how the devices are divided.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/study/ask/ask_candidates.hpp"
#include "sim/study/ask/ask_load.hpp"

namespace headroom {

struct TuneLevel {
  std::vector<Setting> settings;  // none: as it stands; a value of null: not given
  std::string text;               // "fp8"
  FixCost cost = FixCost::none;
  std::string cost_text;
};

struct TuneLever {
  std::string name;  // the option's path, or kDevicesLever
  std::vector<TuneLevel> levels;
  std::size_t default_level = 0;  // what the engine does where the option is not given
};

// Tensor, data and expert parallelism, replicas, and prefill apart from decode, on as many devices.
inline constexpr std::string_view kDevicesLever = "devices";

// One level of each lever, by number.
using TuneConfig = std::vector<std::size_t>;

// A lever's values as the user gives them: engine.max_num_seqs=16,64,256.
struct TriedValues {
  std::string path;
  std::vector<Json> values;
};
// ConfigError about --try: no path, no such option, no values.
[[nodiscard]] TriedValues parse_tried_values(const std::string& text);

struct TuneChoice {
  std::vector<std::string> keep = {};   // paths that stay as they stand
  std::vector<TriedValues> tries = {};  // in place of what `ask` proposes for the option
  bool only_tries = false;              // no other levers than these
  bool may_use_less = false;            // of the devices
};

// Levers of a system as it stands, started or not: level 0 of each. Left out is what needs more
// devices, and weights in another format, which is another model. ConfigError: `choice` names an
// option that nothing would change.
[[nodiscard]] std::vector<TuneLever> tune_levers(const RunResult& run, const TuneChoice& choice,
                                                 const Catalog& catalog);

// Further values around `run`, the system with other levels, at the end of their levers; whether
// there are any.
bool extend_levers(std::vector<TuneLever>& levers, const RunResult& run, const TuneChoice& choice,
                   const Catalog& catalog);

[[nodiscard]] std::vector<Setting> settings_of(const std::vector<TuneLever>& levers,
                                               const TuneConfig& config);

}  // namespace headroom
