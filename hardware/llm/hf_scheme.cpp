#include "hardware/llm/hf_scheme.hpp"
#include "sim/kernel/lower_case.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace headroom {
namespace {

// Scales of groups are 16 bits wide and zero points 4 where they are kept; one scale per tensor or
// channel weighs nothing.
WeightFormat integer_format(std::int64_t bits, std::int64_t group, bool zero_points) {
  WeightFormat format{bits == 8 ? Dtype::int8 : Dtype::int4, 0, 0};
  if (group > 0) {
    format.group = static_cast<std::int32_t>(group);
    format.group_bits = 16 + (zero_points ? static_cast<std::int32_t>(bits) : 0);
  }
  return format;
}

// One 32-bit scale per block of rows x columns (DeepSeek-V3: 128 x 128).
WeightFormat fp8_blocks(const HfFields& declared, std::string_view key) {
  const std::vector<std::int64_t> block = declared.integers(key);
  if (block.empty()) return {Dtype::fp8, 0, 0};
  if (block.size() != 2 ||
      std::ranges::any_of(block, [](std::int64_t n) { return n < 1 || n > 16384; })) {
    throw declared.error(key, "two sizes from 1 to 16384");
  }
  return {Dtype::fp8, static_cast<std::int32_t>(block[0] * block[1]), 32};
}

std::int64_t group_size(const HfFields& fields, std::int64_t fallback) {
  if (!fields.has("group_size")) return fallback;
  const HfJson& value = fields.json().at("group_size");
  if (value == -1) return 0;  // GPTQ: one group per column
  const std::int64_t group = fields.integer({"group_size"});
  if (group > 65536) throw fields.error("group_size", "at most 65536");
  return group;
}

// ModelOpt's names of algorithms (hf_quant_config.json); AWQ there has no zero points.
std::optional<WeightFormat> format_of_algorithm(const HfFields& declared) {
  const std::string algo = declared.text("quant_algo");
  if (algo.empty() || algo == "NONE" || algo == "MIXED_PRECISION") return std::nullopt;
  if (algo == "FP8_PB_WO" || algo == "FP8_2D_BLOCKWISE_WEIGHT_ONLY") {
    return WeightFormat{Dtype::fp8, 128 * 128, 32};
  }
  if (algo == "MXFP8") return WeightFormat{Dtype::fp8, 32, 8};
  if (algo.find("NVFP4") != std::string::npos) return format_of(Dtype::nvfp4);
  if (algo.find("MXFP4") != std::string::npos) return format_of(Dtype::mxfp4);
  if (algo.starts_with("FP8")) return format_of(Dtype::fp8);
  if (algo.starts_with("W4A")) return integer_format(4, group_size(declared, 128), false);
  if (algo.starts_with("W8A") || algo.starts_with("INT8")) return format_of(Dtype::int8);
  throw declared.error("quant_algo",
                       "FP8, FP8_PB_WO, MXFP8, NVFP4, MXFP4, W4A16_AWQ, W4A8_AWQ, "
                       "W8A8_SQ_PER_CHANNEL or MIXED_PRECISION");
}

void add_patterns(const HfFields& declared, std::string_view key, HfPatterns& patterns) {
  for (const std::string& pattern : declared.texts(key)) {
    if (!patterns.add(pattern)) throw declared.error(key, "regular expressions after re:");
  }
}

void add_rule_for_all(HfScheme& scheme, std::optional<WeightFormat> format) {
  HfScheme::Rule rule;
  rule.everything = true;
  rule.format = format;
  scheme.rules.push_back(std::move(rule));
}

// {"model.layers.0.mlp.experts": {"quant_algo": "NVFP4"}}: one rule per format.
void add_listed_layers(const HfFields& declared, HfScheme& scheme) {
  const std::optional<HfFields> layers = declared.object("quantized_layers");
  if (!layers) return;
  for (const auto& entry : layers->json().items()) {
    const std::optional<WeightFormat> format = format_of_algorithm(*layers->object(entry.key()));
    auto rule = std::ranges::find(scheme.rules, format, &HfScheme::Rule::format);
    if (rule == scheme.rules.end()) {
      scheme.rules.emplace_back();
      rule = std::prev(scheme.rules.end());
      rule->format = format;
    }
    (void)rule->only.add(entry.key());
  }
}

// The `weights` of a group: {num_bits, type, strategy, group_size, symmetric, block_structure}.
std::optional<WeightFormat> group_format(const HfFields& group) {
  const std::optional<HfFields> weights = group.object("weights");
  if (!weights) return std::nullopt;  // only activations
  const std::int64_t bits = weights->integer({"num_bits"});
  const std::int64_t size = group_size(*weights, 0);
  const std::string type = weights->text("type");
  if (type == "float" && bits == 8) {
    if (size > 0) return WeightFormat{Dtype::fp8, static_cast<std::int32_t>(size), 8};
    return fp8_blocks(*weights, "block_structure");
  }
  if (type == "float" && bits == 4) {
    return format_of(size == 32 ? Dtype::mxfp4 : Dtype::nvfp4);
  }
  if (bits == 4 || bits == 8) {
    return integer_format(bits, size, !weights->flag("symmetric", true));
  }
  throw weights->error("num_bits", "4 or 8");
}

// compressed-tensors; groups that name modules go before those that name classes (Linear).
void add_groups(const HfFields& declared, HfScheme& scheme) {
  const std::optional<HfFields> groups = declared.object("config_groups");
  if (!groups) throw declared.error("config_groups", "an object with groups of weights");
  std::optional<HfScheme::Rule> classes;
  for (const auto& entry : groups->json().items()) {
    const HfFields group = *groups->object(entry.key());
    HfScheme::Rule rule;
    rule.format = group_format(group);
    const std::vector<std::string> targets = group.texts("targets");
    for (const std::string& target : targets) {
      const bool module =
          target.find('.') != std::string::npos || target.starts_with("re:") || target == "lm_head";
      if (!module) {
        rule.everything = true;
      } else if (!rule.only.add(target)) {
        throw group.error("targets", "regular expressions after re:");
      }
    }
    rule.everything = rule.everything || targets.empty();
    if (rule.everything && !classes) {
      classes = std::move(rule);
    } else {
      scheme.rules.push_back(std::move(rule));
    }
  }
  if (classes) scheme.rules.push_back(std::move(*classes));
  add_patterns(declared, "ignore", scheme.ignored);
}

void read_fp8(const HfFields& declared, HfScheme& scheme) {
  add_listed_layers(declared, scheme);  // experts in another format (DeepSeek-V4-Flash-NVFP4)
  add_rule_for_all(scheme, fp8_blocks(declared, "weight_block_size"));
  add_patterns(declared, "modules_to_not_convert", scheme.ignored);
  add_patterns(declared, "ignored_layers", scheme.ignored);
}

// A scale byte per 32 elements (MiniMax-M3-MXFP8).
void read_mxfp8(const HfFields& declared, HfScheme& scheme) {
  add_rule_for_all(scheme, WeightFormat{Dtype::fp8, 32, 8});
  for (const std::string_view key : {"modules_to_not_convert", "ignored_layers", "ignore"}) {
    add_patterns(declared, key, scheme.ignored);
  }
}

void read_integer(const HfFields& declared, HfScheme& scheme) {
  const std::int64_t bits = declared.integer_or({"bits", "w_bit"}, 4);
  if (bits != 4 && bits != 8) throw declared.error("bits", "4 or 8");
  const std::string method = declared.text("quant_method");
  // GPTQ writes zero points even when they are all the same.
  const bool zeros = method == "awq" ? declared.flag("zero_point", true) : true;
  const WeightFormat format = integer_format(bits, group_size(declared, 128), zeros);
  add_rule_for_all(scheme, format);
  add_patterns(declared, "modules_to_not_convert", scheme.ignored);
  if (declared.flag("lm_head", false)) scheme.head = format;
  const std::optional<HfFields> dynamic = declared.object("dynamic");
  if (!dynamic) return;
  for (const auto& entry : dynamic->json().items()) {  // "-:PATTERN" leaves a module out
    if (!entry.key().starts_with("-:")) continue;
    if (!scheme.ignored.add("re:" + entry.key().substr(2))) {
      throw dynamic->error(entry.key(), "a regular expression after -:");
    }
  }
}

void read_bitsandbytes(const HfFields& declared, HfScheme& scheme) {
  WeightFormat format = format_of(Dtype::int8);
  if (declared.flag("load_in_4bit", declared.flag("_load_in_4bit", false))) {
    format = format_of(Dtype::nf4);
    // Double quantisation: the scale per 64 in 8 bits, and one of 32 bits per 256 of those.
    if (declared.flag("bnb_4bit_use_double_quant", false)) format.group_bits = 8;
  }
  add_rule_for_all(scheme, format);
  add_patterns(declared, "llm_int8_skip_modules", scheme.ignored);
}

void read_mxfp4(const HfFields& declared, HfScheme& scheme) {
  scheme.experts_only = true;  // vLLM Mxfp4Config: linear layers stay as they are
  add_rule_for_all(scheme, format_of(Dtype::mxfp4));
  add_patterns(declared, "modules_to_not_convert", scheme.ignored);
}

void read_modelopt(const HfFields& declared, HfScheme& scheme) {
  add_listed_layers(declared, scheme);
  const std::optional<WeightFormat> format = format_of_algorithm(declared);
  if (format) {
    add_rule_for_all(scheme, format);
  } else if (scheme.rules.empty() && declared.has("config_groups")) {
    add_groups(declared, scheme);
    return;
  }
  add_patterns(declared, "ignore", scheme.ignored);
  add_patterns(declared, "exclude_modules", scheme.ignored);
}

struct SchemeMethod {
  std::string_view name;
  void (*read)(const HfFields&, HfScheme&);
  std::string_view family = {};  // the name it is an alias of; empty: none
};
constexpr std::array<SchemeMethod, 14> kSchemeMethods{{
    {"fp8", read_fp8},
    {"fbgemm_fp8", read_fp8},
    {"mxfp8", read_mxfp8},
    {"compressed-tensors", add_groups},
    {"modelopt", read_modelopt},
    {"modelopt_fp4", read_modelopt, "modelopt"},
    {"modelopt_mixed", read_modelopt, "modelopt"},
    {"awq", read_integer},
    {"gptq", read_integer},
    {"auto-round", read_integer},
    {"auto_round", read_integer, "auto-round"},
    {"bitsandbytes", read_bitsandbytes},
    {"mxfp4", read_mxfp4},
    {"gpt_oss_mxfp4", read_mxfp4, "mxfp4"},
}};

// {num_bits, type} of compressed-tensors and ModelOpt, or ModelOpt's name of an algorithm.
std::optional<Dtype> read_kv(const HfFields& declared) {
  if (const std::string algo = declared.text("kv_cache_quant_algo"); !algo.empty()) {
    if (algo == "NONE" || algo == "auto") return std::nullopt;
    if (algo == "NVFP4" || algo == "NVFP4_AFFINE") return Dtype::nvfp4;
    if (algo == "INT8") return Dtype::int8;
    if (algo.starts_with("FP8")) return Dtype::fp8;
    throw declared.error("kv_cache_quant_algo", "FP8, INT8, NVFP4 or null");
  }
  if (!declared.has("kv_cache_scheme")) return std::nullopt;
  if (declared.is_text("kv_cache_scheme")) {
    const std::string scheme = declared.text("kv_cache_scheme");
    if (scheme == "FP8") return Dtype::fp8;
    if (scheme == "INT8") return Dtype::int8;
    throw declared.error("kv_cache_scheme", "FP8 or INT8, or an object");
  }
  const HfFields scheme = *declared.object("kv_cache_scheme");
  const std::int64_t bits = scheme.integer({"num_bits"});
  const bool floating = scheme.text("type") == "float";
  if (bits == 8) return floating ? Dtype::fp8 : Dtype::int8;
  if (bits == 4 && floating) return Dtype::nvfp4;
  throw scheme.error("num_bits", "8, or 4 with type float");
}

}  // namespace

HfScheme read_hf_scheme(const HfFields& declared) {
  if (declared.has("quantization")) return read_hf_scheme(*declared.object("quantization"));
  HfScheme scheme;
  scheme.kv = read_kv(declared);
  std::string method = declared.text("quant_method");
  method = lower_case(std::move(method));
  // ModelOpt's own files name no method.
  if (method.empty() && declared.has("quant_algo")) method = "modelopt";
  if (method.empty() && !declared.has("quant_method")) return scheme;
  const auto* const found = std::ranges::find(kSchemeMethods, method, &SchemeMethod::name);
  if (found == kSchemeMethods.end()) {
    throw declared.error("quant_method",
                         "fp8, fbgemm_fp8, mxfp8, compressed-tensors, modelopt, awq, gptq, "
                         "auto-round, bitsandbytes or mxfp4");
  }
  found->read(declared, scheme);
  scheme.method = found->family.empty() ? found->name : found->family;
  return scheme;
}

}  // namespace headroom
