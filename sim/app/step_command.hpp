#pragma once
// `headroom step SCENARIO --decode N ...`: what one step costs, term by term.

#include <string>

#include "sim/fidelity/step_breakdown.hpp"
#include "sim/scenario/scenario_file.hpp"

namespace headroom {

struct StepArguments {
  std::string scenario;
  ScenarioFlags flags;
  StepQuestion question;
  std::string catalog;  // folder laid over the embedded one; empty: none
  bool json = false;
};

// What to print. ConfigError: the scenario or the question is wrong.
[[nodiscard]] std::string step_command(const StepArguments& arguments);

}  // namespace headroom
