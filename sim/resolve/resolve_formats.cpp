// In which formats weights, activations and KV cache are.

#include <fmt/format.h>

#include "hardware/llm/quantization_method.hpp"
#include "sim/resolve/resolver.hpp"

namespace headroom {
namespace {

// vllm/config/model.py, _resolve_auto_dtype; SGLang's model_config.py takes float16 always.
Dtype half_of(const ModelSpec& model, const DeviceSpec& device) {
  return is_embedding_model(model) || !device.bf16_flops ? Dtype::fp16 : Dtype::bf16;
}

}  // namespace

// A name without a format, of an engine that has a usual one: what its library serves under it.
// Weights that their makers quantised are served as they are.
void Resolver::take_usual_format() {
  std::string& given = r_.scenario.engine.quantization;
  const bool by_tag =
      r_.engine->traits.loads_gguf_alone && r_.scenario.model.find(':') != std::string::npos;
  const std::string_view usual = by_tag ? kTagFormat : r_.engine->usual_format;
  if (usual.empty() || given != "auto" || weights_told_) return;
  if (main_dtype(r_.model) != r_.model.dtype) return;
  given = usual;
  r_.rules["/engine/quantization"] =
      by_tag
          ? fmt::format("{}: what the tag {} stands for", usual, r_.scenario.model)
          : fmt::format("{}: what {} serves under a name without a format", usual, r_.engine->name);
}

void Resolver::resolve_formats() {
  take_usual_format();
  EngineSection& e = r_.scenario.engine;
  r_.model.max_position =
      static_cast<std::int64_t>(static_cast<double>(r_.model.max_position) * e.rope_scaling_factor);
  const Dtype shipped = r_.model.dtype;
  // What a GGUF file of the reader's holds is what is served.
  const bool is_file = r_.engine->traits.loads_gguf_alone && read_from_files_;
  const Dtype declared = shipped == Dtype::fp32 && r_.engine->traits.halves_fp32 && !is_file
                             ? half_of(r_.model, r_.device)
                             : shipped;
  const std::string& method = r_.model.quantization_method;
  if (!method.empty() && !reads_cache_format(method)) r_.model.kv_dtype.reset();
  if (named_cache_) r_.model.kv_dtype = named_cache_;
  if (e.dtype != "auto") {
    r_.model = with_dtype(std::move(r_.model), parse_dtype(e.dtype));
  } else if (declared != shipped) {
    r_.model = with_dtype(std::move(r_.model), declared);
  }
  if (e.quantization != "auto") {
    r_.model = engine_.lookup("/engine/quantization",
                              [&] { return loaded_as(std::move(r_.model), e.quantization); });
  }
  take_gguf_rest();
  if (e.dtype == "auto") {
    r_.rules["/engine/dtype"] = fmt::format("auto: {} for {}", name_of(declared), r_.model.id);
    e.dtype = name_of(declared);
  }
  if (e.quantization == "auto") {
    const Dtype main = main_dtype(r_.model);
    r_.rules["/engine/quantization"] = fmt::format("auto: the checkpoint's, {}", name_of(main));
    e.quantization = name_of(main);
  }
  r_.kv = r_.model.kv_dtype.value_or(r_.model.dtype);
  if (e.kv_cache_dtype != "auto") {
    r_.kv = engine_.lookup("/engine/kv_cache_dtype", [&] { return parse_dtype(e.kv_cache_dtype); });
  } else {
    r_.rules["/engine/kv_cache_dtype"] = fmt::format(
        "auto: {}{}", name_of(r_.kv), r_.model.kv_dtype ? ", declared by the checkpoint" : "");
    e.kv_cache_dtype = name_of(r_.kv);
  }
  warn_of_foreign_format();
}

// What a checkpoint with experts in mxfp4 leaves in 16 bits, a GGUF file of it does not.
void Resolver::take_gguf_rest() {
  if (!r_.engine->traits.loads_gguf_alone || read_from_files_) return;
  if (main_dtype(r_.model) != Dtype::mxfp4) return;
  if (!has_experts(r_.model)) {
    r_.warnings.push_back(
        fmt::format("{}: llama-quantize makes mxfp4 of experts alone, so a GGUF file with all "
                    "matrices in it is of another's making",
                    r_.model.id));
    return;
  }
  r_.model = as_mxfp4_gguf(std::move(r_.model));
  r_.warnings.push_back(
      fmt::format("{}: a GGUF file with experts in mxfp4 is taken to have its other matrices in "
                  "q8_0, as those of its makers",
                  r_.model.id));
}

// Bytes can be counted of any format, but not every loader reads it. GGUF files may hold ggml's
// copies of the 4-bit floats, too.
void Resolver::warn_of_foreign_format() {
  const Dtype main = main_dtype(r_.model);
  if (!is_quantised(main) || main == Dtype::mxfp4 || main == Dtype::nvfp4) return;
  const EngineTraits& traits = r_.engine->traits;
  if (traits.loads_gguf_alone && !is_gguf(main)) {
    r_.warnings.push_back(
        fmt::format("{} loads GGUF files alone (q8_0, q6_k, q5_k_m, q4_k_m, ...): weights in {} "
                    "must be converted first",
                    r_.engine->name, name_of(main)));
  } else if (!traits.loads_gguf && is_gguf(main)) {
    r_.warnings.push_back(fmt::format("{} does not load GGUF files, which hold weights in {}",
                                      r_.engine->name, name_of(main)));
  }
}

}  // namespace headroom
