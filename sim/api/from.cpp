// Scenarios from commands, compose files and deployments.

#include "sim/intake/from.hpp"

#include <sstream>
#include <utility>

#include "sim/api/door.hpp"
#include "sim/api/headroom.hpp"
#include "sim/report/json/json_text.hpp"

namespace headroom::api {
namespace {

FromAnswer answer_of(FromResult result) {
  return {.scenario = json_text(result.scenario),
          .unknown_flags = std::move(result.unknown_flags),
          .ignored_flags = std::move(result.ignored_flags),
          .notes = std::move(result.notes)};
}

}  // namespace

FromAnswer from_command(std::string_view command) {
  return behind_door([&] { return answer_of(scenario_from_command(command, "command")); });
}

FromAnswer from_compose(std::string_view text, const std::string& service) {
  return behind_door([&] {
    std::istringstream stream{std::string(text)};
    return answer_of(scenario_from_compose(stream, "compose", service));
  });
}

FromAnswer from_deployment(const std::vector<std::pair<std::string, std::string>>& files) {
  return behind_door([&] {
    std::vector<DeploymentText> texts;
    bool units = true;
    for (const auto& [name, text] : files) {
      units = units && holds_unit(text);
      texts.push_back({name, text});
    }
    if (texts.empty()) throw ConfigError("from_deployment: no file");
    return answer_of(units ? scenario_from_units(texts) : scenario_from_deployment(texts));
  });
}

}  // namespace headroom::api
