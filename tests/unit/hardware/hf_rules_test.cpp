// What a config means: windows, the longest context, tied tables, dtypes and states.

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>

#include "hardware/llm/hf_config.hpp"
#include "hardware/llm/kv_geometry.hpp"
#include "hardware/llm/parameters.hpp"

namespace headroom::hf_rules_test {
namespace {

// A small model of `architecture` with further fields.
ModelSpec small(const std::string& architecture, const std::string& fields = "") {
  const std::string json = fmt::format(
      R"({{"architectures": ["{}"], "hidden_size": 64, "intermediate_size": 128,
           "num_hidden_layers": 8, "num_attention_heads": 4, "num_key_value_heads": 2,
           "vocab_size": 1000, "max_position_embeddings": 4096{}{}}})",
      architecture, fields.empty() ? "" : ", ", fields);
  return read_hf_config({json, "small.json"});
}

std::string windows(const ModelSpec& model) {
  std::string text;
  for (std::size_t i = 0; i < model.order.size(); ++i) {
    const AttentionSpec& a = *model.layer(i).attention;
    text += a.window_tokens == 0 ? 'F' : a.chunked ? 'C' : 'S';
  }
  return text;
}

bool has_note(const ModelSpec& model, const std::string& part) {
  return std::ranges::any_of(
      model.notes, [&](const std::string& note) { return note.find(part) != std::string::npos; });
}

}  // namespace

TEST_CASE("each family has its own rule of windows") {
  CHECK(windows(small("LlamaForCausalLM")) == "FFFFFFFF");
  CHECK(windows(small("MistralForCausalLM", R"("sliding_window": 1024)")) == "SSSSSSSS");
  CHECK(windows(small("MistralForCausalLM", R"("sliding_window": null)")) == "FFFFFFFF");
  CHECK(windows(small("Gemma2ForCausalLM", R"("sliding_window": 1024)")) == "SFSFSFSF");
  CHECK(windows(small("Gemma3ForCausalLM", R"("sliding_window": 512)")) == "SSSSSFSS");
  CHECK(windows(small("Gemma3ForCausalLM",
                      R"("sliding_window": 512, "sliding_window_pattern": 2)")) == "SFSFSFSF");
  CHECK(windows(small("Cohere2ForCausalLM", R"("sliding_window": 512)")) == "SSSFSSSF");
  CHECK(windows(small("Exaone4ForCausalLM",
                      R"("sliding_window": 512, "sliding_window_pattern": "LLG")")) == "SSFSSFSS");
}

TEST_CASE("Qwen2 slides only when it says so, and then from max_window_layers on") {
  const std::string window = R"("sliding_window": 512, "max_window_layers": 6)";
  CHECK(windows(small("Qwen2ForCausalLM", window)) == "FFFFFFFF");
  CHECK(windows(small("Qwen2ForCausalLM", window + R"(, "use_sliding_window": false)")) ==
        "FFFFFFFF");
  CHECK(windows(small("Qwen2ForCausalLM", window + R"(, "use_sliding_window": true)")) ==
        "FFFFFFSS");
}

TEST_CASE("listed layer types go before rules, and a window as long as the context is none") {
  const std::string types =
      R"("layer_types": ["full_attention", "sliding_attention", "full_attention",
         "full_attention", "full_attention", "full_attention", "full_attention",
         "sliding_attention"])";
  CHECK(windows(small("Gemma2ForCausalLM", R"("sliding_window": 64, )" + types)) == "FSFFFFFS");
  CHECK(windows(small("Phi3ForCausalLM", R"("sliding_window": 2047)")) == "SSSSSSSS");
  CHECK(windows(small("Phi3ForCausalLM", R"("sliding_window": 4096)")) == "FFFFFFFF");
}

TEST_CASE("Llama 4 attends in chunks but for every fourth layer") {
  const std::string experts =
      R"("num_local_experts": 4, "num_experts_per_tok": 1, "interleave_moe_layer_step": 2,
         "attention_chunk_size": 256, "intermediate_size_mlp": 256)";
  const ModelSpec model = small("Llama4ForCausalLM", experts);
  CHECK(windows(model) == "CCCFCCCF");
  CHECK(model.layer(0).mlp->ffn == 256);
  CHECK(model.layer(1).moe->shared_ffn == 128);
}

TEST_CASE("the last layers of Gemma 3n and 4 may read the KV of earlier ones") {
  const ModelSpec model =
      small("Gemma4ForCausalLM",
            R"("num_kv_shared_layers": 3, "use_double_wide_mlp": true, "sliding_window": 64)");
  CHECK_FALSE(model.layer(4).attention->shares_kv);
  CHECK(model.layer(5).attention->shares_kv);
  CHECK(model.layer(5).mlp->ffn == 256);
  // Layers 0-4 slide with two KV heads of 256: 5 x 2 x 2 x 256 x 2 bytes; layer 5 shares.
  CHECK(kv_bytes_per_token(model, {}, {}) == 5 * 2 * 2 * 256 * 2);
}

TEST_CASE("the longest context follows vLLM's rule of rope scaling") {
  const auto length = [](const std::string& fields) {
    return small("LlamaForCausalLM", fields).max_position;
  };
  CHECK(length("") == 4096);
  CHECK(length(R"("rope_scaling": null)") == 4096);
  CHECK(length(R"("rope_scaling": {"type": "linear", "factor": 4.0})") == 16384);
  CHECK(length(R"("rope_scaling": {"rope_type": "dynamic", "factor": 2})") == 8192);
  CHECK(length(R"("rope_scaling": {"type": "yarn", "factor": 4,
                   "original_max_position_embeddings": 32768})") == 131072);
  CHECK(length(R"("rope_scaling": {"rope_type": "llama3", "factor": 8,
                   "original_max_position_embeddings": 512})") == 4096);
  CHECK(length(R"("rope_scaling": {"type": "longrope", "factor": 8})") == 4096);
  CHECK(length(R"("rope_parameters": {"full_attention": {"rope_type": "linear", "factor": 8},
                   "sliding_attention": {"rope_type": "default"}})") == 32768);
  CHECK(length(R"("max_position_embeddings": null, "n_positions": 777)") == 777);
  CHECK(length(R"("max_position_embeddings": null, "model_max_length": 999)") == 999);
}

TEST_CASE("a config without a length gets vLLM's 2048 and says so") {
  const ModelSpec model = small("LlamaForCausalLM", R"("max_position_embeddings": null)");
  CHECK(model.max_position == 2048);
  CHECK(has_note(model, "no context length"));
}

TEST_CASE("tied embeddings default to the family's, the config decides") {
  CHECK_FALSE(small("LlamaForCausalLM").tie_embeddings);
  CHECK(small("Gemma2ForCausalLM").tie_embeddings);
  CHECK(small("OPTForCausalLM").tie_embeddings);
  CHECK(small("LlamaForCausalLM", R"("tie_word_embeddings": true)").tie_embeddings);
  CHECK_FALSE(small("Gemma2ForCausalLM", R"("tie_word_embeddings": false)").tie_embeddings);
}

TEST_CASE("a dtype is read at either level and under either name, and none is bfloat16, noted") {
  CHECK(small("LlamaForCausalLM", R"("torch_dtype": "float16")").dtype == Dtype::fp16);
  CHECK(small("LlamaForCausalLM", R"("dtype": "float32")").dtype == Dtype::fp32);
  const ModelSpec none = small("LlamaForCausalLM", R"("torch_dtype": null)");
  CHECK(none.dtype == Dtype::bf16);
  CHECK(has_note(none, "dtype"));
}

TEST_CASE("prediction layers are shipped, not loaded") {
  const ModelSpec plain = small("MiMoForCausalLM", R"("attention_bias": true)");
  const ModelSpec with =
      small("MiMoForCausalLM", R"("attention_bias": true, "num_nextn_predict_layers": 1)");
  CHECK(params_total(with) == params_total(plain));
  // Attention 64 x (64 + 64 + 2 x 32), its bias 128, MLP 3 x 64 x 128, two norms of 64, and the
  // projection of two hidden vectors with three norms.
  CHECK(with.unloaded_params == 64 * 192 + 128 + 3 * 64 * 128 + 2 * 64 + (2 * 64 * 64 + 3 * 64));
  CHECK(checkpoint_bytes(with) == checkpoint_bytes(plain) + 2 * with.unloaded_params);
}

TEST_CASE("overrides are merged over the config") {
  const ModelSpec model = read_hf_config(
      {R"({"architectures": ["LlamaCloneForCausalLM"], "hidden_size": 64, "num_hidden_layers": 2,
           "num_attention_heads": 4, "intermediate_size": 128, "vocab_size": 1000,
           "quantization_config": {"quant_method": "unheard-of"}})",
       "config.json"},
      {},
      {R"({"architectures": ["LlamaForCausalLM"], "quantization_config": null,
           "max_position_embeddings": 8192})",
       "mine.json"});
  CHECK(model.max_position == 8192);
  CHECK(model.kinds.front().attention->kv_heads == 4);  // absent: as many as query heads
  CHECK(model.source == "config.json with mine.json");
}

// vLLM NemotronHForCausalLMConfig: 32 bit when the config is silent; others keep the model's dtype.
TEST_CASE("recurrent states have the dtype that the config or vLLM gives them") {
  const std::string mamba =
      R"("hybrid_override_pattern": "M-M*M-M-", "mamba_num_heads": 8, "mamba_head_dim": 16,
         "n_groups": 2, "ssm_state_size": 32, "conv_kernel": 4)";
  CHECK(small("NemotronHForCausalLM", mamba).layer(0).recurrent->state_dtype == Dtype::fp32);
  CHECK(small("NemotronHForCausalLM", mamba + R"(, "mamba_ssm_cache_dtype": "bfloat16")")
            .layer(0)
            .recurrent->state_dtype == Dtype::bf16);
  const std::string delta =
      R"("linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_key_head_dim": 16,
         "linear_value_head_dim": 16, "linear_conv_kernel_dim": 4)";
  CHECK(small("Qwen3NextForCausalLM", delta).layer(0).recurrent->state_dtype == Dtype::bf16);
  const ModelSpec declared =
      small("Qwen3_5ForCausalLM", delta + R"(, "mamba_ssm_dtype": "float32")");
  CHECK(declared.layer(0).recurrent->state_dtype == Dtype::fp32);
  CHECK(declared.layer(3).attention->output_gate);
}

}  // namespace headroom::hf_rules_test
