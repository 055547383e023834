// Towers of vision-language models with their projectors. Parameters are counted matrix by matrix
// after the modules of Transformers; they are loaded in the model's dtype.

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "hardware/llm/hf_reader.hpp"

namespace headroom {
namespace {

// A transformer encoder: four attention matrices and a two- or three-matrix MLP per layer.
struct Tower {
  std::int64_t hidden = 0;
  std::int64_t layers = 0;
  std::int64_t ffn = 0;
  std::int64_t patch = 0;
  std::int64_t frames = 1;     // patches reach over that many frames
  std::int64_t positions = 0;  // rows of a learned table
  std::int64_t norms = 2;
  bool gated = false;
  bool bias = true;
  bool norm_bias = true;

  [[nodiscard]] std::int64_t params() const {
    const std::int64_t matrices = gated ? 3 : 2;
    std::int64_t layer = 4 * hidden * hidden + matrices * hidden * ffn;
    layer += norms * hidden * (norm_bias ? 2 : 1);
    if (bias) layer += 4 * hidden + (matrices - 1) * ffn + hidden;
    return layers * layer + 3 * patch * patch * frames * hidden + positions * hidden;
  }
};

// A side of a square; some configs write both, [14, 14].
std::int64_t read_side(const HfFields& v, std::string_view key, std::int64_t fallback,
                       std::int64_t most) {
  if (!v.is_list(key)) return v.bounded(key, fallback, most);
  const std::vector<std::int64_t> sides = v.integers(key);
  if (sides.size() == 2 && sides[0] == sides[1] && sides[0] >= 1 && sides[0] <= most) {
    return sides[0];
  }
  throw v.error(key, fmt::format("a side, or twice the same, from 1 to {}", most));
}

Tower read_tower(const HfFields& v) {
  Tower tower;
  tower.hidden = v.integer({"embed_dim", "hidden_size", "vt_hidden_size"});
  tower.layers = v.integer({"num_hidden_layers", "depth", "vt_num_hidden_layers"});
  const auto ffn = v.find_integer({"intermediate_size", "vt_intermediate_size"});
  const double ratio = v.number("mlp_ratio").value_or(4);
  if (!(ratio > 0 && ratio <= 256)) throw v.error("mlp_ratio", "above 0, up to 256");
  tower.ffn = ffn.value_or(static_cast<std::int64_t>(static_cast<double>(tower.hidden) * ratio));
  tower.patch = std::max<std::int64_t>(1, read_side(v, "patch_size", 14, 4096));
  if (tower.hidden > 65536 || tower.ffn > kHfLargest || tower.layers > 1000) {
    throw ConfigError(Complaint{
        .origin = v.log().file,
        .pointer = v.pointer(),
        .problem = fmt::format("a tower of {} layers of width {}", tower.layers, tower.hidden)});
  }
  return tower;
}

// Patches of one square image, `none` without image_size.
std::int64_t image_patches(const HfFields& v, const Tower& tower) {
  const std::int64_t side = read_side(v, "image_size", 0, 65536) / tower.patch;
  return side * side;
}

std::int64_t clip_projector(const HfIntake& in, const Tower& tower) {
  // LLaVA: two layers with bias, the first from one or several layers of the tower.
  std::int64_t sources = 1;
  if (in.root.is_list("vision_feature_layer")) {
    sources = std::max<std::int64_t>(1, std::ssize(in.root.integers("vision_feature_layer")));
  }
  const std::int64_t h = in.model.hidden;
  return (sources * tower.hidden + 1) * h + (h + 1) * h;
}

// Qwen: `merge` x `merge` patches to one token through two layers.
std::int64_t merger(std::int64_t width, std::int64_t out) {
  return (width + 1) * width + (width + 1) * out;
}

void read_qwen(const HfIntake& in, const HfFields& v, bool deepstack, Tower& tower,
               VisionSpec& spec) {
  const std::int64_t merge = v.bounded("spatial_merge_size", 2, 64);
  const std::int64_t width = merge * merge * tower.hidden;
  tower.frames = v.bounded("temporal_patch_size", 2, 64);
  if (deepstack) {
    tower.positions = v.integer_or({"num_position_embeddings"}, 0);
    spec.deepstack_levels = std::ssize(v.integers("deepstack_visual_indexes"));
    const std::int64_t mergers = 1 + spec.deepstack_levels;
    // The first merger norms single patches, those of the deepstack the merged ones.
    spec.params =
        mergers * merger(width, in.model.hidden) + (mergers - 1) * 2 * width + 3 * tower.hidden;
    return;
  }
  tower.gated = v.has("out_hidden_size");  // Qwen2.5-VL: SwiGLU; Qwen2-VL has no such field
  tower.norm_bias = !tower.gated;
  spec.params = merger(width, in.model.hidden) + (tower.gated ? 1 : 2) * tower.hidden;
}

void read_pixtral(const HfIntake& in, Tower& tower, VisionSpec& spec) {
  tower.gated = true;
  tower.bias = tower.norm_bias = false;
  const std::int64_t merge = in.root.bounded("spatial_merge_size", 1, 64);
  const std::int64_t h = in.model.hidden;
  spec.params = tower.hidden + tower.hidden * h + h * h;
  if (merge > 1) spec.params += merge * merge * tower.hidden * tower.hidden + tower.hidden;
}

void read_gemma(const HfIntake& in, const HfFields& v, HfVision kind, Tower& tower,
                VisionSpec& spec) {
  if (kind == HfVision::gemma3) {
    tower.positions = image_patches(v, tower);
    spec.tokens_per_image = in.root.integer_or({"mm_tokens_per_image"}, 256);
    spec.params = 3 * tower.hidden;  // bias of the patches, last norm
  } else {
    tower.gated = true;
    tower.bias = tower.norm_bias = false;
    tower.norms = 4;
    tower.positions = 2 * v.integer_or({"position_embedding_size"}, 10240);  // rows and columns
    spec.tokens_per_image = in.root.integer_or({"vision_soft_tokens_per_image"}, 280);
  }
  spec.params += tower.hidden * in.model.hidden + tower.hidden;
}

void read_llama4_tower(const HfIntake& in, const HfFields& v, Tower& tower, VisionSpec& spec) {
  const std::int64_t patches = image_patches(v, tower);
  tower.positions = patches + 2;  // a class token and its position
  // Four patches become one: intermediate_size inputs, then the projector.
  const std::int64_t width = v.integer_or({"projector_input_dim"}, 4096);
  const std::int64_t out = v.integer_or({"projector_output_dim", "vision_output_dim"}, 4096);
  spec.params = tower.ffn * width + width * out + out * in.model.hidden + 4 * tower.hidden;
  spec.tokens_per_image = patches / 4;
}

void read_moonvit(const HfIntake& in, const HfFields& v, Tower& tower, VisionSpec& spec) {
  tower.positions =
      v.bounded("init_pos_emb_height", 64, 65536) * v.bounded("init_pos_emb_width", 64, 65536);
  const std::int64_t width = 4 * tower.hidden;  // patches are merged 2 x 2
  spec.params = merger(width, in.model.hidden) + 4 * tower.hidden;
}

void read_internvit(const HfIntake& in, const HfFields& v, Tower& tower, VisionSpec& spec) {
  const std::int64_t patches = image_patches(v, tower);
  tower.positions = patches + 2;
  const std::int64_t h = in.model.hidden;
  const std::int64_t width = 4 * tower.hidden;
  spec.params = 2 * width + (width + 1) * h + (h + 1) * h + 2 * tower.layers * tower.hidden;
  spec.tokens_per_image = patches / 4;
}

// The known kind whose fields the tower has.
HfVision kind_of_fields(const HfFields& v) {
  if (v.has("vt_hidden_size") || v.has("init_pos_emb_height")) return HfVision::moonvit;
  if (v.has("deepstack_visual_indexes")) return HfVision::qwen3;
  if (v.has("depth") || v.has("temporal_patch_size")) return HfVision::qwen2;
  if (v.text("model_type").find("pixtral") != std::string::npos) return HfVision::pixtral;
  return HfVision::clip;
}

// Whether a tower can be read at all: one of a wrapper that is not known may say anything.
bool describes_tower(const HfFields& v) {
  const auto one_of = [&](HfKeys keys) {
    return std::ranges::any_of(keys, [&](std::string_view key) {
      return v.has(key) && v.json().at(std::string(key)).is_number_unsigned();
    });
  };
  return one_of({"embed_dim", "hidden_size", "vt_hidden_size"}) &&
         one_of({"num_hidden_layers", "depth", "vt_num_hidden_layers"});
}

}  // namespace

void read_vision(HfIntake& in, HfVision kind) {
  using Family = VisionSpec::Family;
  if (kind == HfVision::none) return;
  const std::optional<HfFields> vision = in.root.object("vision_config");
  if (!vision || (kind == HfVision::by_fields && !describes_tower(*vision))) {
    in.note("the config does not describe the vision tower: it is not counted");
    return;
  }
  const HfFields& v = *vision;
  if (kind == HfVision::by_fields) kind = kind_of_fields(v);
  Tower tower = read_tower(v);
  VisionSpec spec;
  constexpr std::string_view kBidirectional = "use_bidirectional_attention";
  spec.bidirectional = in.text.is_text(kBidirectional) && in.text.text(kBidirectional) == "vision";
  switch (kind) {
    case HfVision::none:
    case HfVision::by_fields: return;
    case HfVision::clip:
      spec.family = Family::clip;
      spec.params = clip_projector(in, tower);
      tower.positions = image_patches(v, tower) + 1;
      spec.tokens_per_image = image_patches(v, tower);
      break;
    case HfVision::qwen2:
    case HfVision::qwen3:
      spec.family = Family::qwen;
      read_qwen(in, v, kind == HfVision::qwen3, tower, spec);
      break;
    case HfVision::pixtral:
      spec.family = Family::pixtral;
      read_pixtral(in, tower, spec);
      break;
    case HfVision::gemma3:
    case HfVision::gemma4:
      spec.family = kind == HfVision::gemma3 ? Family::gemma3 : Family::gemma4;
      read_gemma(in, v, kind, tower, spec);
      break;
    case HfVision::llama4:
      spec.family = Family::llama4;
      read_llama4_tower(in, v, tower, spec);
      break;
    case HfVision::moonvit:
      spec.family = Family::moonvit;
      read_moonvit(in, v, tower, spec);
      break;
    case HfVision::internvit:
      spec.family = Family::internvit;
      read_internvit(in, v, tower, spec);
      break;
  }
  spec.params += tower.params();
  spec.hidden = tower.hidden;
  spec.layers = tower.layers;
  spec.ffn = tower.ffn;
  spec.gated = tower.gated;
  spec.patch = tower.patch;
  spec.patches = image_patches(v, tower);
  // SGLang's class of Kimi's towers gives vt_* these names (configs/kimi_k25.py).
  spec.named_layers =
      v.bounded("num_hidden_layers", v.bounded("vt_num_hidden_layers", 0, 1000), 1000);
  spec.named_hidden = v.bounded("hidden_size", v.bounded("vt_hidden_size", 0, 65536), 65536);
  spec.format = in.format();
  in.model.vision = spec;
  in.note("the vision tower's weights are counted, its activations are an estimate");
}

}  // namespace headroom
