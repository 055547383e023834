#pragma once
// The command that starts an engine as a plan's fleet has it.

#include <string>
#include <vector>

#include "sim/scenario/json_document.hpp"

namespace headroom {

struct ServeCommand {
  std::string text;                     // empty: no launcher of this engine is known
  std::vector<std::string> not_a_flag;  // options of the section that no flag says
};

// `engine`: the section of a scenario. `model`: as the launcher finds it, a Hugging Face name.
[[nodiscard]] ServeCommand serve_command(const Json& engine, const std::string& model);

}  // namespace headroom
