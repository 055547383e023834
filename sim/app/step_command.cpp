#include "sim/app/step_command.hpp"

#include "sim/app/list.hpp"
#include "sim/report/step_report.hpp"

namespace headroom {

std::string step_command(const StepArguments& arguments) {
  const Scenario scenario = load_scenario(arguments.scenario, arguments.flags);
  const StepBreakdown step =
      explain_step(scenario, load_catalog(arguments.catalog), arguments.question);
  return arguments.json ? step_json(step, arguments.question) : step_text(step, arguments.question);
}

}  // namespace headroom
