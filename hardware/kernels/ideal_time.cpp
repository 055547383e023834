#include "hardware/kernels/ideal_time.hpp"

#include <algorithm>
#include <optional>

#include "sim/kernel/det_math.hpp"

namespace headroom {
namespace {

// What the shortest kernels of the tables take: 1.6 us (a convolution) to 5 us (products).
constexpr double kStartUs = 2;
// Latency of one exchange over NVLink: the shortest all-reduces of the tables take 3 to 6 us.
constexpr double kExchangeUs = 4;

double starts_us(const DevicePeaks& peaks, double kernels = 1) {
  return kernels * kStartUs * peaks.latency;
}
// That each of `devices` moves `bytes` to the others.
double exchange_us(const DevicePeaks& peaks, double devices, double bytes) {
  const double rate = peaks.link_bytes * share_of_links(devices, peaks.link_peers);
  return kExchangeUs * peaks.latency + bytes / rate;
}

KernelFormat format_at(KernelKey key, std::size_t i) { return static_cast<KernelFormat>(key[i]); }
double size_at(KernelKey key, std::size_t i) { return static_cast<double>(key[i]); }

// Bytes per weight with its scales: one per 16 (nvfp4), 32 (mxfp4) or 128 (int4).
double weight_bytes(KernelFormat format) {
  switch (format) {
    case KernelFormat::bf16: return 2;
    case KernelFormat::fp8:
    case KernelFormat::fp8_block:
    case KernelFormat::int8:
    case KernelFormat::int8_weights: return 1;
    case KernelFormat::nvfp4: return 0.5625;
    case KernelFormat::int4_weights: return 0.515625;
    case KernelFormat::mxfp4_weights:
    case KernelFormat::mxfp4_mxfp8: return 0.53125;
  }
  return 2;
}

double activation_bytes(KernelFormat format) {
  switch (format) {
    case KernelFormat::fp8:
    case KernelFormat::fp8_block:
    case KernelFormat::int8:
    case KernelFormat::mxfp4_mxfp8: return 1;
    case KernelFormat::nvfp4: return 0.5625;
    default: return 2;
  }
}

double flops(const DevicePeaks& peaks, KernelFormat format) {
  switch (format) {
    case KernelFormat::fp8:
    case KernelFormat::fp8_block:
    case KernelFormat::mxfp4_mxfp8: return peaks.flops_fp8;
    case KernelFormat::nvfp4: return peaks.flops_fp4;
    case KernelFormat::int8: return peaks.ops_int8;
    default: return peaks.flops_16_bit;
  }
}

double product_us(const DevicePeaks& peaks, KernelFormat format, double m, double n, double k) {
  const double bytes = m * k * activation_bytes(format) + n * k * weight_bytes(format) + m * n * 2;
  return bytes / peaks.bytes + 2 * m * n * k / flops(peaks, format);
}

// Query-key pairs of `tokens` queries behind `prefix` keys that see at most `window` of them.
double pairs_of(double tokens, double prefix, double window) {
  const double seen_whole = std::clamp(window - prefix, 0.0, tokens);
  return seen_whole * (prefix + (seen_whole + 1) / 2) + (tokens - seen_whole) * window;
}

constexpr double kNoWindow = 1e18;
double window_at(KernelKey key, std::size_t i) { return key[i] == 0 ? kNoWindow : size_at(key, i); }

// Sizes of latent attention: those of DeepSeek-V3 where the key ends before them.
struct LatentSizes {
  double hidden = 7168;
  double query_rank = 1536;
  double kv_rank = 512;
  double rope = 64;
  double nope = 128;
  double value = 128;
};

LatentSizes latent_sizes(KernelKey key, std::size_t first) {
  LatentSizes sizes;
  if (key.size() >= first + 6) {
    sizes = {.hidden = size_at(key, first),
             .query_rank = size_at(key, first + 1),
             .kv_rank = size_at(key, first + 2),
             .rope = size_at(key, first + 3),
             .nope = size_at(key, first + 4),
             .value = size_at(key, first + 5)};
  }
  return sizes;
}

// Matrix products of the block for `m` tokens. Decoding absorbs the up-projection of keys and
// values into queries and outputs: the same weights, read once.
double latent_products_us(const DevicePeaks& peaks, KernelFormat format, const LatentSizes& sizes,
                          double heads, double m) {
  const double down = sizes.query_rank + sizes.kv_rank + sizes.rope;
  const double query_in = sizes.query_rank > 0 ? sizes.query_rank : sizes.hidden;
  return product_us(peaks, format, m, down, sizes.hidden) +
         product_us(peaks, format, m, heads * (sizes.nope + sizes.rope), query_in) +
         product_us(peaks, format, m, heads * (sizes.nope + sizes.value), sizes.kv_rank) +
         product_us(peaks, format, m, sizes.hidden, heads * sizes.value);
}

// Attention over unfolded heads, as prefills do it.
double unfolded_us(const DevicePeaks& peaks, KernelFormat query, const LatentSizes& sizes,
                   double heads, double sequences, double tokens) {
  const double width = sizes.nope + sizes.rope + sizes.value;
  const double bytes = sequences * tokens * heads * 2 * width * activation_bytes(query);
  const double pairs = sequences * pairs_of(tokens, 0, kNoWindow);
  return bytes / peaks.bytes + 2 * pairs * heads * width / flops(peaks, query);
}

// Attention over the compressed cache: one head of keys for all.
double folded_us(const DevicePeaks& peaks, KernelFormat kv, const LatentSizes& sizes, double heads,
                 double queries, double pairs, double keys_read) {
  const double width = sizes.kv_rank + sizes.rope;
  const double bytes =
      keys_read * width * activation_bytes(kv) + queries * heads * (width + sizes.kv_rank) * 2;
  return bytes / peaks.bytes + 2 * pairs * heads * (width + sizes.kv_rank) / peaks.flops_16_bit;
}

// DeepSeek-V3.2: 64 index heads of 128 dimensions in fp8, 2048 tokens picked.
constexpr double kIndexHeads = 64;
constexpr double kIndexWidth = 128;
constexpr double kPicked = 2048;

double indexer_us(const DevicePeaks& peaks, KernelKey key, double pairs, double keys_read) {
  if (key[3] != 0) return 0;
  return keys_read * kIndexWidth / peaks.bytes +
         2 * pairs * kIndexHeads * kIndexWidth / peaks.flops_fp8;
}

}  // namespace

DevicePeaks peaks_of(const DeviceSpec& device) {
  // One byte of check bits for 16 of memory (L40S: 48 GB, of which 44.4 are reported).
  constexpr double kDataBesideChecks = 15.0 / 16;
  constexpr double kPerMicrosecond = 1e-6;
  constexpr double kPcieGen4 = 31.5e9;  // bytes per second, where the catalog has no link
  const DeviceSpec::KernelsOf own;
  const DeviceSpec::KernelsOf& attained = device.kernels_of ? *device.kernels_of : own;
  const double flops = device.bf16_flops.value_or(device.fp16_flops) * attained.flops_16_bit;
  const auto narrow = [&](std::optional<double> rate) {
    return rate ? *rate * attained.flops_8_bit : flops;
  };
  const double link =
      device.nvlink_bytes_per_s.value_or(device.pcie_bytes_per_s.value_or(kPcieGen4));
  const double data = (device.ecc_in_band ? kDataBesideChecks : 1) * attained.bandwidth;
  return {.bytes = device.bandwidth_bytes_per_s * data * kPerMicrosecond,
          .flops_16_bit = flops * kPerMicrosecond,
          .flops_fp8 = narrow(device.fp8_flops) * kPerMicrosecond,
          .flops_fp4 = narrow(device.fp4_flops) * kPerMicrosecond,
          .ops_int8 = narrow(device.int8_ops) * kPerMicrosecond,
          .link_bytes = link * attained.link * kPerMicrosecond,
          .link_peers = device.nvlink_bytes_per_s ? static_cast<double>(device.link_peers) : 0,
          .decode_attention = attained.decode_attention,
          .latency = attained.latency};
}

namespace ideal {

double linear(const DevicePeaks& peaks, KernelKey key, KernelPoint point) {
  return starts_us(peaks) + product_us(peaks, format_at(key, 0), point[0], point[1], point[2]);
}

double prefill_attention(const DevicePeaks& peaks, KernelKey key, KernelPoint point) {
  const double heads = size_at(key, 0);
  const double kv_heads = size_at(key, 1);
  const double width = size_at(key, 2);
  const double tokens = point[0] * point[1];
  const double bytes =
      tokens * width * (4 * heads + 2 * kv_heads * activation_bytes(format_at(key, 4)));
  const double pairs = point[0] * pairs_of(point[1], 0, window_at(key, 3));
  return starts_us(peaks) + bytes / peaks.bytes +
         4 * pairs * heads * width / flops(peaks, format_at(key, 5));
}

double decode_attention(const DevicePeaks& peaks, KernelKey key, KernelPoint point) {
  const double heads = size_at(key, 0);
  const double kv_heads = size_at(key, 1);
  const double width = size_at(key, 2);
  const double seen = std::min(point[1], window_at(key, 3));
  const double bytes =
      width * (2 * seen * kv_heads * activation_bytes(format_at(key, 4)) + 4 * heads);
  const double row_us = bytes / peaks.bytes + 4 * seen * heads * width / peaks.flops_16_bit;
  return starts_us(peaks) + point[0] * row_us / peaks.decode_attention;
}

double experts(const DevicePeaks& peaks, KernelKey key, KernelPoint point) {
  const KernelFormat format = format_at(key, 0);
  const bool balanced = key[2] != 0;
  const double hidden = size_at(key, 3);
  const double width = size_at(key, 4) / point[0];
  const double top_k = size_at(key, 5);
  const double of_all = 1 / point[1];  // this device's share of experts and of routed tokens
  const double count = size_at(key, 6) * of_all;
  const double routed = point[2] * top_k * of_all;
  const double missed =
      top_k < size_at(key, 6) ? det::pow(1 - top_k / size_at(key, 6), point[2]) : 0;
  const double touched = balanced ? std::min(count, routed) : count * (1 - missed);
  const double weights = 3 * hidden * width;
  const double bytes =
      touched * weights * weight_bytes(format) + 2 * point[2] * hidden * 2 + routed * width * 4;
  return starts_us(peaks, 2) + bytes / peaks.bytes + 2 * routed * weights / flops(peaks, format);
}

double all_reduce(const DevicePeaks& peaks, KernelKey /*key*/, KernelPoint point) {
  return exchange_us(peaks, point[0], 4 * point[1] * (point[0] - 1) / point[0]);
}

double nccl(const DevicePeaks& peaks, KernelKey key, KernelPoint point) {
  const bool sums_all = key[0] == static_cast<std::int64_t>(Collective::all_reduce);
  const double moved = (sums_all ? 4 : 2) * point[1] * (point[0] - 1) / point[0];
  return exchange_us(peaks, point[0], moved);
}

double latent_prefill(const DevicePeaks& peaks, KernelKey key, KernelPoint point) {
  const LatentSizes sizes = latent_sizes(key, 3);
  return starts_us(peaks, 10) +
         latent_products_us(peaks, format_at(key, 0), sizes, point[0], point[1] * point[2]) +
         unfolded_us(peaks, format_at(key, 2), sizes, point[0], point[1], point[2]);
}

double latent_decode(const DevicePeaks& peaks, KernelKey key, KernelPoint point) {
  const LatentSizes sizes = latent_sizes(key, 3);
  const double pairs = point[1] * point[2];
  return starts_us(peaks, 10) +
         latent_products_us(peaks, format_at(key, 0), sizes, point[0], point[1]) +
         folded_us(peaks, format_at(key, 1), sizes, point[0], point[1], pairs, pairs);
}

double latent_kernel_prefill(const DevicePeaks& peaks, KernelKey key, KernelPoint point) {
  return starts_us(peaks) +
         unfolded_us(peaks, KernelFormat::bf16, latent_sizes(key, 1), point[0], point[1], point[2]);
}

double latent_kernel_decode(const DevicePeaks& peaks, KernelKey key, KernelPoint point) {
  const double pairs = point[1] * point[2];
  return starts_us(peaks) + folded_us(peaks, format_at(key, 0), latent_sizes(key, 1), point[0],
                                      point[1], pairs, pairs);
}

// Per head a product of the compressed rank and the head's 128 dimensions.
double latent_bmm(const DevicePeaks& peaks, KernelKey key, KernelPoint point) {
  const LatentSizes sizes = latent_sizes(key, 1);
  return starts_us(peaks) +
         point[0] * product_us(peaks, format_at(key, 0), point[1], sizes.kv_rank, sizes.nope);
}

double sparse_prefill(const DevicePeaks& peaks, KernelKey key, KernelPoint point) {
  const LatentSizes sizes{.hidden = size_at(key, 0)};
  const double tokens = point[1] * point[2];
  const double keys = point[1] * (point[2] + point[3]);
  const double pairs = point[1] * pairs_of(point[2], point[3], kPicked);
  return starts_us(peaks, 15) +
         latent_products_us(peaks, format_at(key, 1), sizes, point[0], tokens) +
         folded_us(peaks, format_at(key, 2), sizes, point[0], tokens, pairs,
                   std::min(keys, pairs)) +
         indexer_us(peaks, key, point[1] * pairs_of(point[2], point[3], kNoWindow), keys);
}

double sparse_decode(const DevicePeaks& peaks, KernelKey key, KernelPoint point) {
  const LatentSizes sizes{.hidden = size_at(key, 0)};
  const double seen = point[1] * std::min(point[2], kPicked);
  return starts_us(peaks, 15) +
         latent_products_us(peaks, format_at(key, 1), sizes, point[0], point[1]) +
         folded_us(peaks, format_at(key, 2), sizes, point[0], point[1], seen, seen) +
         indexer_us(peaks, key, point[1] * point[2], point[1] * point[2]);
}

// Chunks of 64 tokens: products within a chunk and with the state.
double recurrent_prefill(const DevicePeaks& peaks, KernelKey key, KernelPoint point) {
  const double tokens = point[0] * point[1];
  const double keys = size_at(key, 0) * size_at(key, 1);
  const double values = size_at(key, 2) * size_at(key, 3);
  const double state = size_at(key, 1) * values;
  const double bytes = tokens * (2 * keys + values) * 2 * 4 + point[0] * state * 4;
  return starts_us(peaks, 2) + bytes / peaks.bytes + tokens * state * 6 / peaks.flops_16_bit;
}

double recurrent_decode(const DevicePeaks& peaks, KernelKey key, KernelPoint point) {
  const double state = size_at(key, 1) * size_at(key, 2) * size_at(key, 3);
  return starts_us(peaks, 2) + point[0] * 2 * 4 * state / peaks.bytes;
}

double index_scores(const DevicePeaks& peaks, const IndexShape& shape, const QueryRows& rows) {
  const auto per_key = static_cast<double>(shape.tokens_per_key);
  const double keys = rows.sequences * (rows.prefix + rows.tokens) / per_key;
  const double pairs = rows.sequences * pairs_of(rows.tokens, rows.prefix, kNoWindow) / per_key;
  const auto products = static_cast<double>(shape.heads * shape.width);
  const double rate = shape.key_bytes >= 2 * shape.width ? peaks.flops_16_bit : peaks.flops_fp8;
  return starts_us(peaks) + keys * static_cast<double>(shape.key_bytes) / peaks.bytes +
         2 * pairs * products / rate;
}

// Before attention and before the experts a kernel reads all streams and writes the mixed one; one
// behind each reads and writes all streams with its output (DeepSeek V4 inference code, hc_pre and
// hc_post). One stream alone is read and written once each time.
double hyper_connections(const DevicePeaks& peaks, std::int64_t streams, std::int64_t hidden,
                         double tokens) {
  const double rows = 2 * (3 * static_cast<double>(streams) + 2) - 4;
  return starts_us(peaks, 4) + 2 * rows * static_cast<double>(hidden) * tokens / peaks.bytes;
}

double compressed_attention(const DevicePeaks& peaks, const CompressedShape& shape,
                            const QueryRows& rows) {
  const auto window = static_cast<double>(shape.window);
  const double queries = rows.sequences * rows.tokens;
  double pairs = pairs_of(rows.tokens, rows.prefix, window);
  double keys = std::min(rows.prefix + rows.tokens, window + rows.tokens);
  if (shape.ratio > 0) {
    const auto ratio = static_cast<double>(shape.ratio);
    const double most = shape.picked > 0 ? static_cast<double>(shape.picked) * ratio : kNoWindow;
    const double compressed = pairs_of(rows.tokens, rows.prefix, most) / ratio;
    pairs += compressed;
    // Queries that pick other entries read them again only as far as there are so many.
    keys += std::min((rows.prefix + rows.tokens) / ratio, compressed);
  }
  const LatentSizes sizes{.kv_rank = static_cast<double>(shape.width), .rope = 0};
  const KernelFormat kv = shape.kv == CacheFormat::fp8 ? KernelFormat::fp8 : KernelFormat::bf16;
  return starts_us(peaks) + folded_us(peaks, kv, sizes, static_cast<double>(shape.heads), queries,
                                      rows.sequences * pairs, rows.sequences * keys);
}

}  // namespace ideal

}  // namespace headroom
