#pragma once
// The system of a logged start-up: its flags as the command that they were, read as `headroom from`
// reads it.

#include <string>
#include <vector>

#include "hardware/catalog.hpp"
#include "sim/memory/startup_rows.hpp"
#include "sim/scenario/scenario.hpp"

namespace headroom {

struct StartScenario {
  Scenario scenario;
  std::string why;                 // why it cannot be replayed; empty: it can
  std::vector<std::string> notes;  // what was assumed, and flags that are not modelled
};

[[nodiscard]] StartScenario start_scenario(const LoggedStart& start, const Catalog& catalog);

// The engine's command with the row's flags, for a shell.
[[nodiscard]] std::string command_of(const LoggedStart& start);

}  // namespace headroom
