#include "hardware/llm/model_spec.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "hardware/llm/gguf_mixture.hpp"
#include "sim/kernel/check.hpp"
#include "sim/kernel/errors.hpp"

namespace headroom {
namespace {

class ShardingCheck {
 public:
  ShardingCheck(const ModelSpec& model, const Sharding& sharding) : m_(model), s_(sharding) {}

  void run() const {
    at_least_one("tensor_parallel_size", s_.tensor);
    at_least_one("pipeline_parallel_size", s_.pipeline);
    at_least_one("data_parallel_size", s_.data);
    if (s_.pipeline > m_.layers()) {
      throw ConfigError(fmt::format("pipeline_parallel_size {}: {} has only {} layers", s_.pipeline,
                                    m_.id, m_.layers()));
    }
    for (const LayerKind& kind : m_.kinds) check(kind);
  }

 private:
  static void at_least_one(std::string_view what, std::int64_t value) {
    if (value < 1) throw ConfigError(fmt::format("{} {}: at least 1", what, value));
  }
  void divides(std::string_view what, std::int64_t value) const {
    if (value % s_.tensor == 0) return;
    std::vector<std::int64_t> fitting;
    for (std::int64_t ranks = 1; ranks < s_.tensor; ++ranks) {
      if (value % ranks == 0) fitting.push_back(ranks);
    }
    throw ConfigError(
        fmt::format("tensor_parallel_size {}: {} of {} is {}, not divisible (below, "
                    "it is by {})",
                    s_.tensor, what, m_.id, value, fmt::join(fitting, ", ")));
  }
  // Divided, or a whole number of ranks share one.
  void divides_or_repeats(std::string_view what, std::int64_t value) const {
    if (value > 0 && s_.tensor % value == 0) return;
    divides(what, value);
  }

  void check(const LayerKind& kind) const {
    if (kind.attention) {
      divides("query heads", kind.attention->q_heads);
      if (!kind.attention->mla) divides_or_repeats("KV heads", kind.attention->kv_heads);
    }
    if (kind.recurrent) {
      divides("heads of the recurrent layers", kind.recurrent->value_heads);
      divides_or_repeats("groups of the recurrent layers", kind.recurrent->key_heads);
    }
    if (kind.mlp) divides("MLP width", kind.mlp->ffn);
    if (kind.moe) check(*kind.moe);
  }

  [[nodiscard]] std::string cuts_named() const {
    if (s_.data == 1) return fmt::format("tensor_parallel_size {}", s_.tensor);
    return fmt::format("tensor_parallel_size {} x data_parallel_size {}", s_.tensor, s_.data);
  }

  void check(const MoeSpec& moe) const {
    divides("shared width", moe.shared_ffn);
    if (moe.ffn % s_.expert_cuts() != 0) {
      throw ConfigError(
          fmt::format("{}: expert width of {} is {}, not divisible", cuts_named(), m_.id, moe.ffn));
    }
    if (s_.expert_shares() > moe.experts) {
      throw ConfigError(fmt::format("expert parallelism over {} ranks: {} has {} experts",
                                    s_.expert_shares(), m_.id, moe.experts));
    }
  }

  const ModelSpec& m_;
  const Sharding& s_;
};

// Every format of the layers' matrices, the routed experts' apart.
template <typename Visit>
void visit_formats(ModelSpec& model, Visit visit) {
  for (LayerKind& kind : model.kinds) {
    if (kind.attention) visit(kind.attention->format, false);
    if (kind.recurrent) visit(kind.recurrent->format, false);
    if (kind.mlp) visit(kind.mlp->format, false);
    if (kind.moe) {
      visit(kind.moe->shared_format, false);
      visit(kind.moe->format, true);
    }
  }
}

// Whether a matrix is quantised as another type than `dtype`.
bool is_quantised_otherwise(ModelSpec& model, Dtype dtype) {
  bool otherwise = false;
  visit_formats(model, [&](const WeightFormat& format, bool) {
    otherwise |= is_quantised(format.dtype) && format.dtype != dtype;
  });
  return otherwise;
}

std::int64_t mlp_elements(const MlpSpec& mlp) { return (mlp.gated ? 3 : 2) * mlp.ffn; }

}  // namespace

std::int64_t ModelSpec::layers_of(std::size_t kind) const {
  return std::ranges::count(order, static_cast<std::uint16_t>(kind));
}

bool is_embedding_model(const ModelSpec& model) {
  return model.pooling || model.id.find("embedding") != std::string::npos ||
         model.hf_repo.find("Embedding") != std::string::npos;
}

std::int64_t output_rows(const ModelSpec& model) {
  return is_embedding_model(model) ? model.hidden : model.vocab;
}

bool is_encoder(const ModelSpec& model) {
  const auto sees_all = [](const LayerKind& kind) {
    return kind.attention && kind.attention->bidirectional;
  };
  return !model.kinds.empty() && std::ranges::all_of(model.kinds, sees_all);
}

void add_layers(ModelSpec& model, const LayerKind& kind, std::int64_t count) {
  const auto found = std::ranges::find(model.kinds, kind);
  const auto index = static_cast<std::uint16_t>(found - model.kinds.begin());
  if (found == model.kinds.end()) model.kinds.push_back(kind);
  model.order.insert(model.order.end(), static_cast<std::size_t>(count), index);
}

void check_sharding(const ModelSpec& model, const Sharding& sharding) {
  ShardingCheck(model, sharding).run();
}

StageLayers stage_layers(const ModelSpec& model, const Sharding& sharding, std::int64_t stage) {
  HEADROOM_CHECK(stage >= 0 && stage < sharding.pipeline, fmt::format("pipeline stage {}", stage));
  const std::int64_t share = model.layers() / sharding.pipeline;
  const std::int64_t rest = model.layers() % sharding.pipeline;
  // The rest goes one each to the stages before the last, from the back.
  std::int64_t first = 0;
  std::int64_t count = 0;
  for (std::int64_t i = 0; i <= stage; ++i) {
    first += count;
    const bool longer = i >= sharding.pipeline - 1 - rest && i < sharding.pipeline - 1;
    count = share + (longer ? 1 : 0);
  }
  return {static_cast<std::size_t>(first), static_cast<std::size_t>(first + count)};
}

ModelSpec with_dtype(ModelSpec model, Dtype dtype) {
  HEADROOM_CHECK(!is_quantised(dtype), "activations are fp32, fp16 or bf16");
  if (dtype != model.dtype) model.stored.reset();
  model.dtype = dtype;
  const auto replace = [&](WeightFormat& format, bool) {
    if (!is_quantised(format.dtype)) format = format_of(dtype);
  };
  visit_formats(model, replace);
  replace(model.embedding_format, false);
  replace(model.head_format, false);
  if (model.vision) replace(model.vision->format, false);
  return model;
}

// Other people's checkpoint of a model that its makers ship quantised. In 4-bit floats they leave
// attention in 16 bit (nvidia/DeepSeek-R1-FP4, hf_quant_config.json: exclude_modules), else every
// matrix has the type.
static ModelSpec requantised(ModelSpec model, Dtype dtype) {
  const WeightFormat plain = format_of(model.dtype);
  visit_formats(model, [&](WeightFormat& format, bool) { format = plain; });
  const bool all = dtype != Dtype::nvfp4 && dtype != Dtype::mxfp4;
  for (LayerKind& kind : model.kinds) {
    const WeightFormat format = format_of(dtype);
    if (all && kind.attention) kind.attention->format = format;
    if (all && kind.recurrent) kind.recurrent->format = format;
    if (kind.mlp) kind.mlp->format = format;
    if (kind.moe) kind.moe->format = kind.moe->shared_format = format;
  }
  model.quantization_method.clear();
  model.unloaded_bytes = 0;
  model.notes.push_back(fmt::format(
      "{} is shipped in another format: taken as a checkpoint of others with {} in {}", model.id,
      all ? "its matrices" : "experts and MLPs (not attention)", name_of(dtype)));
  return model;
}

// Recipes for NVFP4 stop at the mixers of hybrid models. With experts linear attention stays in 16
// bit (llm-compressor: examples/quantization_w4a4_fp4/qwen3_6_example.py, `ignore`); dense ones get
// all attention in 8 (Model-Optimizer: modelopt_recipes/huggingface/qwen3_5/ptq,
// w4a16_nvfp4-fp8_attn). Which of the two a checkpoint followed is not in its name: one log of each
// kind decided. Recipes for int4 leave nothing out
// (quantization_w4a16/qwen3_8_gptq_awq_example.py).
static void keep_mixers(ModelSpec& model) {
  const auto any = [&model](auto part) {
    return std::ranges::any_of(model.kinds, [&](const LayerKind& kind) { return !!(kind.*part); });
  };
  if (!any(&LayerKind::recurrent)) return;
  const bool experts = any(&LayerKind::moe);
  const WeightFormat kept = format_of(experts ? model.dtype : Dtype::fp8);
  for (LayerKind& kind : model.kinds) {
    if (kind.recurrent) kind.recurrent->format = kept;
    if (kind.attention && !experts) kind.attention->format = kept;
  }
}

// Groups of 128 elements have to fit into the rows of every matrix; where they do not, tools take
// 32 for the whole checkpoint.
static WeightFormat fitting_format(const ModelSpec& model, Dtype dtype) {
  WeightFormat format = format_of(dtype);
  if (dtype != Dtype::int4) return format;
  bool fits = model.hidden % format.group == 0;
  for (const LayerKind& kind : model.kinds) {
    if (kind.mlp) fits = fits && kind.mlp->ffn % format.group == 0;
    if (kind.moe) fits = fits && kind.moe->ffn % format.group == 0;
  }
  if (!fits) format.group = 32;
  return format;
}

ModelSpec quantised(ModelSpec model, Dtype dtype) {
  HEADROOM_CHECK(is_quantised(dtype), fmt::format("{} is not a quantised type", name_of(dtype)));
  model.stored.reset();
  if (dtype < Dtype::q8_0 && is_quantised_otherwise(model, dtype)) {
    return requantised(std::move(model), dtype);
  }
  // With experts as gpt-oss is shipped; else every matrix, as in AMD's checkpoints (Quark:
  // amd/Llama-3.1-405B-Instruct-MXFP4-Preview, config.json: exclude lm_head).
  const bool experts_only = dtype == Dtype::mxfp4 && has_experts(model);
  const bool gguf = dtype >= Dtype::q8_0;  // made from the weights that the checkpoint stands for
  const WeightFormat fitting = fitting_format(model, dtype);
  visit_formats(model, [&](WeightFormat& format, bool routed) {
    if ((routed || !experts_only) && (gguf || !is_quantised(format.dtype))) format = fitting;
  });
  if (dtype == Dtype::nvfp4) keep_mixers(model);
  if (gguf) {  // a GGUF file holds nothing in 16 bit but vectors
    model.embedding_format = model.head_format = format_of(dtype);
    model.stored = gguf_mixture(model, dtype);
  }
  return model;
}

// llama.cpp's convert_hf_to_gguf.py and llama-quantize (MXFP4_MOE): ggml-org's files of gpt-oss
// have 12.1 and 63.4 GB, 1.4 and 1.9 less than with the rest in 16 bits.
ModelSpec as_mxfp4_gguf(ModelSpec model) {
  const auto replace = [](WeightFormat& format, bool) {
    if (!is_quantised(format.dtype)) format = format_of(Dtype::q8_0);
  };
  visit_formats(model, replace);
  replace(model.embedding_format, false);
  replace(model.head_format, false);
  return model;
}

bool has_experts(const ModelSpec& model) {
  return std::ranges::any_of(model.kinds,
                             [](const LayerKind& kind) { return kind.moe.has_value(); });
}

bool has_states(const ModelSpec& model) {
  return std::ranges::any_of(model.kinds,
                             [](const LayerKind& kind) { return kind.recurrent.has_value(); });
}

Dtype main_dtype(const ModelSpec& model) {
  std::vector<std::int64_t> elements(dtype_names().size(), 0);
  const auto count = [&](Dtype dtype, std::int64_t n) {
    elements[static_cast<std::size_t>(dtype)] += n;
  };
  for (std::size_t k = 0; k < model.kinds.size(); ++k) {
    const LayerKind& kind = model.kinds[k];
    const std::int64_t n = model.layers_of(k);
    if (kind.mlp) count(kind.mlp->format.dtype, n * mlp_elements(*kind.mlp));
    if (kind.moe) count(kind.moe->format.dtype, n * kind.moe->experts * 3 * kind.moe->ffn);
    if (kind.attention) count(kind.attention->format.dtype, n * 2 * model.hidden);
    if (kind.recurrent) count(kind.recurrent->format.dtype, n * 2 * model.hidden);
  }
  return static_cast<Dtype>(std::ranges::max_element(elements) - elements.begin());
}

}  // namespace headroom
