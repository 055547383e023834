#include "sim/study/ask/ask_load.hpp"

#include <algorithm>
#include <array>

#include "sim/resolve/resolve.hpp"
#include "sim/scenario/option_value.hpp"
#include "sim/scenario/options.hpp"
#include "sim/study/sweep/study_runner.hpp"

namespace headroom {
namespace {

constexpr std::string_view kAskOrigin = "ask";
constexpr std::array<std::string_view, 4> kLoadNames{"rate", "users", "trace_scale", "none"};

constexpr double kFewRequests = 20;        // that a latency can be read off
constexpr double kFarBelow = 20;           // times less than what is asked for
constexpr double kMostRequests = 500'000;  // of a run that is only a probe
constexpr double kMostUsers = 16'384;
constexpr double kEdgeTolerance = 0.01;

void erase_at(Json& root, const std::vector<std::string>& keys) {
  Json* node = &root;
  for (std::size_t i = 0; i + 1 < keys.size(); ++i) {
    if (!node->is_object() || !node->contains(keys[i])) return;
    node = &node->at(keys[i]);
  }
  if (node->is_object()) node->erase(keys.back());
}

constexpr double kLoopS = 300;
constexpr double kLoopStartS = 20;   // all users have begun
constexpr double kLoopWarmupS = 30;  // not part of the steady window

}  // namespace

std::string_view name_of(LoadKind kind) { return kLoadNames[static_cast<std::size_t>(kind)]; }

AskLoad load_of(const Scenario& scenario) {
  const WorkloadSection& w = scenario.workload;
  if (w.closed_loop.users) {
    return {LoadKind::users, "workload.closed_loop.users",
            static_cast<double>(*w.closed_loop.users)};
  }
  if (w.arrivals.request_rate) {
    AskLoad load{LoadKind::rate, "workload.arrivals.request_rate", *w.arrivals.request_rate};
    if (w.duration_s && *w.duration_s > 0) {
      load.least =
          std::min(load.value / kFarBelow, std::max(load.least, kFewRequests / *w.duration_s));
      load.most = std::max(load.value, std::min(load.most, kMostRequests / *w.duration_s));
    }
    return load;
  }
  if (!w.trace.file.empty()) {
    return {LoadKind::trace_scale, "workload.trace.rate_scale", w.trace.rate_scale};
  }
  if (!w.servegen.directory.empty()) {
    return {LoadKind::trace_scale, "workload.servegen.rate_scale", w.servegen.rate_scale};
  }
  return {};
}

void set_closed_loop(JsonDocument& document, std::optional<std::int64_t> users) {
  Json& workload = document.root["workload"];
  workload.erase("arrivals");
  workload.erase("num_requests");
  workload["duration_s"] = kLoopS;
  // What the scenario says of its users, as their time to think, stays.
  Json& loop = workload["closed_loop"];
  if (!loop.is_object()) loop = Json::object();
  if (!loop.contains("start_within_s")) loop["start_within_s"] = kLoopStartS;
  loop.erase("users");
  if (users) loop["users"] = *users;
  const std::array<std::string, 2> warmup{"run", "warmup_s"};
  set_at(document, warmup, kLoopWarmupS, std::string(kAskOrigin));
}

std::int64_t ask_requests(std::int64_t output_tokens) {
  constexpr std::int64_t kMost = 2000;
  constexpr std::int64_t kLeast = 500;
  constexpr std::int64_t kAnswered = 4'000'000;
  return std::clamp(kAnswered / std::max<std::int64_t>(output_tokens, 1), kLeast, kMost);
}

void set_open_loop(JsonDocument& document, std::int64_t output_tokens) {
  Json& workload = document.root["workload"];
  workload.erase("closed_loop");
  workload.erase("duration_s");
  workload["num_requests"] = ask_requests(output_tokens);
  erase_at(document.root, {"run", "warmup_s"});
}

bool makes_vectors(const Scenario& scenario, const Catalog& catalog) {
  constexpr std::string_view kRunner = "/engine/runner";
  const Json runner =
      scenario.is_given(std::string(kRunner)) ? option_value(scenario, kRunner) : Json();
  if (runner == "generate" || runner == "pooling") return runner == "pooling";
  return is_embedding_model(resolve_system(scenario, catalog).model);
}

void apply_settings(ScenarioDocument& document, std::span<const Setting> settings) {
  for (const Setting& setting : settings) {
    const std::vector<std::string> keys = path_keys(setting.path, std::string(kAskOrigin));
    if (setting.value.is_null()) {
      erase_at(document.json.root, keys);
      continue;
    }
    set_at(document.json, keys, setting.value, std::string(kAskOrigin));
  }
}

Scenario with_settings(ScenarioDocument document, std::span<const Setting> settings) {
  apply_settings(document, settings);
  const std::string name = document.json.name;
  return load_scenario(std::move(document), name, {});
}

ValueSearch load_search(const AskLoad& load, const std::vector<Limit>& targets) {
  ValueSearch search;
  search.path = load.path;
  if (!load.path.empty()) search.keys = path_keys(load.path, std::string(kAskOrigin));
  search.whole = load.kind == LoadKind::users;
  search.from = search.whole ? 1 : load.least;
  search.to = search.whole ? kMostUsers : load.most;
  search.tolerance = kEdgeTolerance;
  search.stationary = true;
  search.each = {{"started", false, 1},
                 {"lost_to_oom", true, 0},
                 {"rejected", true, 0},
                 {"unfinished", true, 0}};
  search.limits = targets;
  search.checks = 0;
  return search;
}

std::optional<EdgeFound> find_edge(const EdgeQuestion& question, const Catalog& catalog,
                                   const std::atomic<bool>* stop) {
  const ValueSearch& search = question.search;
  Measured measured;
  while (true) {
    SearchStep step = next_step(search, measured);
    if (step.found) return std::move(step.found);
    for (const Probe& probe : step.wanted) {
      std::vector<Setting> settings = question.settings;
      const Json value =
          search.whole ? Json(static_cast<std::int64_t>(probe.value)) : Json(probe.value);
      settings.push_back({search.path, value});
      std::optional<StoredRun> row =
          make_row([&] { return with_settings(question.document, settings); }, catalog, {}, stop);
      if (!row) return std::nullopt;
      measured[probe.value].push_back(std::move(*row));
    }
  }
}

}  // namespace headroom
