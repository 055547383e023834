#include "hardware/llm/hf_config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "hardware/llm/hf_quantization.hpp"
#include "hardware/llm/hf_reader.hpp"
#include "hardware/llm/parameters.hpp"
#include "sim/kernel/folders.hpp"
#include "sim/kernel/nearest_name.hpp"
#include "sim/kernel/text_file.hpp"

namespace headroom {
namespace {

// Where a wrapper keeps the language model's part.
constexpr std::string_view kTextKeys[] = {"text_config", "llm_config", "language_config",
                                          "thinker_config/text_config", "thinker_config"};

// Beside fields that an unknown architecture lacks.
std::string unknown_hint(const std::string& name) {
  const std::string nearest = nearest_name(name, known_architectures());
  return nearest.empty()
             ? " (not known)"
             : fmt::format(" (not known; nearest: {{\"architectures\": [\"{}\"]}})", nearest);
}

// By its name, else by its model type, else by its fields.
const HfFamily& family_of(const HfFields& root) {
  const std::vector<std::string> names = root.texts("architectures");
  if (!names.empty()) {
    root.log().architecture = names.front();
    if (const HfFamily* family = find_hf_family(names.front())) return *family;
  }
  if (const HfFamily* family = find_hf_model_type(root.text("model_type"))) {
    if (!names.empty()) {
      root.log().note(fmt::format("architecture {} is not known: read as {}, by its model_type",
                                  names.front(), family->architecture));
    }
    root.log().architecture = family->architecture;
    return *family;
  }
  if (names.empty()) {
    root.log().architecture = root.text("model_type");
  } else {
    root.log().hint = unknown_hint(names.front());
  }
  return hf_family_by_fields();
}

// The nested config may name its own model; else it is what the wrapper usually holds.
const HfFamily& text_family(const HfFamily& family, const HfFields& text, bool nested) {
  const bool by_fields = family.read == read_by_fields;
  if (family.read != nullptr && !by_fields) return family;
  if (nested) {
    const std::vector<std::string> names = text.texts("architectures");
    const HfFamily* own = names.empty() ? nullptr : find_hf_family(names.front());
    if (own == nullptr) own = find_hf_model_type(text.text("model_type"));
    if (own != nullptr && own->read != nullptr) return *own;
  }
  return by_fields ? family : *find_hf_family(family.text);
}

// DBRX and MPT keep fields of their layers in parts of their own.
void lift_parts(HfJson& text) {
  for (const char* part : {"attn_config", "ffn_config"}) {
    if (!text.contains(part) || !text[part].is_object()) continue;
    const HfJson fields = text[part];
    for (const auto& field : fields.items()) {
      if (!text.contains(field.key())) text[field.key()] = field.value();
    }
    text.erase(part);
  }
}

// Omni models keep what reads text and images in a part of its own, beside what speaks.
void lift_towers(HfJson& root) {
  const auto thinker = root.find("thinker_config");
  if (thinker == root.end() || !thinker->is_object()) return;
  for (const char* tower : {"vision_config", "audio_config"}) {
    if (!root.contains(tower) && thinker->contains(tower)) root[tower] = (*thinker)[tower];
  }
}

// Fields of the family's config class that the config leaves out; noted by name.
void add_defaults(std::string_view defaults, HfJson& text, HfLog& log) {
  std::vector<std::string> added;
  const HfJson values = HfJson::parse(defaults);
  for (const auto& entry : values.items()) {
    if (text.contains(entry.key()) && !text[entry.key()].is_null()) continue;
    text[entry.key()] = entry.value();
    if (entry.key() != "model_type") added.push_back(entry.key());
  }
  if (added.empty()) return;
  log.note(fmt::format("not in the config, so defaults of its class apply: {}", comma_list(added)));
}

// A tower of another make than the wrapper usually has.
HfVision vision_kind(const HfFamily& family, const HfFields& root) {
  if (family.vision == HfVision::by_fields) {
    return root.has("vision_config") ? HfVision::by_fields : HfVision::none;
  }
  if (family.vision != HfVision::clip || !root.has("vision_config")) return family.vision;
  const std::string type = root.object("vision_config")->text("model_type");
  return type == "pixtral" ? HfVision::pixtral : family.vision;
}

// Before anything is multiplied in whole numbers.
void check_size(const HfIntake& in) {
  if (is_countable(in.model)) return;
  throw ConfigError(Complaint{.origin = in.root.log().file,
                              .problem = "more than 10^15 parameters: one of the sizes is wrong"});
}

void count_unloaded(HfIntake& in) {
  if (in.mtp.layers == 0) return;
  ModelSpec longer = in.model;
  add_layers(longer, in.mtp.kind, in.mtp.layers);
  const ModelParts with = model_parts(longer);
  const ModelParts without = model_parts(in.model);
  in.model.unloaded_params = with.params_total() - without.params_total() + in.mtp.extra_params;
  in.model.unloaded_bytes = with.bytes_total() - without.bytes_total() +
                            stored_bytes(in.model.dtype, in.mtp.extra_params);
}

// OWNER/NAME; what people's own folders are called is not a repository.
std::string repository(const HfFields& root) {
  if (!root.is_text("_name_or_path")) return {};
  std::string name = root.text("_name_or_path");
  if (std::ranges::count(name, '/') != 1 || name.starts_with('/') || name.starts_with('.') ||
      name.starts_with('~') || name.ends_with('/')) {
    return {};
  }
  return name;
}

constexpr std::string_view kConfigName = "config.json";

// "Llama-3.1-8B" of Llama-3.1-8B/config.json and of Llama-3.1-8B_config.json.
std::string id_of(const std::filesystem::path& file) {
  const std::string name = file.filename().string();
  if (name == kConfigName) {
    return std::filesystem::absolute(file).lexically_normal().parent_path().filename().string();
  }
  if (name.ends_with("_config.json")) return name.substr(0, name.size() - 12);
  return file.stem().string();
}

std::filesystem::path quantization_beside(const std::filesystem::path& file) {
  const std::string name = file.filename().string();
  const std::string prefix =
      name.ends_with(kConfigName) ? name.substr(0, name.size() - kConfigName.size()) : "";
  std::filesystem::path beside = file.parent_path() / (prefix + "hf_quant_config.json");
  return is_there(beside) ? beside : std::filesystem::path{};
}

}  // namespace

ModelSpec read_hf_config(const HfText& config, const HfText& quantization,
                         const HfText& overrides) {
  HfLog log;
  log.file = config.shown_as;
  HfJson json = config.json.empty() ? HfJson::object() : parse_hf_json(config.json, log.file);
  if (!overrides.json.empty()) {
    json.merge_patch(parse_hf_json(overrides.json, overrides.shown_as));
    log.file = fmt::format("{} with {}", config.shown_as, overrides.shown_as);
  }
  HfLog separate_log;
  separate_log.file = quantization.shown_as;
  const HfJson separate = quantization.json.empty()
                              ? HfJson::object()
                              : parse_hf_json(quantization.json, quantization.shown_as);

  lift_towers(json);
  const HfFields root(json, "", log);
  const HfFamily& family = family_of(root);
  std::string pointer;
  for (const std::string_view key : kTextKeys) {
    const HfJson::json_pointer at(fmt::format("/{}", key));
    if (pointer.empty() && json.contains(at) && json.at(at).is_object()) pointer = at.to_string();
  }
  HfJson text_json = json.at(HfJson::json_pointer(pointer));
  lift_parts(text_json);
  const HfFamily& text = text_family(family, HfFields(text_json, pointer, log), !pointer.empty());
  add_defaults(text.traits.defaults, text_json, log);
  if (text.architecture == family.text) add_defaults(family.traits.defaults, text_json, log);

  HfIntake in{text.traits, root, HfFields(text_json, pointer, log), {}, {}};
  in.model.id = config.shown_as;
  in.model.hf_repo = repository(root);
  in.model.architecture = log.architecture;
  in.model.text_architecture = text.architecture;
  in.model.source = log.file;
  text.read(in);
  read_vision(in, vision_kind(family, root));
  read_audio(in);
  log.check_complete();
  check_size(in);
  apply_quantization(in, quantization.json.empty()
                             ? std::nullopt
                             : std::optional(HfFields(separate, "", separate_log)));
  count_unloaded(in);
  in.model.notes = log.notes;
  return in.model;
}

ModelSpec load_hf_config(const std::filesystem::path& path,
                         const std::filesystem::path& overrides) {
  const std::filesystem::path file = is_folder(path) ? path / kConfigName : path;
  const std::filesystem::path beside = quantization_beside(file);
  const std::string config = read_text_file(file);
  const std::string quantization = beside.empty() ? "" : read_text_file(beside);
  const std::string patch = overrides.empty() ? "" : read_text_file(overrides);
  const std::string file_name = file.string();
  const std::string beside_name = beside.string();
  const std::string overrides_name = overrides.string();
  ModelSpec model =
      read_hf_config({config, file_name}, {quantization, beside_name}, {patch, overrides_name});
  model.id = id_of(file);
  return model;
}

std::vector<std::string> known_architectures() {
  std::vector<std::string> names;
  names.reserve(hf_families().size());
  for (const HfFamily& family : hf_families()) names.emplace_back(family.architecture);
  return names;
}

}  // namespace headroom
