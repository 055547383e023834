#include "sim/report/json/tune_json.hpp"

namespace headroom {
namespace {

using Json = nlohmann::ordered_json;

Json point_json(const TuneAnswer& answer, const TunePoint& point) {
  Json levels = Json::object();
  for (std::size_t i = 0; i < point.config.size(); ++i) {
    const TuneLever& lever = answer.levers[i];
    if (point.config[i] != 0) levels[lever.name] = lever.levels[point.config[i]].text;
  }
  return {{"changes", levels},
          {"merit", optional_json(point.merit)},
          {"load", optional_json(point.load)},
          {"devices", point.devices},
          {"dollars_per_million_output_tokens", optional_json(point.dollars_per_million_tokens)},
          {"joules_per_output_token", optional_json(point.joules_per_token)}};
}

Json shares_json(const TuneAnswer& answer) {
  Json list = Json::array();
  for (const TuneShare& share : answer.shares) {
    const TuneLever& lever = answer.levers[share.lever];
    const TuneLevel& level = lever.levels[answer.best.config[share.lever]];
    list.push_back({{"flag", lever.name},
                    {"from", lever.levels.front().text},
                    {"to", level.text},
                    {"cost", name_of(level.cost)},
                    {"merit_without", optional_json(share.merit)},
                    {"share_of_gain", share.share}});
  }
  return list;
}

Json left_json(const TuneAnswer& answer) {
  Json list = Json::array();
  for (const TuneLeft& left : answer.left) {
    const TuneLever& lever = answer.levers[left.lever];
    Json tried = Json::array();
    for (std::size_t i = 1; i < lever.levels.size(); ++i) tried.push_back(lever.levels[i].text);
    list.push_back({{"flag", lever.name},
                    {"value", lever.levels.front().text},
                    {"tried", tried},
                    {"possible", left.possible},
                    {"matters", left.matters}});
  }
  return list;
}

Json ends_json(const TuneAnswer& answer) {
  Json list = Json::array();
  for (const TuneAtEnd& end : answer.ends) {
    Json changes = Json::object();
    for (std::size_t i = 0; i < end.best.size(); ++i) {
      const TuneLever& lever = answer.levers[i];
      if (end.best[i] != 0) changes[lever.name] = lever.levels[end.best[i]].text;
    }
    list.push_back({{"times", end.slower},
                    {"same_flags", end.same},
                    {"changes", changes},
                    {"gain_over_best", end.gain}});
  }
  return list;
}

}  // namespace

Json tune_json(const TuneAnswer& answer, const Json& scenario, const std::string& command,
               const std::string& version) {
  const Resolved& r = answer.run.resolved;
  return {{"headroom_version", version},
          {"objective", name_of(answer.objective)},
          {"merit_is_load", answer.by_load},
          {"load", {{"kind", name_of(answer.load.kind)}, {"option", answer.load.path}}},
          {"model", r.model.id},
          {"device", r.device.id},
          {"engine", r.engine->name},
          {"as_it_stands", point_json(answer, answer.as_it_stands)},
          {"defaults", point_json(answer, answer.defaults)},
          {"best", point_json(answer, answer.best)},
          {"gain",
           {{"mean", optional_json(answer.gain)},
            {"half_width", answer.gain_half_width},
            {"seeds", answer.gain_seeds},
            {"has_no_draws", answer.has_no_draws}}},
          {"flags", shares_json(answer)},
          {"left", left_json(answer)},
          {"model_error", ends_json(answer)},
          {"configurations", answer.configs},
          {"not_possible", answer.refused},
          {"search_runs", answer.search_runs},
          {"runs", answer.runs},
          {"out_of_budget", answer.out_of_budget},
          {"command", command},
          {"warnings", answer.run.warnings},
          {"scenario", scenario}};
}

}  // namespace headroom
