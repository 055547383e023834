#include <catch2/catch.hpp>
#include <string>

#include "hardware/llm/hf_config.hpp"
#include "hardware/llm/hf_patterns.hpp"
#include "hardware/llm/parameters.hpp"

namespace headroom::hf_quantization_test {
namespace {

ModelSpec quantised_llama(const std::string& quantization, const std::string& separate = "") {
  const std::string json =
      R"({"architectures": ["LlamaForCausalLM"], "hidden_size": 1024, "intermediate_size": 4096,
          "num_hidden_layers": 4, "num_attention_heads": 8, "vocab_size": 1000,
          "max_position_embeddings": 512, "dtype": "bfloat16")" +
      (quantization.empty() ? "" : ", \"quantization_config\": " + quantization) + "}";
  return read_hf_config({json, "config.json"}, {separate, "hf_quant_config.json"});
}

WeightFormat attention(const ModelSpec& m, std::size_t layer) {
  return m.layer(layer).attention->format;
}
WeightFormat mlp(const ModelSpec& m, std::size_t layer) { return m.layer(layer).mlp->format; }

constexpr WeightFormat kBf16{Dtype::bf16, 0, 0};

}  // namespace

TEST_CASE("patterns match whole components of a module's name") {
  HfPatterns p;
  CHECK(p.add("gate"));
  CHECK(p.add("model.layers.1.self_attn*"));
  CHECK(p.add("language_model.model.layers.2"));
  CHECK(p.add("*.shared_experts.*"));
  CHECK(p.add("re:.*mlp\\.(up|down)_proj.*"));
  CHECK(p.match(0, "mlp.gate"));
  CHECK_FALSE(p.match(0, "mlp.gate_proj"));
  CHECK(p.match(1, "self_attn.q_proj"));
  CHECK_FALSE(p.match(10, "self_attn.q_proj"));
  CHECK_FALSE(p.match(11, "self_attn.q_proj"));
  CHECK(p.match(2, "linear_attn.in_proj"));
  CHECK(p.match(7, "mlp.shared_experts.up_proj"));
  CHECK(p.match(7, "mlp.down_proj"));
  CHECK_FALSE(p.match(7, "mlp.experts.0.down_proj"));
  CHECK_FALSE(p.add("re:["));
}

TEST_CASE("patterns of other towers and of the head stay apart from the layers") {
  HfPatterns p;
  CHECK(p.add("vision_model.model.layers.0.self_attn.q_proj"));
  CHECK(p.add("mtp.layers.0*"));
  CHECK(p.add("language_model.lm_head"));
  CHECK_FALSE(p.match(0, "self_attn.q_proj"));
  CHECK(p.match_outside("lm_head"));
  CHECK_FALSE(p.match_outside("head"));
}

TEST_CASE("fp8 blocks carry a 32-bit scale, the head and the tables stay as they are") {
  const ModelSpec m = quantised_llama(
      R"({"quant_method": "fp8", "weight_block_size": [128, 128],
          "modules_to_not_convert": ["model.layers.2.mlp"]})");
  CHECK(attention(m, 2) == WeightFormat{Dtype::fp8, 16384, 32});
  CHECK(mlp(m, 1) == WeightFormat{Dtype::fp8, 16384, 32});
  CHECK(mlp(m, 2) == kBf16);
  CHECK(m.head_format == kBf16);
  CHECK(m.kinds.size() == 2);
  CHECK(m.order == std::vector<std::uint16_t>{0, 0, 1, 0});
}

TEST_CASE("AWQ and GPTQ store groups with scale and zero point") {
  const ModelSpec awq = quantised_llama(
      R"({"quant_method": "awq", "bits": 4, "group_size": 64, "zero_point": true,
          "modules_to_not_convert": null})");
  CHECK(mlp(awq, 0) == WeightFormat{Dtype::int4, 64, 20});
  const ModelSpec gptq = quantised_llama(
      R"({"quant_method": "gptq", "bits": 8, "group_size": -1, "sym": true, "lm_head": true})");
  CHECK(mlp(gptq, 0) == WeightFormat{Dtype::int8, 0, 0});
  CHECK(gptq.head_format == WeightFormat{Dtype::int8, 0, 0});
}

TEST_CASE("bitsandbytes is nf4 or int8") {
  const ModelSpec four = quantised_llama(
      R"({"quant_method": "bitsandbytes", "load_in_4bit": true,
          "bnb_4bit_use_double_quant": true, "llm_int8_skip_modules": ["lm_head"]})");
  CHECK(mlp(four, 0) == WeightFormat{Dtype::nf4, 64, 8});
  const ModelSpec eight =
      quantised_llama(R"({"quant_method": "bitsandbytes", "load_in_8bit": true})");
  CHECK(mlp(eight, 0) == WeightFormat{Dtype::int8, 0, 0});
}

TEST_CASE("compressed tensors: groups, targets, what is ignored, the KV cache") {
  const ModelSpec m = quantised_llama(
      R"({"quant_method": "compressed-tensors", "ignore": ["lm_head", "re:.*layers\\.3\\..*"],
          "kv_cache_scheme": {"num_bits": 8, "type": "float"},
          "config_groups": {
            "group_0": {"targets": ["Linear"], "weights": {"num_bits": 4, "type": "int",
              "strategy": "group", "group_size": 32, "symmetric": true}},
            "group_1": {"targets": ["re:.*self_attn.*"], "weights": {"num_bits": 8,
              "type": "float", "strategy": "channel"}}}})");
  CHECK(mlp(m, 0) == WeightFormat{Dtype::int4, 32, 16});
  CHECK(attention(m, 0) == WeightFormat{Dtype::fp8, 0, 0});
  CHECK(mlp(m, 3) == kBf16);
  CHECK(attention(m, 3) == kBf16);
  CHECK(m.kv_dtype == Dtype::fp8);
}

TEST_CASE("ModelOpt: an own file, listed layers, a named head") {
  const ModelSpec plain = quantised_llama(
      "", R"({"producer": {"name": "modelopt"}, "quantization": {"quant_algo": "NVFP4",
          "kv_cache_quant_algo": "FP8", "group_size": 16, "exclude_modules": ["lm_head",
          "model.layers.0.self_attn.q_proj", "model.layers.0.self_attn.o_proj"]}})");
  CHECK(mlp(plain, 0) == WeightFormat{Dtype::nvfp4, 16, 8});
  // Half of the elements, and the first format that is met: q of q, k, v, o.
  CHECK(attention(plain, 0) == kBf16);
  CHECK(attention(plain, 1).dtype == Dtype::nvfp4);
  CHECK(plain.kv_dtype == Dtype::fp8);
  const ModelSpec mixed = quantised_llama(
      R"({"quant_algo": "MIXED_PRECISION", "quantized_layers": {
          "model.layers.0.mlp": {"quant_algo": "FP8"},
          "model.layers.1.mlp": {"quant_algo": "W4A16_NVFP4", "group_size": 16},
          "lm_head": {"quant_algo": "FP8"}}})");
  CHECK(mlp(mixed, 0).dtype == Dtype::fp8);
  CHECK(mlp(mixed, 1).dtype == Dtype::nvfp4);
  CHECK(mlp(mixed, 2) == kBf16);
  CHECK(attention(mixed, 0) == kBf16);
  CHECK(mixed.head_format.dtype == Dtype::fp8);
}

TEST_CASE("what config.json declares goes before the separate file") {
  const ModelSpec m = quantised_llama(R"({"quant_method": "fp8"})",
                                      R"({"quantization": {"quant_algo": "NVFP4",
                                          "kv_cache_quant_algo": "FP8"}})");
  CHECK(mlp(m, 0).dtype == Dtype::fp8);
  CHECK(m.kv_dtype == Dtype::fp8);
}

TEST_CASE("mxfp4 is of experts only") {
  const ModelSpec m = read_hf_config(
      {R"({"architectures": ["GptOssForCausalLM"], "hidden_size": 64, "intermediate_size": 64,
           "num_hidden_layers": 2, "num_attention_heads": 4, "num_local_experts": 4,
           "num_experts_per_tok": 2, "vocab_size": 100, "max_position_embeddings": 512,
           "quantization_config": {"quant_method": "mxfp4"}})",
       "config.json"});
  CHECK(m.kinds.front().moe->format == WeightFormat{Dtype::mxfp4, 32, 8});
  CHECK(m.kinds.front().attention->format == kBf16);
}

}  // namespace headroom::hf_quantization_test
