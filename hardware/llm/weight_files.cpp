#include "hardware/llm/weight_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "hardware/llm/gguf_model.hpp"
#include "hardware/llm/hf_config.hpp"
#include "hardware/llm/parameters.hpp"
#include "hardware/llm/safetensors.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/kernel/folders.hpp"

namespace headroom {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostNamed = 8;  // files in one message

std::string list_some(std::vector<std::string> names) {
  const std::size_t more = names.size() > kMostNamed ? names.size() - kMostNamed : 0;
  names.resize(names.size() - more);
  return fmt::format("{}{}", fmt::join(names, ", "),
                     more > 0 ? fmt::format(" and {} more", more) : "");
}

// What the formats give for each layer and for what is outside them.
StoredWeights expected_weights(const ModelSpec& model) {
  StoredWeights expected;
  ModelSpec part = model;
  part.order.clear();
  expected.outside = model_parts(part).bytes;
  std::map<std::uint16_t, PartBytes> of_kind;
  for (const std::uint16_t kind : model.order) {
    auto found = of_kind.find(kind);
    if (found == of_kind.end()) {
      part.order = {kind};
      PartBytes bytes = model_parts(part).bytes;
      for (std::size_t p = 0; p < bytes.size(); ++p) bytes[p] -= expected.outside[p];
      found = of_kind.emplace(kind, bytes).first;
    }
    expected.layers.push_back(found->second);
  }
  expected.unloaded = model.unloaded_bytes;
  return expected;
}

template <typename Visit>
void for_each_part(StoredWeights& stored, Visit visit) {
  for (ByteCount& bytes : stored.outside) visit(bytes);
  for (PartBytes& layer : stored.layers) {
    for (ByteCount& bytes : layer) visit(bytes);
  }
}

// "model.layers.12.mlp.gate.weight" as 12; nothing for tensors of no layer.
std::optional<std::int64_t> layer_in_name(std::string_view name) {
  for (const std::string_view mark : {"layers.", "h.", "blocks."}) {
    std::size_t at = name.find(mark);
    if (at != 0 && (at == std::string_view::npos || name[at - 1] != '.')) continue;
    at += mark.size();
    std::int64_t layer = 0;
    const auto [end, error] = std::from_chars(name.data() + at, name.data() + name.size(), layer);
    if (error == std::errc{} && end < name.data() + name.size() && *end == '.') return layer;
  }
  return std::nullopt;
}

bool contains_any(std::string_view name, std::initializer_list<std::string_view> parts) {
  return std::ranges::any_of(
      parts, [&](std::string_view part) { return name.find(part) != std::string_view::npos; });
}

bool is_of_tower(std::string_view name) {
  return contains_any(name, {"vision", "visual", "mm_projector", "multi_modal", "image_newline",
                             "audio", "mlp1.", "embed_vision"});
}

// Modules of Transformers' and repositories' own code; what a layer's part is called beyond that
// decides only which step reads it.
ModelPart part_of_name(std::string_view name) {
  if (contains_any(name, {".shared_expert"})) return ModelPart::shared_experts;
  if (contains_any(name, {".experts."})) return ModelPart::experts;
  if (contains_any(name, {"mlp.gate.", "router", "block_sparse_moe.gate.", "e_score_correction",
                          "ffn.gate.", "mixer.gate."})) {
    return ModelPart::router;
  }
  if (contains_any(name, {"norm"})) return ModelPart::small;
  if (contains_any(name, {"self_attn", "attention", "attn."}) &&
      !contains_any(name, {"linear_attn"})) {
    return ModelPart::attention;
  }
  if (contains_any(name, {"linear_attn", "mamba", "mixer", "conv"})) return ModelPart::recurrent;
  if (contains_any(name, {"mlp", "feed_forward", "ffn"})) return ModelPart::dense_mlp;
  return ModelPart::small;
}

// Where a layer has no such part by its geometry, the nearest that it has: all of its bytes are
// loaded with something.
ModelPart present_part(ModelPart part, const PartBytes& expected) {
  if (expected[static_cast<std::size_t>(part)] > 0) return part;
  const auto most = std::ranges::max_element(expected);
  return *most > 0 ? static_cast<ModelPart>(most - expected.begin()) : ModelPart::small;
}

StoredWeights sort_tensors(const ModelSpec& model,
                           const std::map<std::string, ByteCount>& tensors) {
  const StoredWeights expected = expected_weights(model);
  StoredWeights stored;
  stored.layers.resize(model.order.size());
  for (const auto& [name, bytes] : tensors) {
    const std::optional<std::int64_t> layer = layer_in_name(name);
    if (is_of_tower(name)) {
      const bool read = model.vision.has_value();
      if (!read) stored.unloaded += bytes;
      if (read) stored.outside[static_cast<std::size_t>(ModelPart::vision)] += bytes;
    } else if (name.starts_with("mtp.") || name.find(".mtp.") != std::string::npos ||
               (layer && *layer >= model.layers())) {
      stored.unloaded += bytes;
    } else if (layer) {
      const auto at = static_cast<std::size_t>(*layer);
      const ModelPart part = present_part(part_of_name(name), expected.layers[at]);
      stored.layers[at][static_cast<std::size_t>(part)] += bytes;
    } else if (contains_any(name, {"lm_head", "output.weight", "head.weight", "embed_out"})) {
      // A tied head is not loaded a second time.
      if (model.tie_embeddings) stored.unloaded += bytes;
      if (!model.tie_embeddings)
        stored.outside[static_cast<std::size_t>(ModelPart::lm_head)] += bytes;
    } else {
      const bool table = contains_any(name, {"embed", "wte", "wpe"});
      const ModelPart part = table ? ModelPart::embedding : ModelPart::small;
      stored.outside[static_cast<std::size_t>(part)] += bytes;
    }
  }
  return stored;
}

// The files of a checkpoint in `folder`: those that the index names, or the single one.
void add_stored(const fs::path& folder, ModelSpec& model) {
  const fs::path index_path = folder / "model.safetensors.index.json";
  std::vector<std::string> names;
  std::optional<ByteCount> total;
  if (is_there(index_path)) {
    SafetensorsIndex index = read_safetensors_index(index_path);
    names = std::move(index.files);
    total = index.total;
  } else if (is_there(folder / "model.safetensors")) {
    names = {"model.safetensors"};
  }
  std::vector<std::string> missing;
  for (const std::string& name : names) {
    if (!is_there(folder / name)) missing.push_back(name);
  }
  if (missing.size() == names.size()) {  // the index alone, as people fetch it to look
    if (total) model = with_total_bytes(std::move(model), *total, index_path.string());
    return;
  }
  if (!missing.empty()) {
    throw ConfigError(Complaint{
        .kind = ErrorKind::missing,
        .origin = index_path.string(),
        .pointer = "/weight_map",
        .problem = fmt::format("names {} of {} files that are not there: {}; fetch them, or "
                               "remove the others to go by the index alone",
                               missing.size(), names.size(), list_some(missing))});
  }
  std::map<std::string, ByteCount> tensors;
  for (const std::string& name : names) tensors.merge(read_safetensors_header(folder / name));
  if (tensors.empty()) return;
  model.stored = sort_tensors(model, tensors);
}

// The GGUF model of a folder: one file, or the first part of one that is split.
std::optional<fs::path> gguf_in(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code failed;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, failed)) {
    const std::string name = entry.path().filename().string();
    const std::size_t of = name.rfind("-of-");
    const bool later = of != std::string::npos && of >= 6 && name.substr(of - 6, 6) != "-00001";
    const bool projector = name.starts_with("mmproj");
    if (name.ends_with(".gguf") && !later && !projector) files.push_back(entry.path());
  }
  if (files.empty()) return std::nullopt;
  std::ranges::sort(files);
  if (files.size() == 1) return files.front();
  std::vector<std::string> names;
  for (const fs::path& file : files) names.push_back(file.filename().string());
  throw ConfigError(Complaint{
      .kind = ErrorKind::conflict,
      .origin = folder.string(),
      .problem = fmt::format("several models, so name one of the files: {}", list_some(names))});
}

ModelSpec load_one_gguf(const fs::path& file, const fs::path& overrides) {
  if (!overrides.empty()) {
    throw ConfigError(
        Complaint{.kind = ErrorKind::conflict,
                  .origin = overrides.string(),
                  .problem = "is merged over a config.json, and " + file.string() + " has none"});
  }
  return load_gguf(file);
}

}  // namespace

ModelSpec with_total_bytes(ModelSpec model, ByteCount total, const std::string& file) {
  StoredWeights stored = expected_weights(model);
  ByteCount expected = 0;
  for_each_part(stored, [&](ByteCount bytes) { expected += bytes; });
  const ByteCount loaded = total - stored.unloaded;
  const double ratio = static_cast<double>(loaded) / static_cast<double>(expected);
  if (!(ratio > 0.01 && ratio < 100)) {
    throw ConfigError(
        Complaint{.origin = file,
                  .pointer = "/metadata/total_size",
                  .problem = fmt::format("{}: the config describes a model of {} bytes", total,
                                         expected + stored.unloaded)});
  }
  // Each part to its share of what has been given out so far, so that the sum is exact.
  ByteCount before = 0;
  ByteCount given = 0;
  for_each_part(stored, [&](ByteCount& bytes) {
    before += bytes;
    const bool all = before == expected;
    const ByteCount until =
        all ? loaded : static_cast<ByteCount>(static_cast<double>(before) * ratio);
    bytes = std::max<ByteCount>(0, until - given);
    given += bytes;
  });
  model.stored = std::move(stored);
  return model;
}

ModelSpec load_model_files(const fs::path& path, const fs::path& overrides) {
  const bool folder = is_folder(path);
  if (!folder && path.extension() == ".gguf") return load_one_gguf(path, overrides);
  if (folder && !is_there(path / "config.json")) {
    if (const std::optional<fs::path> file = gguf_in(path)) return load_one_gguf(*file, overrides);
  }
  ModelSpec model = load_hf_config(path, overrides);
  if (folder) {
    add_stored(path, model);
  } else if (path.filename() == "config.json") {
    add_stored(path.parent_path(), model);
  }
  return model;
}

}  // namespace headroom
