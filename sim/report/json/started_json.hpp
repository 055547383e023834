#pragma once
// The answer on the log of a start-up that went well.

#include <optional>
#include <string>
#include <vector>

#include "sim/engines/started_log.hpp"
#include "sim/engines/startup_attribution.hpp"

namespace headroom {

struct StartedAnswer {
  std::string name;  // of the log
  StartedLog log;
  std::string system;                       // "qwen3-8b on rtx4090"; empty: not known
  std::optional<ModelledMemory> predicted;  // of that system
  std::optional<double> total_gib;          // of the device, where the log does not say it
  std::vector<std::string> notes;
};

// Memory of the device: what the log says, else the device's.
[[nodiscard]] std::optional<double> total_gib_of(const StartedAnswer& answer);

[[nodiscard]] std::string started_json(const StartedAnswer& answer);

}  // namespace headroom
