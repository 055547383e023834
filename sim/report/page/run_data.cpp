#include "sim/report/page/run_data.hpp"

#include <fmt/format.h>

#include <string>

#include "sim/report/page/request_data.hpp"
#include "sim/report/page/timeline_data.hpp"

namespace headroom {
namespace {

// One row per value, the user's own ones marked.
Json settings_data(const Json& values) {
  Json rows = Json::array();
  for (const auto& [pointer, entry] : values.items()) {
    rows.push_back(
        Json::array({pointer, entry["value"], entry["set_by"], entry.value("given", false)}));
  }
  return rows;
}

// What the user gave, put together to a scenario again.
Json scenario_data(const RunFiles& run) {
  Json scenario = Json::object();
  for (const auto& [pointer, entry] : run.resolved["values"].items()) {
    if (!entry.value("given", false)) continue;
    try {
      scenario[Json::json_pointer(pointer)] = entry["value"];
    } catch (const Json::exception&) {
      throw ConfigError(
          Complaint{.origin = fmt::format("{}/resolved.json", run.directory),
                    .pointer = "/values",
                    .problem = fmt::format("{} is not a path in a scenario", pointer)});
    }
  }
  return scenario;
}

}  // namespace

Json run_data(const RunFiles& run) {
  const Json& values = run.resolved["values"];
  const Json& setup = run.summary["setup"];
  const ClientLatency client_latency{
      .request_ns = static_cast<TimeNs>(setup["client_latency_ms"].get<double>() * 1e6 + 0.5),
      .prompt_token_ps =
          static_cast<std::int64_t>(setup.value("client_prompt_token_us", 0.0) * 1e6 + 0.5)};
  const double end_s = run.summary["end_s"].get<double>();
  return {{"name", run.summary["scenario"]},
          {"directory", run.directory},
          {"summary", run.summary},
          {"settings", settings_data(values)},
          {"scenario", scenario_data(run)},
          {"latency", latency_data(run.requests, client_latency)},
          {"requests", requests_data(run.requests, client_latency)},
          {"throughput", throughput_data(run.requests, end_s)},
          {"timeline", timeline_data(run.timeline)},
          {"events", events_data(run.events, end_s)}};
}

}  // namespace headroom
