#include "sim/intake/draft.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "sim/engines/engines.hpp"
#include "sim/intake/from.hpp"
#include "sim/intake/values.hpp"
#include "sim/scenario/options.hpp"

namespace headroom {
namespace {

constexpr std::string_view kEngine = "/engine/";

std::int64_t size_of(const Draft& draft, std::string_view pointer) {
  const Json* value = draft.find(pointer);
  return value == nullptr ? 1 : value->get<std::int64_t>();
}

// A flag that starts a part of an engine on each of several machines, or lets Ray choose them: the
// devices of this one are not all.
bool may_span_machines(const Draft& draft) {
  constexpr std::array<std::string_view, 2> kFlags{"--nnodes", "--distributed-executor-backend"};
  const auto begins = [&kFlags](const std::string& text) {
    return std::ranges::any_of(kFlags,
                               [&text](std::string_view flag) { return text.starts_with(flag); });
  };
  return std::ranges::any_of(draft.result.ignored_flags, begins) ||
         std::ranges::any_of(draft.result.notes, begins);
}

void compare_devices(Draft& draft) {
  const EngineLaunch& launch = *draft.engine->launch;
  if (!draft.devices || launch.spreads_by_itself) return;
  const std::int64_t used = size_of(draft, "/engine/tensor_parallel_size") *
                            size_of(draft, "/engine/pipeline_parallel_size");
  const std::int64_t replicas =
      launch.own_devices_per_rank ? size_of(draft, "/engine/data_parallel_size") : 1;
  if (used * replicas <= *draft.devices) return;
  const std::string counts = fmt::format("{} gives {} device(s), the flags use {}",
                                         draft.devices_by, *draft.devices, used * replicas);
  if (may_span_machines(draft)) {
    draft.note(counts + ": the others must be on other machines");
  } else {
    draft.refuses_to_start(counts + ": the engine will not start");
  }
}

// "/engine/watermark" as "engine.watermark".
std::string dotted(std::string_view pointer) {
  std::string path(pointer.substr(1));
  std::ranges::replace(path, '/', '.');
  return path;
}

// Which release is modelled where none is named, and up to which one the rules are known.
std::string release_note(const Engine& engine) {
  return fmt::format(
      "the engine's release is not named: {} {} is modelled{}; set engine.version for another one",
      engine.name, engine.version,
      engine.newest > engine.release(engine.version)
          ? fmt::format(" (newest known rules: {})", to_string(engine.newest))
          : "");
}

// An option that changes nothing is an error of a scenario, and the release decides about the
// scheduler: vLLM had another one before 0.8.
void leave_out_idle_options(Draft& draft) {
  Scenario scenario;
  scenario.engine.name = draft.engine->name;
  if (const Json* version = draft.find("/engine/version"); version != nullptr) {
    scenario.engine.version = version->get<std::string>();
  }
  if (const Json* lora = draft.find("/engine/enable_lora"); lora != nullptr && lora->is_boolean()) {
    scenario.engine.enable_lora = lora->get<bool>();
  }
  for (const OptionRow& option : all_options()) {
    if (const Json* method = draft.find("/engine/speculative_config/method"); method != nullptr) {
      scenario.engine.speculative.method = method->get<std::string>();
    } else {
      scenario.engine.speculative.method = "none";
    }
    const bool of_engine = option.pointer.starts_with(kEngine) && !option.only_with.empty();
    if (!of_engine || draft.find(option.pointer) == nullptr) continue;
    if (applies(option, scenario)) continue;
    const std::string_view part = option.only_with.substr(0, option.only_with.find('='));
    draft.unset(option.pointer);
    draft.note(fmt::format("{} is left out: it has no effect in this release, which has {} {}",
                           dotted(option.pointer), dotted(part).substr(kEngine.size() - 1),
                           switch_state(part, scenario)));
  }
}

}  // namespace

std::span<const Engine* const> launched_engines() {
  static const std::vector<const Engine*> kLaunched = [] {
    std::vector<const Engine*> launched;
    for (const Engine* engine : engines()) {
      if (engine->launch != nullptr) launched.push_back(engine);
    }
    return launched;
  }();
  return kLaunched;
}

std::optional<std::int64_t> device_count(std::string_view text) {
  text = trimmed(text);
  while (text.starts_with('"')) text.remove_prefix(1);
  while (text.ends_with('"')) text.remove_suffix(1);
  if (text.starts_with("device=")) {
    text.remove_prefix(7);
  } else if (text.starts_with("count=")) {
    return device_count(text.substr(6));
  } else if (const std::optional<std::int64_t> count = whole_number(text);
             count && text.find(',') == std::string_view::npos) {
    return *count > 0 ? count : std::nullopt;
  }
  if (text.empty() || text == "all" || text == "void" || text == "none") return std::nullopt;
  return static_cast<std::int64_t>(split(text, ',').size());
}

std::string version_of_tag(std::string_view tag) {
  if (tag.starts_with('v')) tag.remove_prefix(1);
  const std::size_t end = std::min(tag.find_first_not_of("0123456789."), tag.size());
  std::string_view version = tag.substr(0, end);
  while (version.ends_with('.')) version.remove_suffix(1);
  const bool dotted = version.find('.') != std::string_view::npos;
  return dotted && version.front() != '.' ? std::string(version) : std::string();
}

// Engines accept expert parallelism over one rank, where it changes nothing.
static void drop_expert_parallel_of_one(Draft& draft) {
  constexpr std::string_view kPointer = "/engine/enable_expert_parallel";
  const Json* given = draft.find(kPointer);
  if (given == nullptr || !given->is_boolean()) return;
  const auto size = [&](std::string_view pointer) {
    const Json* value = draft.find(pointer);
    return value != nullptr && value->is_number_integer() ? value->get<std::int64_t>() : 1;
  };
  const bool alone = size("/engine/tensor_parallel_size") * size("/engine/data_parallel_size") == 1;
  if (given->get<bool>() && !alone) return;
  draft.unset(kPointer);
}

FromResult finished(Draft draft, std::string_view release) {
  if (!release.empty()) draft.set("/engine/version", std::string(release));
  drop_expert_parallel_of_one(draft);
  if (draft.engine->launch->settle != nullptr) draft.engine->launch->settle(draft);
  compare_devices(draft);
  leave_out_idle_options(draft);
  Json ordered = Json::object();
  if (draft.find("/model") == nullptr) {
    draft.note(std::string(kModelNotNamed));
  } else {
    ordered["model"] = *draft.find("/model");
  }
  ordered["engine"]["name"] = draft.engine->name;
  if (const Json* version = draft.find("/engine/version"); version != nullptr) {
    ordered["engine"]["version"] = *version;
  } else {
    draft.note(release_note(*draft.engine));
  }
  // In the order of the table, so that the order of the flags does not matter.
  for (const FlagRow& row : draft.engine->launch->rows) {
    if (!row.pointer.starts_with("/engine/") || draft.find(row.pointer) == nullptr) continue;
    ordered[Json::json_pointer(std::string(row.pointer))] = *draft.find(row.pointer);
  }
  for (const auto& [key, value] : draft.result.scenario.items()) {
    if (key != "engine") ordered[key] = value;
  }
  draft.result.scenario = std::move(ordered);
  draft.result.engine = draft.engine->name;
  return std::move(draft.result);
}

std::vector<std::string> pointers_from_commands(const Engine& engine) {
  std::vector<std::string> pointers{"/model",
                                    "/engine/name",
                                    "/engine/version",
                                    "/environment/name",
                                    "/environment/shm_size_gib",
                                    "/environment/memory_limit_gib"};
  for (const FlagRow& row : engine.launch->rows) {
    if (row.pointer.starts_with('/')) pointers.emplace_back(row.pointer);
  }
  std::ranges::sort(pointers);
  pointers.erase(std::unique(pointers.begin(), pointers.end()), pointers.end());
  return pointers;
}

}  // namespace headroom
