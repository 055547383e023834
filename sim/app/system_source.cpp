#include "sim/app/system_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>

#include "hardware/catalog.hpp"
#include "sim/app/engine_source.hpp"
#include "sim/app/input_text.hpp"
#include "sim/app/list.hpp"
#include "sim/engines/back_ends.hpp"
#include "sim/engines/engines.hpp"
#include "sim/engines/launch.hpp"
#include "sim/engines/said_engine.hpp"
#include "sim/intake/from.hpp"
#include "sim/kernel/nearest_name.hpp"
#include "sim/memory/capacity_systems.hpp"
#include "sim/scenario/options.hpp"

namespace headroom {
namespace {

// One word that ends like a file of those that are read.
bool names_a_file(std::string_view word) {
  constexpr std::array<std::string_view, 6> kEndings{".json", ".yml", ".yaml",
                                                     ".log",  ".txt", ".sh"};
  return word.find(' ') == std::string_view::npos &&
         std::ranges::any_of(kEndings, [&](std::string_view end) { return word.ends_with(end); });
}

ConfigError service_of_no_file() {
  return ConfigError(Complaint{.kind = ErrorKind::conflict,
                               .origin = "--service",
                               .problem = "names a service of a compose file, and this is none"});
}

// The model may stand in a settings file that is not on this machine.
void refuse_lost_settings(const FromResult& from) {
  const auto lost = std::ranges::find_if(from.unknown_flags, [](const std::string& one) {
    return one.find(kFileNotFound) != std::string::npos;
  });
  if (lost == from.unknown_flags.end()) return;
  throw ConfigError(Complaint{.kind = ErrorKind::unreadable,
                              .origin = *lost,
                              .problem = "the command names no model, which may stand there: --set "
                                         "model=NAME"});
}

DescribedSystem described_by_source(const SystemFlags& a, const std::string& asker) {
  if (a.source.size() == 1 && is_scenario(a.source.front())) {
    if (!a.service.empty()) throw service_of_no_file();
    return {read_scenario_document(a.source.front()), {}, {}};
  }
  if (a.source.size() == 1 && names_a_file(a.source.front()) && !is_input(a.source.front())) {
    throw ConfigError(Complaint{.kind = ErrorKind::missing,
                                .origin = asker,
                                .value = a.source.front(),
                                .problem = "no such file"});
  }
  EngineSource source;
  if (a.source.size() > 1 && !is_input(a.source.front())) {
    throw ConfigError(Complaint{.origin = asker,
                                .value = a.source.front(),
                                .problem = "put the engine's command behind --, or quote it"});
  }
  source.words = a.source;
  source.service = a.service;
  source.release = release_given(a.set);
  if (a.devices.size() == 1) source.device = a.devices.front();
  FromResult from = scenario_from_source(source);
  DescribedSystem described{
      {.json = {asker, std::move(from.scenario), {}}, .directory = {}}, {}, {}};
  described.assumed = std::move(from.notes);
  const auto names_model = [](const std::string& one) { return one.starts_with("model="); };
  const bool sets_model = std::ranges::any_of(a.set, names_model);
  if (sets_model) std::erase(described.assumed, kModelNotNamed);
  if (!sets_model && !described.document.json.root.contains("model")) refuse_lost_settings(from);
  if (!from.refusals.empty()) described.refusal = from.refusals.front();
  if (!from.unknown_flags.empty()) {
    described.assumed.insert(described.assumed.begin(),
                             "left out, because unknown: " + comma_list(from.unknown_flags));
    described.doubt = doubt_of_flags(from);
  }
  if (!from.doubt.empty()) described.doubt = std::move(from.doubt);
  return described;
}

// How the engine spreads one replica over several devices.
std::string split_option(const Json& root) {
  const auto engine = root.find("engine");
  const bool named = engine != root.end() && engine->is_object() && engine->contains("name") &&
                     engine->at("name").is_string();
  const Engine* known = named ? find_engine(engine->at("name").get<std::string>()) : nullptr;
  const bool by_layers = known != nullptr && known->traits.devices_share_layers;
  return by_layers ? "pipeline_parallel_size" : "tensor_parallel_size";
}

// What the system itself says of that.
std::optional<std::int64_t> stated_devices(const Json& root) {
  const auto engine = root.find("engine");
  if (engine == root.end() || !engine->is_object()) return std::nullopt;
  std::optional<std::int64_t> product;
  for (const char* key : {"tensor_parallel_size", "pipeline_parallel_size"}) {
    const auto size = engine->find(key);
    if (size == engine->end() || !size->is_number_integer()) continue;
    product = product.value_or(1) * size->get<std::int64_t>();
  }
  return product;
}

std::optional<DeviceSpec> device_called(const std::string& text, const Catalog& catalog) {
  const std::optional<CountedDevice> counted = counted_device(text);
  try {
    return catalog.device(counted ? counted->name : text);
  } catch (const ConfigError&) {
    return std::nullopt;
  }
}

DescribedSystem described_by_flags(const SystemFlags& a, const std::string& asker) {
  Json root = Json::object();
  if (!a.engine.empty()) {
    const SaidEngine engine = said_engine(a.engine, "--engine");
    root["engine"]["name"] = engine.name;
    if (!engine.version.empty()) root["engine"]["version"] = engine.version;
  }
  if (a.device_count && *a.device_count < 1) {
    throw ConfigError(Complaint{.origin = "--devices",
                                .value = fmt::to_string(*a.device_count),
                                .problem = "expected at least 1"});
  }
  if (a.device_count) root["engine"][split_option(root)] = *a.device_count;
  return {{.json = {asker, std::move(root), {}}, .directory = {}}, {}, {}};
}

}  // namespace

// Engines end with an error at a flag that they do not know; variables they pass over.
std::string doubt_of_flags(const FromResult& from) {
  std::vector<std::string> flags;
  std::ranges::copy_if(from.unknown_flags, std::back_inserter(flags), [](const std::string& one) {
    return one.starts_with('-') && one.find(' ') == std::string::npos;
  });
  if (flags.empty()) return "";
  return fmt::format(
      "may not start: {} refuses flags that it does not know, and no {} is known here",
      engine_named(from.engine).launch->title, fmt::join(flags, ", "));
}

DescribedSystem described_system(const SystemFlags& a, const std::string& asker) {
  if (!a.source.empty()) {
    if (!a.models.empty() || !a.engine.empty() || a.device_count) {
      throw ConfigError(Complaint{
          .kind = ErrorKind::conflict,
          .origin = asker,
          .problem = "--model, --engine and --devices describe a system without a command or a "
                     "file: the one that is given says them itself (--set changes it; flags of an "
                     "engine's command stand behind --)"});
    }
    return described_by_source(a, asker);
  }
  if (a.models.empty()) {
    throw ConfigError(Complaint{
        .kind = ErrorKind::missing,
        .origin = asker,
        .problem = "name a system: a command behind --, as in headroom ask --device h100-sxm -- "
                   "vllm serve MODEL; or a file; or --model and --device"});
  }
  if (!a.service.empty()) throw service_of_no_file();
  return described_by_flags(a, asker);
}

std::string set_engine_of_device(const std::string& text, Json& root, const Catalog& catalog) {
  const std::optional<DeviceSpec> device = device_called(text, catalog);
  if (!device || (root.contains("engine") && root["engine"].contains("name"))) return "";
  const std::string usual = Scenario{}.engine.name;
  const MissingBackEnd* missing = missing_back_end(engine_named(usual), device->vendor);
  if (missing == nullptr) return "";
  const auto all = engines();
  const auto found = std::ranges::find_if(all, [&](const Engine* engine) {
    return engine->launch != nullptr && missing_back_end(*engine, device->vendor) == nullptr;
  });
  if (found == all.end()) return "";
  Json& engine = root["engine"];
  const std::string usual_split = split_option(root);
  engine["name"] = (*found)->name;
  const std::string split = split_option(root);
  if (split != usual_split && engine.contains(usual_split)) {
    engine[split] = engine[usual_split];
    engine.erase(usual_split);
  }
  return fmt::format("engine {} on {} (--engine): {} {}", (*found)->name, device->id, usual,
                     missing->text);
}

bool is_scenario(const std::string& word) {
  if (is_input(word) && is_yaml(word)) {
    const std::string text = input_text(word);
    return !holds_services(text) && !holds_deployment(text);
  }
  if (is_input(word)) return word.ends_with(".json");
  return std::ranges::any_of(scenario_files(),
                             [&](const EmbeddedFile& file) { return file.name == word + ".json"; });
}

std::string set_device(const std::string& text, JsonDocument& document) {
  if (text.empty()) return "";
  Json& root = document.root;
  const std::optional<CountedDevice> counted = counted_device(text);
  root["device"] = counted ? counted->name : text;
  if (!counted) return "";
  const std::int64_t devices = counted->count;
  if (devices == 0) {
    throw ConfigError(
        Complaint{.origin = "--device",
                  .value = text,
                  .problem = "asks for no device: expected a count from 1 on, as in 2xrtx4090"});
  }
  if (const auto stated = stated_devices(root)) {
    if (*stated == devices) return "";
    throw ConfigError(Complaint{
        .kind = ErrorKind::conflict,
        .origin = "--device",
        .value = text,
        .problem = fmt::format("the engine is asked to spread a replica over {} "
                               "(tensor_parallel_size x pipeline_parallel_size): leave the number "
                               "out here, or change it there",
                               *stated)});
  }
  const std::string option = split_option(root);
  set_option(document, fmt::format("engine.{}={}", option, devices));
  if (devices == 1) return "";
  return fmt::format("{} {}, for the {} devices: a command needs the flag for it", option, devices,
                     devices);
}

std::int64_t tokens_of(std::string_view flag, const std::string& text, std::int64_t otherwise) {
  if (text.empty()) return otherwise;
  if (text.find(',') != std::string::npos) {
    throw ConfigError(Complaint{.origin = std::string(flag),
                                .value = text,
                                .problem = "expected one length, without commas: 3000, 8k"});
  }
  const std::vector<std::int64_t> all = parse_contexts({text}, flag);
  if (all.size() != 1) {
    throw ConfigError(
        Complaint{.origin = std::string(flag), .value = text, .problem = "expected one length"});
  }
  return all.front();
}

}  // namespace headroom
