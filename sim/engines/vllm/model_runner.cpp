#include "sim/engines/vllm/model_runner.hpp"

#include <algorithm>
#include <span>

namespace headroom {
namespace {

using Names = std::span<const std::string_view>;

constexpr EngineVersion kByName{0, 22};        // the first list of architectures
constexpr EngineVersion kLlamaAsWell{0, 23};   // more of them, without experts or quantisation
constexpr EngineVersion kQuantised{0, 24};     // whatever their weights are in
constexpr EngineVersion kDense{0, 25};         // every model without experts or states
constexpr EngineVersion kInkling{0, 26};       // more models with experts
constexpr EngineVersion kListedStates{0, 27};  // listed models may keep states
constexpr EngineVersion kCompressed{0, 28};    // DeepSeek-V4
constexpr EngineVersion kEvery{0, 29};
constexpr EngineVersion kEveryDraft{0, 33};  // 0.30 still lacked two of them

constexpr std::string_view kFirst[] = {"Qwen3ForCausalLM"};
constexpr std::string_view kLlamas[] = {"LlamaForCausalLM", "MistralForCausalLM",
                                        "Qwen3ForCausalLM"};
constexpr std::string_view kWithExperts[] = {"DeepseekV2ForCausalLM", "GraniteMoeForCausalLM",
                                             "Qwen2MoeForCausalLM"};
constexpr std::string_view kMoreExperts[] = {
    "InklingForCausalLM", "InklingForConditionalGeneration", "LongcatFlashNgramForCausalLM"};
constexpr std::string_view kKimi[] = {"KimiK3ForConditionalGeneration"};
constexpr std::string_view kDeepSeekV4[] = {"DeepseekV4ForCausalLM"};

bool is_in(Names names, const ModelSpec& model) {
  return std::ranges::find(names, model.architecture) != names.end();
}

// DEFAULT_V2_MODEL_RUNNER_ARCHITECTURES from 0.25 on.
bool is_listed(EngineVersion version, const ModelSpec& model, bool rocm) {
  if (is_in(kWithExperts, model)) return true;
  if (version >= kInkling && is_in(kMoreExperts, model)) return true;
  if (version >= kListedStates && !rocm && is_in(kKimi, model)) return true;
  return version >= kCompressed && !rocm && is_in(kDeepSeekV4, model);
}

bool is_default_model(EngineVersion version, const ModelSpec& model, bool rocm) {
  const bool plain = !has_experts(model) && main_dtype(model) == model.dtype;
  if (version < kLlamaAsWell) return plain && is_in(kFirst, model);
  if (version < kQuantised) return plain && is_in(kLlamas, model);
  if (version < kDense) return is_in(kLlamas, model) || is_in(kWithExperts, model);
  const bool listed = is_listed(version, model, rocm);
  if (has_states(model) && !(listed && version >= kListedStates)) return false;
  return listed || !has_experts(model);
}

// _get_v2_model_runner_unsupported_features: drafting by the prompt and by whole models came late.
bool drafts_with(EngineVersion version, std::string_view method) {
  if (method == "ngram" || method == "draft_model") return version >= kEveryDraft;
  return method != "dflash" || version >= kQuantised;
}

}  // namespace

bool takes_second_runner(EngineVersion version, const ModelSpec& model, const DeviceSpec& device,
                         std::string_view draft_method) {
  if (version < kByName) return false;
  if (!drafts_with(version, draft_method)) return false;
  return version >= kEvery || is_default_model(version, model, device.vendor == "amd");
}

}  // namespace headroom
