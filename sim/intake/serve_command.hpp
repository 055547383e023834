#pragma once
// The command that starts an engine as a scenario has it: the inverse of what scenario_from_command
// reads, by the same rows.

#include <string>
#include <utility>
#include <vector>

#include "hardware/catalog.hpp"
#include "sim/scenario/json_document.hpp"
#include "sim/scenario/scenario.hpp"

namespace headroom {

struct ServeCommand {
  std::string text;                     // for a shell; empty: no launcher of this engine is known
  std::vector<std::string> not_a_flag;  // options of the section that no word of the text says
  std::vector<std::string> words;       // the program and its flags
  std::vector<std::pair<std::string, std::string>> environment;
  // Of the file that the engine's settings flag names, which no word names yet; null: none.
  Json settings;
};

// `engine`: the section of a scenario. `model`: as the launcher finds it, a Hugging Face name.
[[nodiscard]] ServeCommand serve_command(const Json& engine, const std::string& model);

// What a launcher is given for a scenario's model: the checkpoint that the user named, which may be
// another one than the catalog's of the same shape; of a catalog id or a tag, its repository.
[[nodiscard]] std::string launched_model(const std::string& given, const Catalog& catalog);

// The section with what the user gave, and the release that is modelled.
[[nodiscard]] Json engine_section(const Scenario& scenario);

}  // namespace headroom
