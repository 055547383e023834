#include "hardware/cost/layer_kernels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "hardware/cost/ticks.hpp"
#include "hardware/llm/kv_geometry.hpp"
#include "hardware/llm/parameters.hpp"
#include "sim/kernel/check.hpp"

namespace headroom {
namespace {

std::optional<ProductFormat> product_format(WeightFormat format) {
  switch (format.dtype) {
    case Dtype::fp16:
    case Dtype::bf16: return ProductFormat::bf16;
    case Dtype::fp8:
      return format.group == kFp8Block ? ProductFormat::fp8_block : ProductFormat::fp8;
    case Dtype::nvfp4: return ProductFormat::nvfp4;
    case Dtype::int8: return ProductFormat::int8;
    case Dtype::int4: return ProductFormat::int4_weights;
    default: return std::nullopt;
  }
}

std::optional<ExpertFormat> expert_format(WeightFormat format) {
  if (format.dtype == Dtype::mxfp4) return ExpertFormat::mxfp4_weights;
  const auto product = product_format(format);
  if (!product) return std::nullopt;
  switch (*product) {
    case ProductFormat::bf16: return ExpertFormat::bf16;
    case ProductFormat::fp8:
    case ProductFormat::int8: return ExpertFormat::fp8;
    case ProductFormat::fp8_block: return ExpertFormat::fp8_block;
    case ProductFormat::nvfp4: return ExpertFormat::nvfp4;
    case ProductFormat::int8_weights:
    case ProductFormat::int4_weights: return ExpertFormat::int4_weights;
  }
  return std::nullopt;
}

std::optional<RecurrentKind> recurrent_kind(RecurrentSpec::Family family) {
  switch (family) {
    case RecurrentSpec::Family::gated_delta_net: return RecurrentKind::gated_delta;
    case RecurrentSpec::Family::kimi_delta_attention: return RecurrentKind::kimi_delta;
    case RecurrentSpec::Family::mamba2: return RecurrentKind::mamba2;
    case RecurrentSpec::Family::mamba1:
    case RecurrentSpec::Family::lightning:
    case RecurrentSpec::Family::short_convolution: return std::nullopt;
  }
  return std::nullopt;
}

std::string missing_attention(const AttentionSpec& a) {
  if (!product_format(a.format)) {
    return fmt::format("attention weights in {}", name_of(a.format.dtype));
  }
  return "";
}

std::int64_t divided(std::int64_t whole, std::int64_t parts) {
  return std::max<std::int64_t>(1, (whole + parts - 1) / parts);
}

}  // namespace

std::vector<std::string> kernel_simplifications(const ModelSpec& model) {
  const auto is_unmeasured = [](const LayerKind& kind) {
    return kind.attention && !kind.attention->mla &&
           (kind.attention->indexer || !kind.attention->keeps_values);
  };
  if (std::ranges::none_of(model.kinds, is_unmeasured)) return {};
  return {
      fmt::format("{}: kernels of its sparse attention were not measured: timed as those of "
                  "DeepSeek-V3.2, by bytes and operations",
                  model.id)};
}

std::string kernels_missing(const ModelSpec& model) {
  for (const LayerKind& kind : model.kinds) {
    if (kind.attention) {
      if (auto why = missing_attention(*kind.attention); !why.empty()) return why;
    }
    if (kind.recurrent && !recurrent_kind(kind.recurrent->family)) return "this recurrent layer";
    if (kind.recurrent && !product_format(kind.recurrent->format)) {
      return fmt::format("recurrent layers in {}", name_of(kind.recurrent->format.dtype));
    }
    if (kind.mlp && !product_format(kind.mlp->format)) {
      return fmt::format("matrices in {}", name_of(kind.mlp->format.dtype));
    }
    if (kind.moe && !expert_format(kind.moe->format)) {
      return fmt::format("experts in {}", name_of(kind.moe->format.dtype));
    }
  }
  return product_format(model.head_format) ? "" : "this format of the output head";
}

LayerKernels::LayerKernels(const ModelSpec& model, const ParallelOptions& parallel, Dtype kv,
                           const KernelChoices& choices, KernelLibrary library)
    : library_(std::move(library)),
      choices_(choices),
      sharding_(parallel.sharding),
      hidden_(model.hidden),
      kv_(kv == Dtype::fp8 ? CacheFormat::fp8 : CacheFormat::bf16) {
  HEADROOM_CHECK(kernels_missing(model).empty(), "kernels that no table has");
  for (std::size_t k = 0; k < model.kinds.size(); ++k) {
    const LayerKind& kind = model.kinds[k];
    const double count = real(model.layers_of(k));
    if (kind.attention) add_attention(*kind.attention, count);
    if (kind.recurrent) add_recurrent(*kind.recurrent, count);
    if (kind.mlp) add_mlp(kind.mlp->ffn, kind.mlp->gated, kind.mlp->format, count);
    if (kind.moe) add_experts(*kind.moe, count);
    if (kind.residual_streams > 1) streams_.push_back({kind.residual_streams, count});
    const bool mixes = kind.attention || kind.recurrent;
    const bool feeds = kind.mlp || kind.moe;
    reduces_ += count * ((mixes ? 1 : 0) + (feeds ? 1 : 0));
    counts_.layers += model.layers_of(k);
    if (quantises(kind)) counts_.fp8_block += model.layers_of(k);
  }
  const auto ranks = static_cast<std::uint64_t>(sharding_.tensor);
  counts_.reduce_doublings =
      (reduces_ + norm_reduces_) * static_cast<double>(std::bit_width(ranks - 1));
  std::ranges::sort(windows_);
  windows_.erase(std::unique(windows_.begin(), windows_.end()), windows_.end());
  head_ = {*product_format(model.head_format), divided(output_rows(model), sharding_.tensor),
           model.embedding_width > 0 ? model.embedding_width : model.hidden, 1};
}

// Whether activations are quantised per group in a layer: Marlin takes them in 16 bits.
bool LayerKernels::quantises(const LayerKind& kind) const {
  const auto in_blocks = [&](WeightFormat format, ProductKernel kernel) {
    return format.group == kFp8Block && !library_.runs_marlin(ProductFormat::fp8_block, kernel);
  };
  return (kind.attention && in_blocks(kind.attention->format, choices_.backends.linear)) ||
         (kind.moe && in_blocks(kind.moe->format, choices_.backends.moe));
}

void LayerKernels::add_product(WeightFormat format, std::int64_t n, std::int64_t k, double count) {
  products_.push_back({*product_format(format), n, k, count});
}

void LayerKernels::add_mlp(std::int64_t ffn, bool gated, WeightFormat format, double count) {
  const std::int64_t width = divided(ffn, sharding_.tensor);
  add_product(format, (gated ? 2 : 1) * width, hidden_, count);
  add_product(format, hidden_, width, count);
}

void LayerKernels::add_attention(const AttentionSpec& a, double count) {
  if (a.mla) return add_latent(a, count);
  if (!a.keeps_values) return add_compressed(a, count);
  if (a.indexer) add_indexer(a, count);
  const std::int64_t heads = query_heads_per_rank(a, sharding_.tensor);
  const std::int64_t kv_heads = kv_heads_per_rank(a, sharding_.tensor);
  const std::int64_t kv_width =
      a.shares_kv ? 0 : kv_heads * (a.head_dim + (a.value_is_key ? 0 : a.v_head_dim));
  const std::int64_t query = heads * a.head_dim * (a.output_gate ? 2 : 1);
  if (a.q_lora_rank > 0) {
    add_product(a.format, a.q_lora_rank + kv_width, hidden_, count);
    add_product(a.format, query, a.q_lora_rank, count);
  } else {
    add_product(a.format, query + kv_width, hidden_, count);
  }
  add_product(a.format, hidden_, heads * a.v_head_dim, count);
  AttentionShape shape{.heads = heads,
                       .kv_heads = kv_heads,
                       .head_dim = a.head_dim,
                       // What an indexer picks are as many tokens as a window has.
                       .window = a.indexer ? a.indexer->top_k : a.window_tokens,
                       .kv = kv_};
  if (choices_.fp8_prefill) shape.query = kv_;
  shape.bidirectional = a.bidirectional;
  if (a.norms_all_heads) norm_reduces_ += count;
  if (shape.window > 0) windows_.push_back(shape.window);
  attentions_.push_back({shape, count});
}

void LayerKernels::add_latent(const AttentionSpec& a, double count) {
  const MlaSpec& mla = *a.mla;
  LatentShape shape{.heads = divided(a.q_heads, sharding_.tensor),
                    .hidden = hidden_,
                    .query_rank = mla.q_lora_rank,
                    .kv_rank = mla.kv_lora_rank,
                    .rope_dim = mla.qk_rope,
                    .nope_dim = mla.qk_nope,
                    .value_dim = mla.v_head,
                    .products = *product_format(a.format),
                    .kv = kv_};
  if (choices_.fp8_prefill) shape.query = kv_;
  counts_.latent += static_cast<std::int64_t>(count);
  if (a.indexer) {
    counts_.sparse += static_cast<std::int64_t>(count);
    sparses_.push_back(
        {{.latent = shape, .picked = a.indexer->top_k, .runs_indexer = !a.indexer->shared}, count});
  } else {
    latents_.push_back({shape, count});
  }
}

void LayerKernels::add_compressed(const AttentionSpec& a, double count) {
  const std::int64_t heads = query_heads_per_rank(a, sharding_.tensor);
  const std::int64_t groups = divided(a.o_groups, sharding_.tensor);
  add_product(a.format, a.q_lora_rank + a.head_dim, hidden_, count);
  add_product(a.format, heads * a.head_dim, a.q_lora_rank, count);
  add_product(a.format, a.o_lora_rank, divided(heads * a.v_head_dim, groups), count * real(groups));
  add_product(a.format, hidden_, groups * a.o_lora_rank, count);
  if (a.compressor_params > 0) {
    add_product(format_of(Dtype::bf16), divided(a.compressor_params, hidden_), hidden_, count);
  }
  if (a.extra_params > 0) {
    add_product(a.format, divided(a.extra_params, hidden_ * sharding_.tensor), hidden_, count);
  }
  if (a.indexer) add_indexer(a, count);
  const bool compresses = a.compress_ratio > 1;
  const CompressedShape shape{.heads = heads,
                              .width = a.head_dim,
                              .window = a.window_tokens,
                              .ratio = compresses ? a.compress_ratio : 0,
                              .picked = a.indexer ? a.indexer->top_k : 0,
                              .kv = kv_};
  windows_.push_back(shape.window);
  if (shape.picked > 0) windows_.push_back(shape.picked * shape.ratio);
  counts_.compressed += static_cast<std::int64_t>(count);
  compressed_.push_back({shape, count});
}

void LayerKernels::add_indexer(const AttentionSpec& a, double count) {
  const IndexerSpec& indexer = *a.indexer;
  if (indexer.shared) return;
  const std::int64_t from = a.q_lora_rank > 0 ? a.q_lora_rank : hidden_;
  add_product(a.format, indexer.heads * indexer.head_dim, from, count);
  add_product(a.format, indexer.head_dim + indexer.heads, hidden_, count);
  indexers_.push_back({{.heads = indexer.heads,
                        .width = indexer.head_dim,
                        .key_bytes = indexer_key_bytes(indexer),
                        .tokens_per_key = indexer.tokens_per_key * a.compress_ratio},
                       count});
}

void LayerKernels::add_recurrent(const RecurrentSpec& r, double count) {
  const std::int64_t tp = sharding_.tensor;
  const RecurrentShape shape{.kind = *recurrent_kind(r.family),
                             .key_heads = divided(r.key_heads, tp),
                             .key_dim = r.key_head_dim,
                             .value_heads = divided(r.value_heads, tp),
                             .value_dim = r.value_head_dim};
  const std::int64_t keys = shape.key_heads * shape.key_dim;
  const std::int64_t values = shape.value_heads * shape.value_dim;
  // Keys and queries, values and their gate, one or two scalars per head.
  const std::int64_t in =
      2 * keys + 2 * values + (shape.kind == RecurrentKind::mamba2 ? 1 : 2) * shape.value_heads;
  add_product(r.format, in, hidden_, count);
  add_product(r.format, hidden_, values, count);
  recurrents_.push_back({shape, count});
  counts_.recurrent += static_cast<std::int64_t>(count);
  const bool is_delta = r.family == RecurrentSpec::Family::gated_delta_net ||
                        r.family == RecurrentSpec::Family::kimi_delta_attention;
  if (is_delta) counts_.delta += static_cast<std::int64_t>(count);
}

void LayerKernels::add_experts(const MoeSpec& moe, double count) {
  ExpertShape shape{.format = *expert_format(moe.format),
                    .kernel = choices_.backends.moe,
                    .hidden = moe.latent > 0 ? moe.latent : hidden_,
                    .intermediate = moe.ffn,
                    .top_k = moe.top_k,
                    .experts = moe.experts};
  if (shape.format == ExpertFormat::mxfp4_weights && choices_.backends.mxfp8) {
    shape.format = ExpertFormat::mxfp4_mxfp8;
  }
  const std::int64_t ranks = sharding_.expert_ranks();
  (sharding_.expert_parallel ? shape.expert_parallel : shape.tensor_parallel) = ranks;
  experts_.push_back({shape, count});
  counts_.expert += static_cast<std::int64_t>(count);
  add_product(format_of(Dtype::bf16), moe.experts, hidden_, count);  // router
  if (moe.shared_ffn > 0) add_mlp(moe.shared_ffn, moe.gated, moe.shared_format, count);
  if (moe.latent > 0) {
    add_product(moe.shared_format, moe.latent, hidden_, count);
    add_product(moe.shared_format, hidden_, moe.latent, count);
  }
  if (sharding_.data > 1) all_to_alls_ += count;
}

KernelTime LayerKernels::products(double tokens) const {
  KernelTime sum;
  for (const Product& p : products_) {
    sum += library_.linear(p.format, tokens, p.n, p.k, choices_.backends.linear).times(p.count);
  }
  return sum;
}

KernelTime LayerKernels::experts(double tokens) const {
  KernelTime sum;
  for (const Experts& e : experts_) sum += library_.experts(e.shape, tokens).times(e.count);
  if (all_to_alls_ > 0) {
    // vLLM's default: every rank gathers the tokens of all, and gets back its own sums.
    const double elements = tokens * real(hidden_);
    const std::int64_t ranks = sharding_.expert_ranks();
    sum += library_.nccl(Collective::all_gather, ranks, elements).times(all_to_alls_);
    sum += library_.nccl(Collective::reduce_scatter, ranks, elements).times(all_to_alls_);
  }
  return sum;
}

KernelTime LayerKernels::reduces(double tokens) const {
  if (sharding_.tensor == 1) return {};
  KernelTime sum =
      library_.all_reduce(sharding_.tensor, tokens * real(hidden_), true).times(reduces_);
  // Tensor ranks add up the variances of query and key, two numbers of 32 bit each token (vLLM:
  // MiniMaxText01RMSNormTP).
  constexpr double kElements = 4;
  if (norm_reduces_ > 0) {
    sum += library_.all_reduce(sharding_.tensor, tokens * kElements, true).times(norm_reduces_);
  }
  return sum;
}

KernelTime LayerKernels::prefill(double sequences, double tokens, double prefix) const {
  KernelTime sum;
  for (const auto& a : attentions_) {
    // Who sees what follows, too, has as many pairs as behind half as many tokens again.
    const double seen = a.shape.bidirectional ? prefix + tokens / 2 : prefix;
    sum += library_.prefill_attention(a.shape, sequences, tokens, seen).times(a.count);
  }
  for (const auto& l : latents_) {
    sum += library_.latent_prefill(l.shape, sequences, tokens, prefix).times(l.count);
  }
  for (const auto& s : sparses_) {
    sum += library_.sparse_prefill(s.shape, sequences, tokens, prefix).times(s.count);
  }
  for (const auto& c : compressed_) {
    sum += library_.compressed_prefill(c.shape, sequences, tokens, prefix).times(c.count);
  }
  for (const auto& i : indexers_) {
    sum += library_.index_prefill(i.shape, sequences, tokens, prefix).times(i.count);
  }
  for (const auto& r : recurrents_) {
    sum += library_.recurrent_prefill(r.shape, sequences, tokens).times(r.count);
  }
  return sum;
}

KernelTime LayerKernels::decode(double rows, double context) const {
  KernelTime sum;
  for (const auto& a : attentions_) {
    sum += library_.decode_attention(a.shape, rows, context).times(a.count);
  }
  for (const auto& l : latents_) {
    sum += library_.latent_decode(l.shape, rows, context).times(l.count);
  }
  for (const auto& s : sparses_) {
    sum += library_.sparse_decode(s.shape, rows, context).times(s.count);
  }
  for (const auto& c : compressed_) {
    sum += library_.compressed_decode(c.shape, rows, context).times(c.count);
  }
  for (const auto& i : indexers_) {
    sum += library_.index_decode(i.shape, rows, context).times(i.count);
  }
  for (const auto& r : recurrents_) {
    sum += library_.recurrent_decode(r.shape, rows).times(r.count);
  }
  return sum;
}

KernelTime LayerKernels::streams(double tokens) const {
  KernelTime sum;
  for (const auto& s : streams_) {
    sum += library_.hyper_connections(s.shape, hidden_, tokens).times(s.count);
  }
  return sum;
}

KernelTime LayerKernels::head(double rows) const {
  return library_.linear(head_.format, rows, head_.n, head_.k);
}

}  // namespace headroom
