// Multi-head latent attention (DeepSeek V2 to V3.2, Kimi, GLM-5) and what followed it in
// DeepSeek V4: one wide key head, compressed outside a window.

#include <fmt/format.h>

#include <algorithm>

#include "hardware/llm/hf_reader.hpp"

namespace headroom {
namespace {

AttentionSpec read_latent_attention(const HfIntake& in) {
  AttentionSpec a;
  a.q_heads = in.text.integer({"num_attention_heads"});
  a.kv_heads = a.q_heads;
  MlaSpec mla;
  mla.kv_lora_rank = in.text.integer({"kv_lora_rank"});
  mla.q_lora_rank = in.text.integer_or({"q_lora_rank"}, 0);
  mla.qk_nope = in.text.integer({"qk_nope_head_dim"});
  mla.qk_rope = in.text.integer({"qk_rope_head_dim"});
  mla.v_head = in.text.integer({"v_head_dim"});
  a.head_dim = mla.qk_nope + mla.qk_rope;
  a.v_head_dim = mla.v_head;
  a.mla = mla;
  if (in.text.has("index_topk")) {
    a.indexer = IndexerSpec{in.text.integer({"index_n_heads"}), in.text.integer({"index_head_dim"}),
                            in.text.integer({"index_topk"})};
  }
  a.format = in.format();
  return a;
}

// The layers of linear_attn_config, counted from 1.
std::vector<bool> listed_layers(const HfFields& linear, std::string_view key, std::int64_t layers) {
  std::vector<bool> listed(static_cast<std::size_t>(layers), false);
  for (const std::int64_t layer : linear.integers(key)) {
    if (layer < 1 || layer > layers) {
      throw linear.error(key, fmt::format("layers from 1 to {}", layers));
    }
    listed[static_cast<std::size_t>(layer - 1)] = true;
  }
  return listed;
}

RecurrentSpec read_kimi_delta(const HfIntake& in, const HfFields& linear) {
  RecurrentSpec r;
  r.family = RecurrentSpec::Family::kimi_delta_attention;
  r.key_heads = r.value_heads = linear.integer({"num_heads"});
  r.key_head_dim = r.value_head_dim = linear.integer({"head_dim"});
  r.conv_kernel = linear.integer({"short_conv_kernel_size"});
  r.conv_dtype = in.model.dtype;
  r.state_dtype = Dtype::fp32;  // vLLM MambaStateDtypeCalculator.kda_state_dtype
  r.format = in.format();
  return r;
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
  a.extra_params = compressor_params(in.model.hidden, a.head_dim, ratio);
  if (ratio != 4) return;  // only the densest blocks are many enough to be searched
  const std::int64_t dim = in.text.integer({"index_head_dim"});
  const std::int64_t heads = in.text.integer({"index_n_heads"});
  a.indexer = IndexerSpec{heads, dim, in.text.integer({"index_topk"})};
  // IndexerSpec counts one matrix for the keys; here they come from a compressor of their own.
  a.extra_params += compressor_params(in.model.hidden, dim, ratio) - in.model.hidden * dim;
}

}  // namespace

void read_mla(HfIntake& in) {
  const std::int64_t layers = read_tables(in);
  const AttentionSpec attention = read_latent_attention(in);
  const std::vector<bool> experts = moe_layers(in, layers);
  LayerKind kind;
  for (const bool moe : experts) {
    kind = LayerKind{};
    kind.attention = attention;
    if (moe) {
      kind.moe = read_moe(in);
    } else {
      kind.mlp = read_mlp(in, read_ffn(in));
    }
    add_layers(in.model, kind, 1);
  }
  add_mtp(in, in.text.integer_or({"num_nextn_predict_layers"}, 0), kind, true);
}

void read_kimi_linear(HfIntake& in) {
  const std::int64_t layers = read_tables(in);
  const std::optional<HfFields> linear = in.text.object("linear_attn_config");
  if (!linear) in.text.missing("linear_attn_config");
  in.root.log().check_complete();
  const std::vector<bool> full = listed_layers(*linear, "full_attn_layers", layers);
  const std::vector<bool> experts = moe_layers(in, layers);
  const AttentionSpec attention = read_latent_attention(in);
  const RecurrentSpec recurrent = read_kimi_delta(in, *linear);
  for (std::size_t i = 0; i < full.size(); ++i) {
    LayerKind kind;
    if (full[i]) {
      kind.attention = attention;
    } else {
      kind.recurrent = recurrent;
    }
    if (experts[i]) {
      kind.moe = read_moe(in);
      kind.moe->router_bias = true;  // e_score_correction_bias of KimiMoEGate
    } else {
      kind.mlp = read_mlp(in, read_ffn(in));
    }
    add_layers(in.model, kind, 1);
  }
}

void read_deepseek_v4(HfIntake& in) {
  const std::int64_t layers = read_tables(in);
  const std::vector<std::int64_t> ratios = in.text.integers("compress_ratios");
  if (ratios.empty()) in.text.missing("compress_ratios");
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
    kind.extra_params = 2 * (2 + streams) * streams * (streams * in.model.hidden + 1);
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
