#include "sim/engines/sglang/defaults.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "hardware/budget/budget.hpp"

namespace headroom {
namespace {

constexpr SglangRelease kReserves{0, 4, 8};      // a reserve by device class, before by ranks
constexpr SglangRelease kByChunks{0, 5, 3};      // the reserve follows chunks and graphs
constexpr SglangRelease kWiderGraphs{0, 5, 7};   // 24 instead of 16 below 35 GiB
constexpr SglangRelease kPiecewise{0, 5, 10};    // piecewise graphs on; 4 GiB for EAGLE, before 2
constexpr SglangRelease kGraphConfig{0, 5, 14};  // graphs count where captured, drafts as weights
constexpr SglangRelease kBreakable{0, 5, 15};    // graphs of prefills in pieces, without a compiler
constexpr SglangRelease kGraphs24{0, 5, 20};     // cards of 20 to 35 GiB capture twice as many
constexpr SglangRelease kNewestOf04{0, 4, 10};

struct DefaultsRow {
  double below_gib;
  std::int64_t chunk;
  std::int64_t graph_bs;       // fewer than four tensor ranks
  std::int64_t graph_bs_wide;  // four and more
};
constexpr std::array<DefaultsRow, 6> kDefaults{{
    {20, 2048, 8, 8},
    {35, 2048, 24, 80},
    {60, 4096, 32, 160},
    {90, 8192, 256, 512},
    {160, 8192, 256, 512},
    {1e9, 16384, 512, 512},
}};
// Up to 0.5.2; graph sizes beyond those of the option: cuda_graph_runner.py,
// get_batch_sizes_to_capture.
constexpr std::array<DefaultsRow, 4> kOlderDefaults{{
    {35, 2048, 8, 80},
    {90, 8192, 160, 160},
    {160, 8192, 256, 256},
    {1e9, 16384, 512, 512},
}};

// --tp-size, of which attention by data ranks takes a part.
std::int64_t tensor_ranks(const Sharding& sharding) { return sharding.tensor * sharding.data; }

template <std::size_t N>
const DefaultsRow& row_of(const std::array<DefaultsRow, N>& rows, double gib) {
  return *std::ranges::find_if(rows, [&](const DefaultsRow& r) { return gib < r.below_gib; });
}

// 0.4.8 to 0.5.2, in GiB.
double reserved_by_class(const SglangReserve& reserve, double ranks, double device_mib) {
  const double gib = device_mib / 1024;
  double reserved = 32;
  if (gib < 35) {
    reserved = 2.8 + ranks / 10;
  } else if (gib < 90) {
    reserved = 9.5 + ranks / 2;
  } else if (gib < 160) {
    reserved = 12 + ranks / 2;
  }
  if (reserve.speculation != SglangSpeculation::none) {
    reserved += reserve.speculation == SglangSpeculation::standalone ? 6 : 2;
  }
  return reserved + (reserve.dp_attention ? 4 : 0);
}

double reserved_for_graphs(const SglangReserve& r) {
  const auto graph_bs = static_cast<double>(r.graph_bs);
  const auto dp = static_cast<double>(r.dp_size);
  double reserved = r.captures || r.release < kGraphConfig ? 2 * graph_bs : 0;
  if (r.dp_attention) reserved += graph_bs * dp * (graph_bs > 300 ? 4.5 : 3);
  if (!r.piecewise) return reserved;
  return reserved + (r.latent_attention
                         ? 1.5 * 1024
                         : 8 * static_cast<double>(sglang_piecewise_sizes(r.prefill_tokens)));
}

double reserved_for_drafts(const SglangReserve& r) {
  if (r.release >= kGraphConfig) return 0;
  if (r.speculation == SglangSpeculation::standalone) return 6 * 1024;
  if (r.speculation == SglangSpeculation::eagle) return r.release < kPiecewise ? 2048 : 4096;
  return 0;
}

// Before 0.4.8. A larger device gets the same 48 GiB class's rest, but keeps 18 GiB at least.
double fraction_by_ranks(const SglangReserve& reserve, std::int64_t ranks, double device_mib) {
  const double eight = reserve.release < SglangRelease{0, 4, 0} ? 0.82 : 0.81;
  double fraction = 0.88;
  if (device_mib <= 81920 && ranks >= 2) {
    fraction = ranks >= 16 ? 0.79 : ranks >= 8 ? eight : ranks >= 4 ? 0.85 : 0.87;
  }
  if (device_mib > 96 * 1024) {
    fraction = std::min(fraction + 48 * 1024 * (1 - fraction) / device_mib,
                        (device_mib - 18 * 1024) / device_mib);
  }
  return fraction;
}

}  // namespace

SglangRelease sglang_release(EngineVersion version, const std::optional<std::string>& text) {
  SglangRelease release{version.major, version.minor, 0};
  if (version == EngineVersion{0, 5}) release.patch = SglangRelease{}.patch;
  if (version == EngineVersion{0, 4}) release.patch = kNewestOf04.patch;
  if (!text) return release;
  release.patch = patch_of(*text).value_or(release.patch);
  return release;
}

std::string to_string(SglangRelease release) {
  return fmt::format("{}.{}.{}", release.major, release.minor, release.patch);
}

SglangDefaults sglang_defaults(const DeviceSpec& device, SglangRelease release,
                               const Sharding& sharding) {
  SglangDefaults defaults;
  if (device.memory_reported_bytes == 0) {  // unknown
    defaults.chunked_prefill_size = 4096;
    defaults.cuda_graph_max_bs = 160;
    return defaults;
  }
  const double gib = gib_from_bytes(device.memory_reported_bytes);
  const bool older = release < kByChunks;
  const DefaultsRow& row = older ? row_of(kOlderDefaults, gib) : row_of(kDefaults, gib);
  // Attention by data ranks shares the chunk out (server_args.py: _handle_data_parallelism).
  defaults.chunked_prefill_size = row.chunk / sharding.data;
  const std::int64_t ranks = tensor_ranks(sharding);
  defaults.cuda_graph_max_bs = ranks < 4 ? row.graph_bs : row.graph_bs_wide;
  if (!older && release < kWiderGraphs && gib < 35 && ranks < 4) {
    defaults.cuda_graph_max_bs = std::min<std::int64_t>(defaults.cuda_graph_max_bs, 16);
  }
  if (release >= kGraphs24 && gib >= 20 && gib < 35) defaults.cuda_graph_max_bs *= 2;
  return defaults;
}

bool has_latent_attention(const ModelSpec& model) {
  return std::ranges::any_of(
      model.kinds, [](const LayerKind& kind) { return kind.attention && kind.attention->mla; });
}

bool sglang_piecewise_by_default(const DeviceSpec& device, const ModelSpec& model,
                                 SglangRelease release, const Sharding& sharding) {
  if (release >= kBreakable && has_latent_attention(model)) return false;
  return release >= kPiecewise && device.vendor == "nvidia" && sharding.pipeline == 1 &&
         sharding.data == 1 && !model.vision;
}

std::int64_t sglang_piecewise_sizes(std::int64_t largest) {
  struct Steps {
    std::int64_t last;
    std::int64_t step;
  };
  constexpr std::array<Steps, 5> kSteps{{{32, 4}, {256, 16}, {512, 32}, {1024, 64}, {4096, 256}}};
  std::int64_t count = 0;
  std::int64_t from = 0;
  for (const Steps& steps : kSteps) {
    count += std::max<std::int64_t>(0, std::min(largest, steps.last) - from) / steps.step;
    from = steps.last;
  }
  return count + std::max<std::int64_t>(0, largest - from) / 512;
}

double sglang_reserved_mib(const SglangReserve& reserve, const Sharding& sharding,
                           double device_mib) {
  const auto ranks = static_cast<double>(tensor_ranks(sharding) * sharding.pipeline);
  if (reserve.release < kByChunks) return reserved_by_class(reserve, ranks, device_mib) * 1024;
  double reserved = 512;
  reserved += 1.5 * static_cast<double>(std::max<std::int64_t>(reserve.prefill_tokens, 2048));
  reserved += ranks / 8 * 1024 + reserved_for_graphs(reserve);
  if (device_mib > 60 * 1024) reserved = std::max(reserved, 10.0 * 1024);
  return reserved + reserved_for_drafts(reserve);
}

double sglang_mem_fraction_static(double device_mib, double reserved_mib) {
  if (device_mib <= 0) return 0.88;
  const double exact = (device_mib - reserved_mib) / device_mib;
  return static_cast<double>(static_cast<std::int64_t>(std::max(exact, 0.0) * 1000 + 0.5)) / 1000;
}

double sglang_default_fraction(const SglangReserve& reserve, const Sharding& sharding,
                               double device_mib) {
  if (reserve.release < kReserves) {
    return fraction_by_ranks(reserve, tensor_ranks(sharding) * sharding.pipeline, device_mib);
  }
  return sglang_mem_fraction_static(device_mib, sglang_reserved_mib(reserve, sharding, device_mib));
}

double sglang_vision_share(const ModelSpec& model, SglangRelease release) {
  if (!model.vision || release < kReserves) return 1;
  constexpr double kUsualLayers = 24;
  constexpr double kUsualHidden = 1024;
  // Read by these two names alone: towers that call them otherwise count as a ViT-L/14.
  const VisionSpec& v = *model.vision;
  const double layers = v.named_layers > 0 ? static_cast<double>(v.named_layers) : kUsualLayers;
  const double hidden = v.named_hidden > 0 ? static_cast<double>(v.named_hidden) : kUsualHidden;
  const double size = layers * hidden * hidden / (kUsualLayers * kUsualHidden * kUsualHidden);
  return 0.95 * std::clamp(1 - 0.1 * (size - 1), 0.8, 1.05);
}

}  // namespace headroom
