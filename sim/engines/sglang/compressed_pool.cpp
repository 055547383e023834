#include "sim/engines/sglang/compressed_pool.hpp"

#include "hardware/llm/kv_geometry.hpp"

namespace headroom {
namespace {

constexpr SglangRelease kStatesByRequest{0, 5, 16};
constexpr double kUsualWindowRatio = 0.8;
constexpr double kCompressedWindowRatio = 0.1;
constexpr std::int64_t kFineRatio = 4;
constexpr std::int64_t kCoarseRatio = 128;
constexpr double kFineRing = 8;  // slots of a window's page, without drafts
constexpr std::int64_t kCoarseRing = 128;
constexpr std::int64_t kCompressorBytes = 4;  // fp32

}  // namespace

std::optional<CompressedPool> sglang_compressed_pool(const ModelSpec& model,
                                                     const Sharding& sharding, std::int64_t stage,
                                                     SglangRelease release, double window_ratio) {
  const double ratio = window_ratio == kUsualWindowRatio ? kCompressedWindowRatio : window_ratio;
  CompressedPool pool;
  bool compresses = false;
  const StageLayers range = stage_layers(model, sharding, stage);
  for (std::size_t i = range.first; i < range.last; ++i) {
    const auto& attention = model.layer(i).attention;
    if (!attention) continue;
    const AttentionSpec& a = *attention;
    const auto entry = static_cast<double>(compressed_entry_bytes(a));
    const std::int64_t key = a.indexer ? a.indexer->head_dim : 0;
    const ByteCount key_bytes = a.indexer ? indexer_key_bytes(*a.indexer) : 0;
    pool.bytes_per_token += ratio * entry;
    if (a.compress_ratio == kFineRatio) {
      compresses = true;
      pool.bytes_per_token += (entry + static_cast<double>(key_bytes)) / kFineRatio;
      // A value and a score for each slot, over two blocks, of entries and keys.
      const auto state = static_cast<double>(2 * 2 * (a.head_dim + key) * kCompressorBytes);
      pool.bytes_per_token += ratio * kFineRing / static_cast<double>(a.window_tokens) * state;
    } else if (a.compress_ratio == kCoarseRatio) {
      compresses = true;
      pool.bytes_per_token += entry / kCoarseRatio;
      const std::int64_t state = 2 * a.head_dim * kCompressorBytes;
      if (release >= kStatesByRequest) {
        pool.bytes_per_request += kCoarseRing * state;
      } else {
        pool.bytes_per_token += ratio * static_cast<double>(kCoarseRing) /
                                static_cast<double>(a.window_tokens) * static_cast<double>(state);
      }
    }
  }
  if (!compresses) return std::nullopt;
  return pool;
}

}  // namespace headroom
