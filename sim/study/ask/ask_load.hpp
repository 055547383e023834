#pragma once
// The load of a scenario as one number, and the searches for the largest one that holds.

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/catalog.hpp"
#include "sim/scenario/scenario_file.hpp"
#include "sim/study/search/bisection.hpp"

namespace headroom {

// What the traffic's size is counted in.
enum class LoadKind {
  rate,         // requests/s
  users,        // who send their next request when they have an answer
  trace_scale,  // of a recorded trace: its times are divided by it
  none          // all at once, a profile of rates: no one number
};
[[nodiscard]] std::string_view name_of(LoadKind kind);

struct AskLoad {
  LoadKind kind = LoadKind::none;
  std::string path;     // of the option, as --set takes it
  double value = 0;     // in the scenario
  double least = 1e-3;  // a request in a quarter of an hour: as good as alone
  double most = 1e4;    // worth a run; of users see load_search
};
[[nodiscard]] AskLoad load_of(const Scenario& scenario);

// Users who send one request after the other for five minutes, in place of the workload's arrivals.
// They begin one by one, as all at once would measure their first moment. Without `users` their
// number is still to be set. The workload is an object.
void set_closed_loop(JsonDocument& document, std::optional<std::int64_t> users);

// How many requests of answers of so many tokens a question asks about: 2,000, twenty of them
// beyond p99, and down to a quarter of it for long answers, whose runs have many steps each.
[[nodiscard]] std::int64_t ask_requests(std::int64_t output_tokens);

// The same requests at a rate that is still to be set, as many as ask_requests() says.
void set_open_loop(JsonDocument& document, std::int64_t output_tokens);

// Whether the model makes vectors of prompts, and no tokens. ConfigError: as resolve_system.
[[nodiscard]] bool makes_vectors(const Scenario& scenario, const Catalog& catalog);

// An option with another value, as --set would give it; null: as if it were not given.
struct Setting {
  std::string path;
  Json value;
};

void apply_settings(ScenarioDocument& document, std::span<const Setting> settings);

// ConfigError: as load_scenario.
[[nodiscard]] Scenario with_settings(ScenarioDocument document, std::span<const Setting> settings);

// A system and its traffic whose largest load is searched.
struct EdgeQuestion {
  ScenarioDocument document;
  std::vector<Setting> settings;
  ValueSearch search;
};

// The largest load of `load` that starts, keeps up with its traffic, turns away and loses no
// request and keeps the targets; to 1 %.
[[nodiscard]] ValueSearch load_search(const AskLoad& load, const std::vector<Limit>& targets);

// One thread makes the runs of a question. Empty: cut short by `stop`, which may be null.
[[nodiscard]] std::optional<EdgeFound> find_edge(const EdgeQuestion& question,
                                                 const Catalog& catalog,
                                                 const std::atomic<bool>* stop);

}  // namespace headroom
