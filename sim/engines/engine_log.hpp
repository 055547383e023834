#pragma once
// What an engine's start-up log says, in its own words and by its own arithmetic.

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/engines/engine.hpp"
#include "sim/engines/startup_log.hpp"

namespace headroom {

class Attributor;

struct EngineLog {
  std::span<const std::string_view> marks;  // texts that only this engine writes
  std::unique_ptr<StartupLogReader> (*reader)();
  // The share of memory that it may use.
  FoundNumber (*share)(const StartupLog& log);
  // What the figures leave unaccounted for, with a total and `pool_gib` in the log.
  std::optional<double> (*closure_gib)(const StartupLog& log, double pool_gib);
  // Sets the options that the log tells; says what is assumed for others.
  void (*set_options)(const StartupLog& log, EngineSection& options,
                      std::vector<std::string>& assumptions);
  // Adds the terms of its budget, each with its effect on the pool.
  void (*attribute)(Attributor& terms);
  // Of the modelled start: the same share, and whether graphs are taken off before the pool is
  // sized.
  double (*modelled_share)(const EngineSection& options);
  bool (*graphs_in_budget)(const EngineSection& options, const EngineSystem& system);
};

}  // namespace headroom
