// Construction of RooflineCost: from geometry, data sheet and fitted shares to whole ticks.

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "hardware/cost/expert_share.hpp"
#include "hardware/cost/interconnect.hpp"
#include "hardware/cost/roofline.hpp"
#include "hardware/cost/ticks.hpp"
#include "hardware/llm/kv_geometry.hpp"
#include "hardware/llm/parameters.hpp"
#include "sim/kernel/det_math.hpp"
#include "sim/kernel/errors.hpp"

namespace headroom {
namespace {

constexpr std::int64_t kTableTokens = 16384;

double roofline_seconds(RooflineShape shape, double memory, double compute) {
  switch (shape) {
    case RooflineShape::larger: return std::max(memory, compute);
    case RooflineShape::sum: return memory + compute;
    case RooflineShape::smooth: break;
  }
  return det::sqrt(memory * memory + compute * compute);
}

// Sum of `value(kind)` over the layers.
template <typename Value>
std::int64_t over_layers(const ModelSpec& m, Value value) {
  std::int64_t sum = 0;
  for (std::size_t k = 0; k < m.kinds.size(); ++k) sum += m.layers_of(k) * value(m.kinds[k]);
  return sum;
}

// Bytes of activations that small kernels move per token: norms, rotary embedding, gated products
// (FIDELITY.md 1: 2 L (3 I + 6 H + 4 (nq + nk) hd), 16-bit), per rank.
double elementwise_bytes(const ModelSpec& m, std::int64_t tp) {
  const std::int64_t mlp = over_layers(m, [](const LayerKind& kind) {
    std::int64_t width = kind.mlp ? kind.mlp->ffn : 0;
    if (kind.moe) width += kind.moe->top_k * kind.moe->ffn + kind.moe->shared_ffn;
    return width;
  });
  const std::int64_t rest = over_layers(m, [&](const LayerKind& kind) {
    std::int64_t heads = 0;
    if (kind.attention) {
      const AttentionSpec& a = *kind.attention;
      const std::int64_t keys =
          a.mla ? a.mla->kv_lora_rank + a.mla->qk_rope : kv_heads_per_rank(a, tp) * a.head_dim;
      heads = query_heads_per_rank(a, tp) * a.head_dim + keys;
    }
    if (kind.recurrent)
      heads = 2 * kind.recurrent->value_heads * kind.recurrent->value_head_dim / tp;
    return 6 * m.hidden + 4 * heads;
  });
  return 2.0 * (3.0 * real(mlp) / real(tp) + real(rest));
}

// What attention reads and multiplies per pair of a query and a context token, over all layers.
struct ReachSums {
  ByteCount kv_bytes = 0;
  std::int64_t latent_products = 0;  // of MLA in decode, absorbed; near Hopper's ridge at 128 heads
  std::int64_t pair_products = 0;
};
struct AttentionSums {
  std::int64_t layers = 0;
  std::map<TokenCount, ReachSums> by_window;  // 0: layers that see everything
  ByteCount state_bytes = 0;                  // recurrent states of a sequence
};

AttentionSums attention_sums(const ModelSpec& m, const RooflineOptions& options) {
  const std::int64_t tp = options.parallel.sharding.tensor;
  AttentionSums sums;
  for (std::size_t k = 0; k < m.kinds.size(); ++k) {
    const LayerKind& kind = m.kinds[k];
    const std::int64_t n = m.layers_of(k);
    if (kind.recurrent) sums.state_bytes += n * state_bytes(*kind.recurrent, tp);
    if (!kind.attention) continue;
    AttentionSpec a = *kind.attention;
    a.shares_kv = false;  // shared entries are still read
    const std::int64_t heads = query_heads_per_rank(a, tp);
    sums.layers += n;
    // Entries of whole windows beside compressed ones are another mechanism
    // (roofline_simplifications).
    ReachSums& reach = sums.by_window[a.compress_ratio > 1 ? 0 : a.window_tokens];
    reach.kv_bytes += n * kv_bytes_per_token(a, {options.kv}, tp);
    const std::int64_t latent = a.mla ? 2 * a.mla->kv_lora_rank + a.mla->qk_rope : 0;
    const std::int64_t values = a.mla ? a.mla->v_head : a.v_head_dim;
    reach.latent_products += n * heads * latent;
    const std::int64_t width = latent > 0 && options.absorbs_prompts ? latent : a.head_dim + values;
    // Who sees what follows, too, has twice the pairs.
    reach.pair_products += n * (a.bidirectional ? 2 : 1) * heads * width;
  }
  return sums;
}

// Multiply-adds per prompt token and rank of layers with a state, beside their matrices. Kernels
// cut a prompt into chunks of C tokens: products of tokens with each other within a chunk, and of
// a chunk with the state. Mamba-2 (state space duality, Dao and Gu 2024, section 6; C = 256 in
// mamba_ssm), delta networks as in flash-linear-attention (C = 64: keys with keys, queries with
// keys, the inverse applied to keys and values, scores with values; the state is read twice and
// written once). Mamba-1 has no products: its scan goes by the state's elements.
std::int64_t recurrent_products(const RecurrentSpec& r) {
  using Family = RecurrentSpec::Family;
  constexpr std::int64_t kMambaChunk = 256;
  constexpr std::int64_t kDeltaChunk = 64;
  const std::int64_t state = r.key_head_dim * r.value_head_dim * r.value_heads;
  switch (r.family) {
    case Family::mamba1: return 3 * state;
    case Family::mamba2:
      return kMambaChunk * (r.key_head_dim * r.key_heads + r.value_head_dim * r.value_heads) +
             2 * state;
    case Family::lightning:  // scores and values within a chunk, the state read and written
      return kDeltaChunk * (r.key_head_dim + r.value_head_dim) * r.value_heads + 2 * state;
    case Family::gated_delta_net:
    case Family::kimi_delta_attention:
      return kDeltaChunk * (3 * r.key_head_dim + 2 * r.value_head_dim) * r.value_heads + 3 * state;
    case Family::short_convolution: break;
  }
  return 0;
}

std::int64_t recurrent_products(const ModelSpec& model, std::int64_t tp) {
  return over_layers(model,
                     [](const LayerKind& kind) {
                       return kind.recurrent ? recurrent_products(*kind.recurrent) : 0;
                     }) /
         tp;
}

}  // namespace

RooflineCost::RooflineCost(const ModelSpec& model, const DeviceSpec& device,
                           const Calibration& calibration, const RooflineOptions& options)
    : tiles_(calibration),
      shape_(calibration.shape),
      capture_sizes_(calibration.pads_batches ? options.capture_sizes
                                              : std::vector<std::int32_t>()) {
  check_fits(calibration, device);
  if (!std::is_sorted(capture_sizes_.begin(), capture_sizes_.end())) {
    throw StepCostError("capture sizes must ascend");
  }
  set_products(model, device, calibration, options);
  set_attention(model, device, calibration, options);
  overheads_ = overheads_of(model, device, calibration, options.parallel);
  check_largest_step(options.limits);
  fill_tables(options.limits);
}

void RooflineCost::set_products(const ModelSpec& model, const DeviceSpec& device,
                                const Calibration& calibration, const RooflineOptions& options) {
  // All stages of a pipeline one behind the other.
  Sharding chain = options.parallel.sharding;
  chain.pipeline = 1;
  const std::int64_t tp = chain.tensor;
  const double bandwidth = device.bandwidth_bytes_per_s * calibration.weight_bandwidth_share;
  const double flops =
      matrix_flops(device, main_dtype(model), calibration.products) * calibration.compute_share;
  const ModelParts rank = rank_parts(model, chain);
  const auto outside = {ModelPart::embedding, ModelPart::lm_head, ModelPart::experts,
                        ModelPart::expert_bias, ModelPart::vision};

  ByteCount fixed_bytes = rank.bytes_total();  // what every step reads, whatever its tokens
  std::int64_t fixed = rank.params_total();
  for (const ModelPart part : outside) {
    fixed_bytes -= rank.bytes_of(part);
    fixed -= rank.params_of(part);
  }
  // The host's part of the bytes is read at its own rate.
  const auto seconds = [&](ByteCount bytes, ByteCount of_host) {
    return real(bytes - of_host) / bandwidth + real(of_host) / options.host_bytes_per_s;
  };
  linear_model_.fixed_bytes_s = seconds(fixed_bytes, std::min(options.host.always, fixed_bytes));
  double active = real(fixed);
  if (const MoeSpec* moe = experts_of(model)) {
    linear_model_.log_missed = det::log(1.0 - real(moe->top_k) / real(moe->experts));
    linear_model_.expert_reach = calibration.expert_reach;
    const ByteCount bytes =
        rank.bytes_of(ModelPart::experts) + rank.bytes_of(ModelPart::expert_bias);
    linear_model_.expert_bytes_s = seconds(bytes, std::min(options.host.experts, bytes));
    const std::int64_t params =
        rank.params_of(ModelPart::experts) + rank.params_of(ModelPart::expert_bias);
    // As if it were as many parameters more as its products take longer.
    const double reached =
        real(params) * real(moe->top_k) / real(moe->experts) / calibration.expert_compute_share;
    const std::int64_t ranks = chain.expert_ranks();
    const bool whole = chain.expert_parallel && ranks > 1;
    if (whole || chain.data > 1) {
      linear_model_.expert_flops_s_per_token = 2.0 * reached / flops;
    } else if (tiles_.has_experts()) {
      linear_model_.tiled_flops_s_per_token = 2.0 * reached / flops;
      linear_model_.top_k = real(moe->top_k);
      linear_model_.experts = real(moe->experts);
    } else {
      active += reached;
    }
    if (whole) {
      linear_model_.draws_per_token = real(moe->top_k) / real(ranks);
      linear_model_.most_per_token =
          real(std::min<std::int64_t>(moe->top_k, (moe->experts + ranks - 1) / ranks));
      linear_model_.most_deviations = largest_of_normals(ranks);
      linear_model_.load_factor = options.parallel.expert_load_factor;
    }
  }
  linear_model_.flops_s_per_token = 2.0 * active / flops;

  set_head(model, device, calibration, options);

  const double activation_scale = real(activation_bytes(model.dtype)) / 2.0;
  elementwise_step_ = ticks_from_ns(calibration.layer_ns * real(model.layers()) +
                                    calibration.expert_layer_ns * real(layers_with_experts(model)));
  elementwise_token_ =
      ticks_from_seconds(elementwise_bytes(model, tp) * activation_scale /
                         (device.bandwidth_bytes_per_s * calibration.elementwise_bandwidth_factor));
}

void RooflineCost::set_head(const ModelSpec& model, const DeviceSpec& device,
                            const Calibration& calibration, const RooflineOptions& options) {
  const std::int64_t tp = options.parallel.sharding.tensor;
  const double bandwidth = device.bandwidth_bytes_per_s * calibration.weight_bandwidth_share;
  // The table of the head is shared out over the ranks.
  const WeightFormat head = model.tie_embeddings ? model.embedding_format : model.head_format;
  const Dtype head_dtype = is_quantised(head.dtype)     ? head.dtype
                           : model.dtype == Dtype::fp32 ? Dtype::fp32
                                                        : Dtype::fp16;
  const double head_params = real(output_rows(model)) * real(model.hidden) / real(tp);
  const ByteCount head_bytes = stored_bytes(head, output_rows(model) * model.hidden);
  head_model_.bytes_s = options.host.head > 0 ? real(head_bytes) / options.host_bytes_per_s
                                              : real(head_bytes) / real(tp) / bandwidth;
  head_model_.flops_s_per_row =
      2.0 * head_params /
      (matrix_flops(device, head_dtype, calibration.products) * calibration.compute_share);
  head_model_.fixed_s = calibration.sampler_ns * 1e-9;
  head_model_.row_s =
      calibration.sampler_passes * real(output_rows(model)) * 4.0 / device.bandwidth_bytes_per_s;
}

void RooflineCost::set_attention(const ModelSpec& model, const DeviceSpec& device,
                                 const Calibration& calibration, const RooflineOptions& options) {
  const AttentionSums sums = attention_sums(model, options);
  const double layers = real(sums.layers);
  const double mix = calibration.mixed_decode_factor;
  for (const auto& [window, reach] : sums.by_window) {
    const double kv_seconds =
        real(reach.kv_bytes) * (1 - options.host.kv_share) /
            (device.bandwidth_bytes_per_s * calibration.kv_bandwidth_share) +
        real(reach.kv_bytes) * options.host.kv_share / options.host_bytes_per_s;
    // Ranks of one context read a part of it each, with the queries of all of them: the products of
    // latent attention stay as many. What they exchange is not priced.
    const double own_seconds = kv_seconds / real(options.parallel.sharding.context);
    double context_seconds = own_seconds;
    if (reach.latent_products > 0) {
      // Queries of one token are vectors, too.
      const double share = calibration.vector_compute_share > 0 ? calibration.vector_compute_share
                                                                : calibration.compute_share;
      const double flop_seconds = 2.0 * real(reach.latent_products) / (device.fp16_flops * share);
      context_seconds = det::sqrt(own_seconds * own_seconds + flop_seconds * flop_seconds);
    }
    const double pair_seconds =
        2.0 * real(reach.pair_products) / (device.fp16_flops * calibration.prefill_compute_share);
    const Reach ticks{.window = window,
                      .context = ticks_from_seconds(context_seconds),
                      .mixed_context = ticks_from_seconds(mix * context_seconds),
                      .pair_twice = ticks_from_seconds(pair_seconds / 2.0),
                      .prefill_context = ticks_from_seconds(kv_seconds)};
    if (window == 0)
      whole_ = ticks;
    else
      windows_.push_back(ticks);
  }
  // A state is read and written once per step.
  const double state_ns = 2.0e9 * real(sums.state_bytes) /
                          (device.bandwidth_bytes_per_s * calibration.kv_bandwidth_share);

  const double floor_ns = calibration.attention_floor_ns * layers;
  const double row_ns = calibration.attention_row_ns * layers + state_ns;
  recurrent_token_ =
      ticks_from_seconds(2.0 * real(recurrent_products(model, options.parallel.sharding.tensor)) /
                         (device.fp16_flops * calibration.prefill_compute_share));
  attention_floor_ = ticks_from_ns(floor_ns);
  attention_row_ = ticks_from_ns(row_ns);
  mixed_floor_ = ticks_from_ns(mix * floor_ns);
  mixed_row_ = ticks_from_ns(mix * row_ns);
}

// Tokens of all ranks, times the load of the busiest rank over the mean: 1 where all have a part
// of each expert.
double RooflineCost::busiest_share(TokenCount all_tokens) const {
  if (linear_model_.draws_per_token == 0) return real(all_tokens);
  const double mean = linear_model_.draws_per_token * real(all_tokens);
  const double busiest =
      std::min(linear_model_.load_factor * (mean + linear_model_.most_deviations * det::sqrt(mean)),
               linear_model_.most_per_token * real(all_tokens));
  return real(all_tokens) * (busiest / mean);
}

RooflineCost::LinearTicks RooflineCost::compute_linear(std::int64_t tokens,
                                                       TokenCount all_tokens) const {
  double memory = linear_model_.fixed_bytes_s;
  double compute = linear_model_.flops_s_per_token * tiles_.tokens_worked(real(tokens));
  if (linear_model_.expert_bytes_s > 0) {
    double reads =
        share_of_experts(linear_model_.log_missed, all_tokens, linear_model_.expert_reach);
    if (linear_model_.experts > 0) {
      const LinearModel& m = linear_model_;
      compute += m.tiled_flops_s_per_token *
                 tiles_.expert_tokens_worked(real(tokens), reads, m.top_k, m.experts);
      reads = tiles_.experts_read(real(tokens), reads, m.top_k, m.experts);
    }
    memory += linear_model_.expert_bytes_s * reads;
  }
  if (linear_model_.expert_flops_s_per_token > 0 && all_tokens > 0) {
    compute += linear_model_.expert_flops_s_per_token * busiest_share(all_tokens);
  }
  const double memory_squared = memory * memory;
  const double square = memory_squared + compute * compute;
  if (square == 0) return {};
  const Ticks total = ticks_from_seconds(roofline_seconds(shape_, memory, compute));
  LinearTicks ticks;
  ticks.memory = static_cast<Ticks>(real(total) * (memory_squared / square));
  ticks.compute = total - ticks.memory;
  return ticks;
}

Ticks RooflineCost::compute_head(std::int64_t rows) const {
  const double compute = head_model_.flops_s_per_row * tiles_.tokens_worked(real(rows));
  const double product = roofline_seconds(shape_, head_model_.bytes_s, compute);
  return ticks_from_seconds(product + head_model_.fixed_s + head_model_.row_s * real(rows));
}

void RooflineCost::fill_tables(const CostLimits& limits) {
  const auto size = [](std::int64_t largest) {
    return static_cast<std::size_t>(std::min(largest, kTableTokens)) + 1;
  };
  linear_table_.reserve(size(limits.max_step_tokens));
  for (std::size_t i = 0; i < size(limits.max_step_tokens); ++i) {
    linear_table_.push_back(
        compute_linear(static_cast<std::int64_t>(i), static_cast<TokenCount>(i)));
  }
  head_table_.reserve(size(limits.max_num_seqs));
  for (std::size_t i = 0; i < size(limits.max_num_seqs); ++i) {
    head_table_.push_back(compute_head(static_cast<std::int64_t>(i)));
  }
  decode_table_.reserve(size(limits.max_num_seqs));
  for (std::size_t i = 0; i < size(limits.max_num_seqs); ++i) {
    const CostTerms terms = compute_decode(static_cast<std::int64_t>(i), 0);
    decode_table_.push_back({terms, terms.sum()});
  }
}

void RooflineCost::check_largest_step(const CostLimits& limits) const {
  if (limits.max_num_seqs < 1 || limits.max_step_tokens < 1 || limits.max_model_len < 1) {
    throw StepCostError("max_num_seqs, tokens per step and max_model_len: at least 1");
  }
  const double rows = real(limits.max_num_seqs);
  const double tokens = real(limits.max_step_tokens);
  const double length = real(limits.max_model_len);
  double context = rows * length;
  if (limits.max_context_tokens > 0) context = std::min(context, real(limits.max_context_tokens));
  // q (2 ctx + q) with ctx + q <= length is at most 2 length q, summed over the chunks of the step.
  const LinearTicks products = compute_linear(limits.max_step_tokens, limits.max_step_tokens);
  Reach all = whole_;  // windows as if they were none
  for (const Reach& reach : windows_) {
    all.context += reach.context;
    all.mixed_context += reach.mixed_context;
    all.pair_twice += reach.pair_twice;
    all.prefill_context += reach.prefill_context;
  }
  const double ticks =
      real(products.memory) + real(products.compute) + real(compute_head(limits.max_num_seqs)) +
      real(elementwise_step_) + real(elementwise_token_) * tokens + overheads_.sum(rows, tokens) +
      real(attention_floor_) + real(std::max(attention_floor_, mixed_floor_)) +
      real(std::max(attention_row_, mixed_row_)) * rows +
      real(std::max(all.context, all.mixed_context)) * context +
      real(all.pair_twice) * 2.0 * length * tokens + real(all.prefill_context) * context;
  if (!(ticks < real(kMaxStepTicks))) {
    throw StepCostError(
        fmt::format("the largest step ({} sequences, {} tokens, contexts up to {}) "
                    "would take longer "
                    "than 73 minutes; lower max_num_seqs, the tokens per step or max_model_len",
                    limits.max_num_seqs, limits.max_step_tokens, limits.max_model_len));
  }
}

std::vector<std::string> run_simplifications(const ModelSpec& model) {
  std::vector<std::string> notes;
  std::int64_t chunked = 0;
  for (std::size_t k = 0; k < model.kinds.size(); ++k) {
    const LayerKind& kind = model.kinds[k];
    if (!kind.attention) continue;
    if (kind.attention->chunked) chunked += model.layers_of(k);
  }
  if (chunked > 0) {
    notes.push_back(
        fmt::format("{}: {} of {} layers attend within chunks; a run treats them as windows of one "
                    "chunk, the most they read",
                    model.id, chunked, model.layers()));
  }
  return notes;
}

std::vector<std::string> roofline_simplifications(const ModelSpec& model) {
  const auto is_sparse = [](const LayerKind& kind) {
    return kind.attention && (kind.attention->compress_ratio > 1 || kind.attention->indexer);
  };
  if (std::ranges::none_of(model.kinds, is_sparse)) return {};
  return {fmt::format("{}: sparse attention is timed as if it read every stored entry", model.id)};
}

}  // namespace headroom
