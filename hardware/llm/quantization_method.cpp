#include "hardware/llm/quantization_method.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "sim/kernel/errors.hpp"

namespace headroom {
namespace {

struct Method {
  std::string_view name;      // vllm/model_executor/layers/quantization/__init__.py
  std::string_view declared;  // ModelSpec::quantization_method of its checkpoints
  bool at_load = false;       // also a data type that other checkpoints are brought to
};
constexpr std::array kMethods{
    Method{"fp8", "fp8", true},           Method{"awq", "awq", true},
    Method{"gptq", "gptq", true},         Method{"bitsandbytes", "bitsandbytes", true},
    Method{"mxfp4", "mxfp4", true},       Method{"awq_marlin", "awq"},
    Method{"gptq_marlin", "gptq"},        Method{"auto-round", "auto-round"},
    Method{"inc", "auto-round"},          Method{"compressed-tensors", "compressed-tensors"},
    Method{"fbgemm_fp8", "fbgemm_fp8"},   Method{"deepseek_v4_fp8", "fp8"},
    Method{"gpt_oss_mxfp4", "mxfp4"},     Method{"modelopt", "modelopt"},
    Method{"modelopt_fp4", "modelopt"},   Method{"modelopt_mixed", "modelopt"},
    Method{"modelopt_mxfp8", "modelopt"},
};

const Method* find_method(std::string_view name) {
  const auto found = std::ranges::find(kMethods, name, &Method::name);
  return found == kMethods.end() ? nullptr : &*found;
}

}  // namespace

bool is_checkpoint_method(std::string_view name) {
  const Method* method = find_method(name);
  return method != nullptr && !method->at_load;
}

bool contradicts_method(const ModelSpec& model, std::string_view name) {
  const Method* method = find_method(name);
  return method != nullptr && !method->at_load && !model.quantization_method.empty() &&
         model.quantization_method != method->declared;
}

ModelSpec loaded_as(ModelSpec model, std::string_view name) {
  const Method* method = find_method(name);
  if (method == nullptr || method->at_load) {
    // An engine reads the checkpoint's own description, whatever name it is called by.
    const Dtype dtype = parse_dtype(name);
    const bool is_that = !model.quantization_method.empty() && main_dtype(model) == dtype;
    if (is_that) return model;
    if (method == nullptr) return quantised(std::move(model), dtype);
  }
  const bool same = model.quantization_method == method->declared;
  if (!same && method->at_load) return quantised(std::move(model), parse_dtype(name));
  if (!same && name == "modelopt_fp4") return quantised(std::move(model), Dtype::nvfp4);
  if (!same) {
    throw ConfigError(model.quantization_method.empty()
                          ? fmt::format("{}: the checkpoint is not quantised, so {} does not apply",
                                        model.id, name)
                          : fmt::format("{}: the checkpoint is quantised with {}, not with {}",
                                        model.id, model.quantization_method, name));
  }
  const Dtype main = main_dtype(model);
  if (name == "modelopt_fp4" && main != Dtype::nvfp4) {
    throw ConfigError(fmt::format("{}: the checkpoint is quantised as {}, not as nvfp4 ({})",
                                  model.id, name_of(main), name));
  }
  return model;
}

}  // namespace headroom
