#include "sim/setup/from/draft.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "sim/engines/engines.hpp"
#include "sim/setup/from/engine_rules.hpp"
#include "sim/setup/from/values.hpp"
#include "sim/setup/options.hpp"

namespace headroom {
namespace {

constexpr std::string_view kEngine = "/engine/";

// Each text stays on one line, whatever a user's command had in its quotes.
void add_once(std::vector<std::string>& list, std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return static_cast<unsigned char>(c) < 0x20; }, ' ');
  if (std::ranges::find(list, text) == list.end()) list.push_back(std::move(text));
}

std::int64_t size_of(const Draft& draft, std::string_view pointer) {
  const Json* value = draft.find(pointer);
  return value == nullptr ? 1 : value->get<std::int64_t>();
}

// Text Generation Inference takes every device it sees when --num-shard is not given
// (find_num_shards in launcher/src/main.rs).
void fill_shards(Draft& draft) {
  if (draft.engine != &kTgiFlags || draft.find("/engine/tensor_parallel_size") != nullptr) return;
  if (draft.devices) {
    draft.set("/engine/tensor_parallel_size", *draft.devices);
    draft.note(fmt::format("num_shard = {}: without --num-shard it takes every device it sees ({})",
                           *draft.devices, draft.devices_by));
  } else {
    draft.note(
        "without --num-shard it takes every device it sees: set "
        "engine.tensor_parallel_size");
  }
}

void compare_devices(Draft& draft) {
  if (!draft.devices || draft.engine == &kLlamacppFlags || draft.engine == &kOllamaFlags) return;
  const std::int64_t used = size_of(draft, "/engine/tensor_parallel_size") *
                            size_of(draft, "/engine/pipeline_parallel_size");
  // SGLang's attention data parallelism divides the same devices.
  const bool own_devices = draft.engine == &kVllmFlags;
  const std::int64_t replicas = own_devices ? size_of(draft, "/engine/data_parallel_size") : 1;
  if (used * replicas > *draft.devices) {
    draft.note(fmt::format("{} gives {} device(s), the flags use {}: the engine will not start",
                           draft.devices_by, *draft.devices, used * replicas));
  }
}

// "/engine/watermark" as "engine.watermark".
std::string dotted(std::string_view pointer) {
  std::string path(pointer.substr(1));
  std::ranges::replace(path, '/', '.');
  return path;
}

// Which release is modelled where none is named, and up to which one the rules are known.
std::string release_note(std::string_view engine) {
  const Engine& profile = engine_named(engine);
  return fmt::format(
      "no release of the engine is named: {} {} is modelled{}; set engine.version for another one",
      profile.name, profile.version,
      profile.newest > parse_engine_version(profile.version)
          ? fmt::format(" (rules are known up to {})", to_string(profile.newest))
          : "");
}

// An option that changes nothing is an error of a scenario, and the release decides about the
// scheduler: vLLM had another one before 0.8.
void leave_out_idle_options(Draft& draft) {
  Scenario scenario;
  scenario.engine.name = draft.engine->engine;
  if (const Json* version = draft.find("/engine/version"); version != nullptr) {
    scenario.engine.version = version->get<std::string>();
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
    draft.note(fmt::format("{} is left out: without effect in this release, which has {} {}",
                           dotted(option.pointer), dotted(part).substr(kEngine.size() - 1),
                           switch_state(part, scenario)));
  }
}

}  // namespace

void Draft::set(std::string_view pointer, Json value) {
  result.scenario[Json::json_pointer(std::string(pointer))] = std::move(value);
}

void Draft::unset(std::string_view pointer) {
  if (find(pointer) == nullptr) return;
  const Json::json_pointer place{std::string(pointer)};
  result.scenario.at(place.parent_pointer()).erase(place.back());
}

const Json* Draft::find(std::string_view pointer) const {
  const Json::json_pointer place{std::string(pointer)};
  return result.scenario.contains(place) ? &result.scenario.at(place) : nullptr;
}

void Draft::note(std::string text) { add_once(result.notes, std::move(text)); }
void Draft::unknown(std::string flag) { add_once(result.unknown_flags, std::move(flag)); }
void Draft::ignored(std::string flag) { add_once(result.ignored_flags, std::move(flag)); }

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

FromResult finished(Draft draft, std::string_view release) {
  if (!release.empty()) draft.set("/engine/version", std::string(release));
  fill_shards(draft);
  compare_devices(draft);
  settle_drafter(draft);
  settle_kv_connector(draft);
  leave_out_idle_options(draft);
  Json ordered = Json::object();
  if (draft.find("/model") == nullptr) {
    draft.note("no model is named: add \"model\"");
  } else {
    ordered["model"] = *draft.find("/model");
  }
  ordered["engine"]["name"] = draft.engine->engine;
  if (const Json* version = draft.find("/engine/version"); version != nullptr) {
    ordered["engine"]["version"] = *version;
  } else {
    draft.note(release_note(draft.engine->engine));
  }
  // In the order of the table, so that the order of the flags does not matter.
  for (const FlagRow& row : draft.engine->rows) {
    if (!row.pointer.starts_with("/engine/") || draft.find(row.pointer) == nullptr) continue;
    ordered[Json::json_pointer(std::string(row.pointer))] = *draft.find(row.pointer);
  }
  for (const auto& [key, value] : draft.result.scenario.items()) {
    if (key != "engine") ordered[key] = value;
  }
  draft.result.scenario = std::move(ordered);
  draft.result.engine = draft.engine->engine;
  return std::move(draft.result);
}

}  // namespace headroom
