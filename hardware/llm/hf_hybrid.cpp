// Models in which all or most layers keep a state instead of keys and values.

#include <fmt/format.h>

#include <algorithm>

#include "hardware/llm/hf_reader.hpp"

namespace headroom {
namespace {

using RecurrentFamily = RecurrentSpec::Family;

// vLLM's MambaStateDtypeCalculator: the convolution in the model's dtype, the recurrence as the
// config declares, else in `fallback`.
void set_state_dtypes(const HfIntake& in, Dtype fallback, RecurrentSpec& r) {
  r.conv_dtype = in.model.dtype;
  r.state_dtype = fallback;
  for (const std::string_view key : {"mamba_ssm_cache_dtype", "mamba_ssm_dtype"}) {
    const std::string name = in.text.text(key);
    if (name.empty() || name == "auto") continue;
    try {
      r.state_dtype = parse_dtype(name);
    } catch (const ConfigError&) {
      throw in.text.error(key, "one of float32, float16, bfloat16");
    }
    return;
  }
}

LayerKind recurrent_layer(const RecurrentSpec& r, std::int64_t norms) {
  LayerKind kind;
  kind.recurrent = r;
  kind.norms = norms;
  return kind;
}

RecurrentSpec read_delta_net(const HfIntake& in) {
  RecurrentSpec r;
  r.family = RecurrentFamily::gated_delta_net;
  r.key_heads = in.text.integer({"linear_num_key_heads"});
  r.value_heads = in.text.integer({"linear_num_value_heads"});
  r.key_head_dim = in.text.integer({"linear_key_head_dim"});
  r.value_head_dim = in.text.integer({"linear_value_head_dim"});
  r.conv_kernel = in.text.integer({"linear_conv_kernel_dim"});
  set_state_dtypes(in, in.model.dtype, r);
  r.format = in.format();
  return r;
}

// Mamba 2 as Nemotron-H, Granite 4 and Mamba-2 name its fields.
RecurrentSpec read_mamba2_mixer(const HfIntake& in) {
  RecurrentSpec r;
  r.family = RecurrentFamily::mamba2;
  r.value_heads = in.text.integer({"mamba_num_heads", "mamba_n_heads", "num_heads"});
  r.value_head_dim = in.text.integer({"mamba_head_dim", "mamba_d_head", "head_dim"});
  r.key_heads = in.text.integer({"n_groups", "mamba_n_groups"});
  r.key_head_dim = in.text.integer({"ssm_state_size", "mamba_d_state", "state_size"});
  r.conv_kernel = in.text.integer({"conv_kernel", "mamba_d_conv"});
  r.conv_bias = in.text.flag("use_conv_bias", in.text.flag("mamba_conv_bias", true));
  r.proj_bias = in.text.flag("mamba_proj_bias", false) || in.text.flag("use_bias", false);
  r.format = in.format();
  return r;
}

RecurrentSpec read_mamba1_mixer(const HfIntake& in) {
  RecurrentSpec r;
  r.family = RecurrentFamily::mamba1;
  const std::int64_t expand = in.text.integer_or({"mamba_expand", "expand"}, 2);
  r.value_heads = in.text.integer_or({"d_inner"}, expand * in.model.hidden);
  r.value_head_dim = 1;
  r.key_heads = 1;
  r.key_head_dim = in.text.integer({"state_size", "mamba_d_state"});
  r.conv_kernel = in.text.integer({"conv_kernel", "mamba_d_conv"});
  r.conv_bias = in.text.flag("use_conv_bias", in.text.flag("mamba_conv_bias", true));
  // "auto" is a sixteenth of the width, rounded up.
  const bool given = !in.text.is_text("mamba_dt_rank") && !in.text.is_text("time_step_rank");
  const std::int64_t rank = (in.model.hidden + 15) / 16;
  r.dt_rank = given ? in.text.integer_or({"mamba_dt_rank", "time_step_rank"}, rank) : rank;
  set_state_dtypes(in, in.model.dtype, r);
  r.format = in.format();
  return r;
}

// Kimi Linear: its own object, or Transformers' names (also of Ling 3 and GLM-5.3, whose gate and
// decay are single matrices: no rank is stated).
RecurrentSpec read_kimi_delta(const HfIntake& in) {
  const std::optional<HfFields> own = in.text.object("linear_attn_config");
  const HfFields& fields = own ? *own : in.text;
  RecurrentSpec r;
  r.family = RecurrentFamily::kimi_delta_attention;
  r.key_heads = r.value_heads = fields.integer({own ? "num_heads" : "linear_num_heads"});
  r.key_head_dim = r.value_head_dim = fields.integer({own ? "head_dim" : "linear_head_dim"});
  r.conv_kernel = fields.integer({"short_conv_kernel_size", "linear_conv_kernel_dim"});
  r.full_rank_gate = fields.flag("use_full_rank_gate", in.traits.full_rank_delta);
  r.full_rank_decay = in.traits.full_rank_delta;
  r.conv_dtype = in.model.dtype;
  r.state_dtype = Dtype::fp32;  // vLLM MambaStateDtypeCalculator.kda_state_dtype
  r.format = in.format();
  return r;
}

// A state of head size times head size per query head, in 32 bit (vLLM
// MambaStateDtypeCalculator.linear_attention_state_dtype; the MiniMax kernels sum in float).
RecurrentSpec read_lightning(const HfIntake& in) {
  const AttentionSpec a = read_attention(in);
  RecurrentSpec r;
  r.family = RecurrentFamily::lightning;
  r.key_heads = r.value_heads = a.q_heads;
  r.key_head_dim = r.value_head_dim = a.head_dim;
  r.conv_dtype = in.model.dtype;
  r.state_dtype = Dtype::fp32;
  r.format = in.format();
  return r;
}

RecurrentSpec read_short_convolution(const HfIntake& in) {
  RecurrentSpec conv;
  conv.family = RecurrentFamily::short_convolution;
  conv.value_heads = in.text.integer({"num_attention_heads"});
  conv.value_head_dim = in.model.hidden / conv.value_heads;
  conv.key_heads = 1;
  conv.conv_kernel = in.text.integer({"conv_L_cache"});
  conv.conv_bias = in.text.flag("conv_bias", false);
  conv.conv_dtype = conv.state_dtype = in.model.dtype;
  conv.format = in.format();
  return conv;
}

std::vector<bool> full_attention_layers(const HfIntake& in, std::int64_t layers) {
  const std::vector<std::string> types = read_layer_types(in.text, layers);
  const std::int64_t every =
      std::max<std::int64_t>(1, in.text.integer_or({"full_attention_interval"}, 4));
  std::vector<bool> full(static_cast<std::size_t>(layers));
  for (std::size_t i = 0; i < full.size(); ++i) {
    full[i] = types.empty() ? (static_cast<std::int64_t>(i) + 1) % every == 0
                            : types[i] == "full_attention" || types[i] == "attention";
  }
  return full;
}

// "M": Mamba 2, "*": attention, "-": MLP, "E": experts; or the same as a list of words.
std::string nemotron_pattern(const HfIntake& in, std::string_view letters, std::string_view words) {
  if (in.text.has(letters)) return in.text.text(letters);
  std::string pattern;
  for (const std::string& word : in.text.texts(words)) {
    if (word == "mamba") {
      pattern += 'M';
    } else if (word == "attention") {
      pattern += '*';
    } else if (word == "mlp") {
      pattern += '-';
    } else if (word == "moe") {
      pattern += 'E';
    } else {
      throw in.text.error(words, "each mamba, attention, mlp or moe");
    }
  }
  return pattern;
}

LayerKind nemotron_layer(const HfIntake& in, char letter) {
  LayerKind kind;
  kind.norms = 1;
  switch (letter) {
    case 'M':
      kind.recurrent = read_mamba2_mixer(in);
      // vLLM NemotronHForCausalLMConfig: 32 bit unless the config says otherwise.
      set_state_dtypes(in, Dtype::fp32, *kind.recurrent);
      break;
    case '*': kind.attention = read_attention(in); break;
    case '-': kind.mlp = read_mlp(in, read_ffn(in)); break;
    case 'E':
      kind.moe = read_moe(in);
      kind.moe->router_bias = true;  // e_score_correction_bias of NemotronHTopkRouter
      break;
    default: throw in.text.error("hybrid_override_pattern", "the letters M, *, - and E");
  }
  return kind;
}

}  // namespace

std::optional<RecurrentSpec> read_recurrent(const HfIntake& in) {
  const auto has_any = [&](HfKeys keys) {
    return std::ranges::any_of(keys, [&](std::string_view key) { return in.text.has(key); });
  };
  if (has_any({"linear_num_value_heads"})) return read_delta_net(in);
  if (has_any({"linear_attn_config", "linear_num_heads"})) return read_kimi_delta(in);
  if (has_any({"conv_L_cache"})) return read_short_convolution(in);
  if (has_any({"mamba_num_heads", "mamba_n_heads"})) {
    RecurrentSpec mamba = read_mamba2_mixer(in);
    set_state_dtypes(in, in.model.dtype, mamba);
    return mamba;
  }
  if (has_any({"mamba_d_state", "state_size"})) return read_mamba1_mixer(in);
  if (has_any({"attn_type_list", "layer_group_size", "linear_attn_alpha_factor"})) {
    return read_lightning(in);
  }
  return std::nullopt;
}

void read_nemotron_h(HfIntake& in) {
  const std::int64_t layers = read_tables(in);
  const std::string pattern = nemotron_pattern(in, "hybrid_override_pattern", "layers_block_type");
  if (pattern.empty()) in.text.missing("hybrid_override_pattern");
  in.root.log().check_complete();
  if (std::ssize(pattern) != layers) {
    throw in.text.error(
        in.text.has("hybrid_override_pattern") ? "hybrid_override_pattern" : "layers_block_type",
        fmt::format("{} entries for {} layers", pattern.size(), layers));
  }
  for (const char letter : pattern) add_layers(in.model, nemotron_layer(in, letter), 1);

  const std::string extra =
      nemotron_pattern(in, "mtp_hybrid_override_pattern", "mtp_layers_block_type");
  LayerKind merged;  // of attention and experts, each with its norm
  merged.norms = std::ssize(extra);
  for (const char letter : extra) {
    const LayerKind part = nemotron_layer(in, letter);
    if (part.attention) merged.attention = part.attention;
    if (part.recurrent) merged.recurrent = part.recurrent;
    if (part.mlp) merged.mlp = part.mlp;
    if (part.moe) merged.moe = part.moe;
  }
  if (!extra.empty()) {
    add_mtp(in, in.text.integer_or({"num_nextn_predict_layers"}, 0), merged, false);
  }
}

void read_mamba(HfIntake& in) {
  const std::int64_t layers = read_tables(in);
  add_layers(in.model, recurrent_layer(read_mamba1_mixer(in), 1), layers);
}

void read_mamba2(HfIntake& in) {
  const std::int64_t layers = read_tables(in);
  RecurrentSpec recurrent = read_mamba2_mixer(in);
  set_state_dtypes(in, in.model.dtype, recurrent);
  add_layers(in.model, recurrent_layer(recurrent, 1), layers);
}

void read_lfm2(HfIntake& in) {
  const std::int64_t layers = read_tables(in);
  const std::vector<bool> experts = moe_layers(in, layers);
  std::vector<bool> full = full_attention_layers(in, layers);
  if (in.text.has("full_attn_idxs")) {
    full.assign(full.size(), false);
    for (const std::int64_t i : in.text.integers("full_attn_idxs")) {
      if (i < 0 || i >= layers) throw in.text.error("full_attn_idxs", "indices of layers");
      full[static_cast<std::size_t>(i)] = true;
    }
  }
  // Lfm2MLP: two thirds of the stated width, times a factor, rounded up to whole multiples.
  std::int64_t ffn = in.text.integer({"block_ff_dim", "intermediate_size"});
  if (in.text.flag("block_auto_adjust_ff_dim", !has_experts(in))) {
    const double factor = in.text.number("block_ffn_dim_multiplier").value_or(1.0);
    const std::int64_t unit =
        std::max<std::int64_t>(1, in.text.integer_or({"block_multiple_of"}, 256));
    const std::int64_t two_thirds = 2 * ffn / 3;
    ffn = static_cast<std::int64_t>(factor * static_cast<double>(two_thirds));
    ffn = (ffn + unit - 1) / unit * unit;
  }
  const AttentionSpec attention = read_attention(in);
  const RecurrentSpec conv = read_short_convolution(in);
  for (std::size_t i = 0; i < full.size(); ++i) {
    LayerKind kind = recurrent_layer(conv, 2);
    if (full[i]) {
      kind.recurrent.reset();
      kind.attention = attention;
    }
    if (experts[i]) {
      kind.moe = read_moe(in);
    } else {
      kind.mlp = read_mlp(in, ffn);
    }
    add_layers(in.model, kind, 1);
  }
}

}  // namespace headroom
