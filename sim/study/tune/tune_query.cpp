#include "sim/study/tune/tune_query.hpp"

#include <fmt/format.h>

#include <utility>

#include "sim/intake/serve_command.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/scenario/options.hpp"
#include "sim/scenario/short_paths.hpp"
#include "sim/study/ask/ask_load.hpp"

namespace headroom {
namespace {

TuneObjective objective_called(const std::string& name) {
  for (const TuneObjective one :
       {TuneObjective::goodput, TuneObjective::dollars, TuneObjective::joules}) {
    if (name == name_of(one)) return one;
  }
  throw ConfigError(Complaint{
      .origin = "--objective", .value = name, .problem = "expected goodput, dollars or joules"});
}

void check_numbers(const TuneWords& words) {
  if (words.budget < 1 || words.budget > kMostTuneBudget) {
    throw ConfigError(
        fmt::format("--budget {}: expected 1 to {} runs", words.budget, kMostTuneBudget));
  }
  if (words.price && !(*words.price > 0)) {
    throw ConfigError(fmt::format("--price {}: expected more than 0", *words.price));
  }
  if (words.seed < 0) throw ConfigError(fmt::format("--seed {}: expected 0 or more", words.seed));
}

// A value that is not allowed is refused, not left out as one that does not start.
void check_tries(const TuneQuery& query) {
  for (const TriedValues& tried : query.choice.tries) {
    for (const Json& value : tried.values) {
      ScenarioDocument changed = query.document;
      const std::vector<std::string> keys = path_keys(tried.path, "--try");
      set_at(changed.json, keys, value, fmt::format("--try {}", tried.path));
      (void)load_scenario(std::move(changed), query.document.json.name, {});
    }
  }
}

}  // namespace

TuneQuery tune_query(const TuneWords& words, ScenarioDocument document) {
  check_numbers(words);
  TuneQuery query;
  query.objective = objective_called(words.objective);
  query.device_price = words.price;
  query.budget = words.budget;
  query.seed = words.seed;
  for (const std::string& path : words.keep) {
    query.choice.keep.push_back(whole_path(path, "--keep"));
  }
  query.choice.only_tries = words.only_tries;
  for (const std::string& text : words.tries) {
    query.choice.tries.push_back(parse_tried_values(text));
  }
  if (words.only_tries && words.tries.empty()) {
    throw ConfigError(Complaint{.kind = ErrorKind::no_effect,
                                .origin = "--only-tries",
                                .problem = "give the values with --try"});
  }
  query.document = std::move(document);
  JsonDocument& json = query.document.json;
  if (!json.root.is_object()) throw value_error(json, "", json.root, "expected an object");
  place_short_keys(json);
  check_tries(query);
  return query;
}

TunedScenario tuned_scenario(const TuneQuery& query, const TuneAnswer& answer) {
  ScenarioDocument document = query.document;
  apply_settings(document, answer.settings);
  TunedScenario result{std::move(document.json.root), ""};
  const auto engine = result.root.find("engine");
  Json section = engine != result.root.end() && engine->is_object() ? *engine : Json::object();
  section["name"] = std::string(answer.run.resolved.engine->name);
  const Resolved& system = answer.run.resolved;
  const std::string& repo = system.model.hf_repo;
  result.command = serve_command(section, repo.empty() ? system.scenario.model : repo).text;
  return result;
}

}  // namespace headroom
