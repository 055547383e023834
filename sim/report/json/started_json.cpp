#include "sim/report/json/started_json.hpp"

#include <array>
#include <string_view>
#include <utility>

#include "sim/engines/engine.hpp"
#include "sim/report/json/json_text.hpp"

namespace headroom {

std::optional<double> total_gib_of(const StartedAnswer& answer) {
  const auto& logged = answer.log.figure(StartFigure::total);
  return logged && *logged > 0 ? logged : answer.total_gib;
}

std::string started_json(const StartedAnswer& answer) {
  constexpr std::array<std::pair<std::string_view, StartFigure>, 11> kNames{
      {{"free_before_gib", StartFigure::free_before},
       {"free_after_gib", StartFigure::free_after},
       {"allocated_gib", StartFigure::allocated},
       {"weights_gib", StartFigure::weights},
       {"kv_gib", StartFigure::kv},
       {"states_gib", StartFigure::states},
       {"graphs_gib", StartFigure::graphs},
       {"activations_gib", StartFigure::activations},
       {"outside_torch_gib", StartFigure::outside},
       {"pool_tokens", StartFigure::pool_tokens},
       {"context_length", StartFigure::context_length}}};
  nlohmann::ordered_json logged = nlohmann::ordered_json::object();
  if (const std::optional<double> total = total_gib_of(answer)) logged["total_gib"] = *total;
  for (const auto& [name, which] : kNames) {
    if (const auto& figure = answer.log.figure(which)) logged[std::string(name)] = *figure;
  }
  if (answer.log.host_gib) logged["host_gib"] = *answer.log.host_gib;
  nlohmann::ordered_json json = {{"log", answer.name},
                                 {"engine", answer.log.engine->name},
                                 {"ran_out", false},
                                 {"logged", logged},
                                 {"notes", answer.notes}};
  if (!answer.system.empty()) json["system"] = answer.system;
  if (const auto& p = answer.predicted) {
    json["predicted"] = {{"total_gib", p->total_gib},
                         {"weights_gib", p->weights_gib},
                         {"kv_gib", p->kv_gib},
                         {"graphs_gib", p->graph_gib},
                         {"activations_gib", p->activation_gib},
                         {"pool_tokens", p->kv_tokens}};
  }
  return json_text(json);
}

}  // namespace headroom
