#include "playground/core/calls.hpp"

#include <nlohmann/json.hpp>
#include <vector>

#include "playground/core/charts.hpp"

namespace headroom::playground {
namespace {

using api::Scenario;
using api::Simulator;
using nlohmann::json;

json error_json(const api::Error& error) {
  const api::Error::About& about = error.about();
  return {{"error",
           {{"sentence", error.what()},
            {"kind", about.kind},
            {"origin", about.origin},
            {"pointer", about.pointer},
            {"value", about.value},
            {"allowed", about.allowed},
            {"nearest", about.nearest}}}};
}

Scenario scenario_of(const json& request) {
  const std::string text = request.at("scenario");
  Scenario scenario = text.starts_with('{') || text.find('\n') != std::string::npos
                          ? Scenario::from_json(text)
                          : Scenario::ready(text);
  const json none = json::object();
  for (const auto& [path, value] : (request.contains("set") ? request["set"] : none).items()) {
    scenario.set(path, value.dump());
  }
  if (request.contains("trace")) scenario.replay(request["trace"]);
  return scenario;
}

json names(const Simulator& simulator, const json&) {
  json engines = json::array();
  for (const api::EngineAnswer& engine : api::engines()) {
    engines.push_back({{"name", engine.name},
                       {"version", engine.version},
                       {"share_option", engine.share_option},
                       {"batch_option", engine.batch_option},
                       {"length_option", engine.length_option}});
  }
  return {{"version", api::version()},
          {"models", simulator.models()},
          {"devices", simulator.devices()},
          {"environments", simulator.environments()},
          {"engines", std::move(engines)}};
}

json from(const Simulator&, const json& request) {
  const api::FromAnswer answer =
      request.contains("compose")
          ? api::from_compose(request["compose"].get<std::string>(), request.value("service", ""))
          : api::from_command(request.at("command").get<std::string>());
  return {{"scenario", answer.scenario},
          {"unknown_flags", answer.unknown_flags},
          {"ignored_flags", answer.ignored_flags},
          {"notes", answer.notes}};
}

json written(const Simulator& simulator, const json& request) {
  const Scenario scenario = scenario_of(request);
  const api::CommandAnswer command = simulator.command(scenario);
  return {{"json", scenario.json()}, {"command", command.text}, {"no_flags", command.no_flags}};
}

json run(const Simulator& simulator, const json& request) {
  const bool with_charts = request.value("charts", false);
  const api::RunAnswer answer = simulator.run(scenario_of(request), {.tables = with_charts});
  json result = {{"summary", answer.json}, {"digest", answer.digest}};
  if (with_charts && answer.started) result["charts"] = run_charts(answer);
  return result;
}

json capacity(const Simulator& simulator, const json& request) {
  const std::vector<std::int64_t> contexts = request.at("contexts");
  return {{"json", simulator.capacity(scenario_of(request), contexts).json}};
}

json audit(const Simulator& simulator, const json& request) {
  const std::int64_t context = request.value("context", 0);
  const std::int64_t concurrency = request.value("concurrency", 1);
  return {{"json", simulator.audit(scenario_of(request), context, concurrency).json}};
}

json ask(const Simulator& simulator, const json& request) {
  return {{"json", simulator.ask(scenario_of(request), request.value("targets", "")).json}};
}

struct Call {
  std::string_view name;
  json (*answer)(const Simulator& simulator, const json& request);
};
constexpr Call kCalls[] = {{"names", names}, {"from", from},         {"scenario", written},
                           {"run", run},     {"capacity", capacity}, {"audit", audit},
                           {"ask", ask}};

json answer_to(const Simulator& simulator, const json& request) {
  const std::string name = request.at("do");
  for (const Call& call : kCalls) {
    if (call.name == name) return call.answer(simulator, request);
  }
  throw api::Error("unknown call " + name, {.kind = "unknown", .value = name});
}

}  // namespace

const Simulator& Calls::simulator() {
  if (!simulator_) simulator_ = std::make_unique<Simulator>();
  return *simulator_;
}

std::string Calls::answer(std::string_view request) {
  json answer;
  try {
    answer = answer_to(simulator(), json::parse(request));
  } catch (const api::Error& error) {
    answer = error_json(error);
  } catch (const json::exception& error) {  // of the request; nothing else here reads JSON
    answer = error_json(api::Error(error.what(), {.kind = "value", .origin = "request"}));
  } catch (const std::exception& error) {
    answer = error_json(api::Error(error.what(), {.kind = "internal"}));
  }
  return answer.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace headroom::playground
