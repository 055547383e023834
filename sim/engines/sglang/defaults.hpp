#pragma once
// What SGLang chooses when the user does not, by device, model and release: prefill chunks, graph
// sizes and mem_fraction_static (python/sglang/srt/server_args.py of 0.3.6 to 0.5.19,
// srt/arg_groups/memory_hook.py to 0.5.23).

#include <compare>
#include <cstdint>
#include <optional>
#include <string>

#include "hardware/device.hpp"
#include "hardware/engine_version.hpp"
#include "hardware/llm/model_spec.hpp"

namespace headroom {

// Rules changed from patch to patch within 0.5, so a release has three numbers here. "0.5" alone is
// the newest one whose rules are known.
struct SglangRelease {
  std::int32_t major = 0;
  std::int32_t minor = 5;
  std::int32_t patch = 23;
  friend constexpr auto operator<=>(const SglangRelease&, const SglangRelease&) = default;
};
// `text` is the user's spelling of `version` ("0.5.12.post1"), which the patch is taken from.
[[nodiscard]] SglangRelease sglang_release(EngineVersion version,
                                           const std::optional<std::string>& text);
[[nodiscard]] std::string to_string(SglangRelease release);

struct SglangDefaults {
  std::int64_t chunked_prefill_size = 8192;
  std::int64_t cuda_graph_max_bs = 256;
  std::int64_t max_prefill_tokens = 16384;
  std::int32_t page_size = 1;
};
// By device memory and ranks.
[[nodiscard]] SglangDefaults sglang_defaults(const DeviceSpec& device, SglangRelease release,
                                             const Sharding& sharding);

// From here on no more than max_running_requests are captured.
inline constexpr SglangRelease kGraphsByRequests{0, 5, 22};

enum class SglangSpeculation : std::uint8_t { none, ngram, eagle, standalone };

// What the reserve of the default fraction depends on.
struct SglangReserve {
  SglangRelease release;
  std::int64_t prefill_tokens = 8192;  // of a chunk; without chunks of the largest prefill
  std::int64_t graph_bs = 256;         // largest captured batch
  bool captures = true;                // false: disable_cuda_graph
  bool piecewise = false;              // prefills run in graphs, too
  bool latent_attention = false;       // piecewise graphs of MLA backends take more
  bool dp_attention = false;
  std::int64_t dp_size = 1;
  SglangSpeculation speculation = SglangSpeculation::none;
};
[[nodiscard]] bool has_latent_attention(const ModelSpec& model);

// Whether prefills run in piecewise graphs where nobody says so: on since 0.5.10 but for several
// stages, multimodal models, attention by data ranks and devices other than NVIDIA's; since 0.5.15,
// whose graphs need no compiler, not for latent attention either (server_args.py:
// _disable_breakable_cudagraph_if_incompatible).
[[nodiscard]] bool sglang_piecewise_by_default(const DeviceSpec& device, const ModelSpec& model,
                                               SglangRelease release, const Sharding& sharding);
// Sizes of piecewise graphs up to `largest` tokens.
[[nodiscard]] std::int64_t sglang_piecewise_sizes(std::int64_t largest);

// Memory that the default fraction keeps back, in MiB, on a device of `device_mib`.
[[nodiscard]] double sglang_reserved_mib(const SglangReserve& reserve, const Sharding& sharding,
                                         double device_mib);
// (device - reserve) / device in three decimals; 0.88 when the device's memory is not known (0).
[[nodiscard]] double sglang_mem_fraction_static(double device_mib, double reserved_mib);
// The default fraction of any release: before 0.4.8 a table by the number of ranks.
[[nodiscard]] double sglang_default_fraction(const SglangReserve& reserve, const Sharding& sharding,
                                             double device_mib);
// What of the default fraction a vision tower leaves (adjust_mem_fraction_for_vlm, since 0.4.8):
// 0.95 for a ViT-L/14, a tenth less for twice its size. 1 without a tower.
[[nodiscard]] double sglang_vision_share(const ModelSpec& model, SglangRelease release);

}  // namespace headroom
