// The JSON of one answer through the api: `api_answers run|capacity|audit|compare A.json [B.json]`.
// tests/e2e/api.sh compares it with what the command line prints.

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "sim/api/headroom.hpp"

namespace {

using headroom::api::Scenario;
using headroom::api::Simulator;

Scenario scenario_at(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return Scenario::from_json(text.str(), path);
}

std::string answer(std::string_view question, const std::vector<Scenario>& scenarios) {
  const Simulator simulator;
  if (question == "run") return simulator.run(scenarios.at(0)).json;
  if (question == "capacity") return simulator.capacity(scenarios.at(0), {2048, 8192}).json;
  if (question == "audit") return simulator.audit(scenarios.at(0), 4096, 8).json;
  if (question == "compare") return simulator.compare(scenarios.at(0), scenarios.at(1), 2).json;
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() < 2) return EXIT_FAILURE;
  std::vector<Scenario> scenarios;
  for (std::size_t i = 1; i < words.size(); ++i) scenarios.push_back(scenario_at(words[i]));
  const std::string json = answer(words[0], scenarios);
  std::cout << json;
  return json.empty() ? EXIT_FAILURE : EXIT_SUCCESS;
}
