// Multi-head latent attention (DeepSeek V2 to V3.2, Kimi, GLM-5) and what followed it in
// DeepSeek V4: one wide key head, compressed outside a window.

#include <fmt/format.h>

#include <algorithm>

#include "hardware/llm/hf_reader.hpp"

namespace headroom {
namespace {

// MiniMax-M3 picks whole blocks of keys, scored by heads that share one key without a value, in
// the cache's 16 bit (vLLM models/minimax_m3/common/indexer.py: MiniMaxM3IndexerCache).
std::optional<IndexerSpec> read_block_indexer(const HfIntake& in) {
  IndexerSpec indexer;
  const auto block = [](const HfFields& fields, std::string_view top, std::string_view size) {
    return fields.bounded(top, 16, kHfLargest) * fields.bounded(size, 128, kHfLargest);
  };
  if (const std::optional<HfFields> sparse = in.text.object("sparse_attention_config")) {
    indexer.heads = sparse->integer({"sparse_num_index_heads"});
    indexer.head_dim = sparse->integer({"sparse_index_dim"});
    indexer.top_k = block(*sparse, "sparse_topk_blocks", "sparse_block_size");
  } else if (in.text.has("index_topk_blocks")) {
    indexer.heads = in.text.integer({"index_n_heads"});
    indexer.head_dim = in.text.integer({"index_head_dim"});
    indexer.top_k = block(in.text, "index_topk_blocks", "index_block_size");
  } else {
    return std::nullopt;
  }
  indexer.key_bytes = indexer.head_dim * activation_bytes(in.model.dtype);
  return indexer;
}

// Two matrices to `width` with their gate's, and a bias per position in the block. Blocks of 4
// overlap, so the matrices are twice as wide (DeepSeek V4 inference code, Compressor).
std::int64_t compressor_params(std::int64_t hidden, std::int64_t width, std::int64_t ratio) {
  const std::int64_t overlap = ratio == 4 ? 2 : 1;
  return overlap * (2 * hidden * width + ratio * width) + width;
}

AttentionSpec read_v4_attention(const HfIntake& in) {
  AttentionSpec a = read_attention(in);
  a.v_head_dim = a.head_dim;
  a.rotary_dim = in.text.bounded("qk_rope_head_dim", 64, a.head_dim);
  a.q_lora_rank = in.text.integer({"q_lora_rank"});
  a.o_lora_rank = in.text.integer({"o_lora_rank"});
  a.o_groups = in.text.integer({"o_groups"});
  a.value_is_key = true;
  a.keeps_values = false;
  a.sinks = true;
  a.window_tokens = in.text.integer({"sliding_window"});
  return a;
}

void compress(const HfIntake& in, std::int64_t ratio, AttentionSpec& a) {
  if (ratio == 0) return;
  a.compress_ratio = ratio;
  a.compressor_params = compressor_params(in.model.hidden, a.head_dim, ratio);
  if (ratio != 4) return;  // only the densest blocks are many enough to be searched
  const std::int64_t dim = in.text.integer({"index_head_dim"});
  const std::int64_t heads = in.text.integer({"index_n_heads"});
  a.indexer =
      IndexerSpec{.heads = heads, .head_dim = dim, .top_k = in.text.integer({"index_topk"})};
  // IndexerSpec counts one matrix for the keys; here they come from a compressor of their own.
  a.compressor_params += compressor_params(in.model.hidden, dim, ratio) - in.model.hidden * dim;
}

// One per layer: listed, or by Transformers' words for them.
std::vector<std::int64_t> read_compress_ratios(const HfIntake& in) {
  std::vector<std::int64_t> ratios = in.text.integers("compress_ratios");
  if (!ratios.empty()) return ratios;
  const std::optional<HfFields> rates = in.text.object("compress_rates");
  for (const std::string& word : in.text.texts("layer_types")) {
    const std::int64_t usual = word == "compressed_sparse_attention"    ? 4
                               : word == "heavily_compressed_attention" ? 128
                                                                        : 0;
    if (usual == 0 && word != "sliding_attention") {
      throw in.text.error("layer_types",
                          "each compressed_sparse_attention, heavily_compressed_attention or "
                          "sliding_attention");
    }
    ratios.push_back(usual > 0 && rates ? rates->integer_or({word}, usual) : usual);
  }
  if (ratios.empty()) in.text.missing("compress_ratios");
  return ratios;
}

}  // namespace

AttentionSpec read_latent_attention(const HfIntake& in) {
  AttentionSpec a;
  a.q_heads = in.text.integer({"num_attention_heads"});
  a.kv_heads = a.q_heads;
  MlaSpec mla;
  mla.kv_lora_rank = in.text.integer({"kv_lora_rank"});
  mla.q_lora_rank = in.text.integer_or({"q_lora_rank"}, 0);
  mla.qk_nope = in.text.integer({"qk_nope_head_dim"});
  if (!in.text.has("qk_rope_head_dim")) in.text.missing("qk_rope_head_dim");
  mla.qk_rope = in.text.integer_or({"qk_rope_head_dim"}, 0);  // 0: no rotary part (GLM-5.3)
  mla.v_head = in.text.integer({"v_head_dim"});
  a.head_dim = mla.qk_nope + mla.qk_rope;
  a.v_head_dim = mla.v_head;
  a.mla = mla;
  a.format = in.format();
  return a;
}

std::optional<IndexerSpec> read_indexer(const HfIntake& in) {
  if (!in.text.has("index_topk")) return read_block_indexer(in);
  IndexerSpec indexer;
  indexer.heads = in.text.integer({"index_n_heads"});
  indexer.head_dim = in.text.integer({"index_head_dim"});
  indexer.top_k = in.text.integer({"index_topk"});
  indexer.tokens_per_key = std::max<std::int64_t>(1, in.text.integer_or({"index_kpool"}, 1));
  return indexer;
}

// GLM-5.2: listed, or the first `index_skip_topk_offset` layers and every n-th from there choose.
bool shares_indexer(const HfIntake& in, std::int64_t layer) {
  const std::vector<std::string> types = in.text.texts("indexer_types");
  if (layer < std::ssize(types)) return types[static_cast<std::size_t>(layer)] == "shared";
  const std::int64_t every = in.text.integer_or({"index_topk_freq"}, 1);
  const std::int64_t first = in.text.integer_or({"index_skip_topk_offset"}, 0);
  return every > 1 && layer >= first && (layer - first + 1) % every != 0;
}

void read_deepseek_v4(HfIntake& in) {
  const std::int64_t layers = read_tables(in);
  const std::vector<std::int64_t> ratios = read_compress_ratios(in);
  const AttentionSpec plain = read_v4_attention(in);
  const std::int64_t streams = in.text.bounded("hc_mult", 4, 64);
  const MoeSpec moe = read_moe(in);
  in.root.log().check_complete();
  if (std::ssize(ratios) < layers) {
    throw in.text.error("compress_ratios", fmt::format("one per layer ({})", layers));
  }
  LayerKind kind;
  for (std::size_t i = 0; i < static_cast<std::size_t>(layers); ++i) {
    if (ratios[i] != 0 && ratios[i] != 4 && ratios[i] != 128) {
      throw in.text.error("compress_ratios", "each 0, 4 or 128");
    }
    kind = LayerKind{};
    kind.attention = plain;
    compress(in, ratios[i], *kind.attention);
    kind.moe = moe;
    // Hyper-connections of attention and experts: from all streams to the weights that mix them.
    kind.extra_params = hyper_connection_params(in, streams);
    kind.residual_streams = streams;
    kind.extra_params += kind.attention->head_dim;  // norm of the key
    add_layers(in.model, kind, 1);
  }
  in.note(
      "DeepSeek V4: compressors, hyper-connections and hash layers follow the published code; "
      "their activations and buffers are an estimate");
  LayerKind last = kind;
  last.attention = plain;
  add_mtp(in, in.text.integer_or({"num_nextn_predict_layers"}, 0), last, false);
}

}  // namespace headroom
