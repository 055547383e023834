#include "sim/engines/vllm/defaults.hpp"

#include <algorithm>
#include <string>

#include "hardware/budget/budget.hpp"
#include "sim/engines/vllm/compressed_layout.hpp"

namespace headroom {
namespace {

bool any_attention(const ModelSpec& model, bool (*test)(const AttentionSpec&)) {
  return std::ranges::any_of(
      model.kinds, [&](const LayerKind& kind) { return kind.attention && test(*kind.attention); });
}

// Kernels of latent attention want blocks of their own. The measured start-ups of 0.19 on H100 log
// 16 tokens for Kimi-VL, whose kernel there takes any multiple of 16; elsewhere FlashMLA's 64.
std::int32_t default_block(const DeviceSpec& device, const ModelSpec& model,
                           EngineVersion version) {
  if (keeps_compressed(model)) return kCompressedBlockTokens;
  if (any_attention(model, [](const AttentionSpec& a) { return a.indexer.has_value(); })) return 64;
  if (!any_attention(model, [](const AttentionSpec& a) { return a.mla.has_value(); })) return 16;
  return device.sm == 90 && version >= EngineVersion{0, 17} ? 16 : 64;
}

// One item whose tokens see each other must fit a step. Gemma 4's largest is a video of 32 frames,
// each of 70 soft tokens, two marks and six tokens of its time (engine/arg_utils.py,
// _get_min_mm_batched_tokens, 0.22.0; not in 0.21.0; model_executor/models/gemma4_mm.py,
// get_mm_max_tokens_per_item).
std::int32_t largest_whole_item(const ModelSpec& model, EngineVersion version) {
  constexpr EngineVersion kFitsItems{0, 22};
  const bool whole = version >= kFitsItems && model.vision && model.vision->bidirectional &&
                     model.vision->family == VisionSpec::Family::gemma4;
  return whole ? 32 * (70 + 2 + 6) : 0;
}

}  // namespace

VllmDefaults vllm_defaults(const DeviceSpec& device, const ModelSpec& model, EngineVersion version,
                           bool v0) {
  // vLLM asks NVML, which does not answer for integrated devices: their memory counts as unknown.
  const bool known = device.memory_model != MemoryModel::unified;
  bool large = known && device.memory_reported_bytes >= bytes_from_gib(70) &&
               device.id.find("a100") == std::string::npos;
  // Before 0.8.5 the class went by name: H100, H200 and MI300X.
  if (version < EngineVersion{0, 9}) {
    large = large && (device.id.starts_with("h100") || device.id.starts_with("h200") ||
                      device.id.starts_with("mi300"));
  }
  const bool largest = large && device.memory_reported_bytes >= bytes_from_gib(160) &&
                       version >= EngineVersion{0, 28};
  VllmDefaults defaults;
  if (large && !v0) {
    defaults.max_num_batched_tokens = largest ? 16384 : 8192;
    defaults.max_num_seqs = version >= EngineVersion{0, 8} ? 1024 : 256;  // since V1
  }
  defaults.max_num_batched_tokens =
      std::max(defaults.max_num_batched_tokens, largest_whole_item(model, version));
  defaults.gpu_memory_utilization = version >= EngineVersion{0, 20} ? 0.92 : 0.90;
  defaults.block_size = default_block(device, model, version);
  defaults.async_scheduling = version >= EngineVersion{0, 14};
  return defaults;
}

}  // namespace headroom
