// Parameter totals of models that are in no data file, against the numbers on their model cards
// (safetensors metadata where they are exact).

#include <catch2/catch.hpp>
#include <cstdlib>

#include "hardware/llm/hf_config.hpp"
#include "hardware/llm/parameters.hpp"

namespace headroom::hf_totals_test {
namespace {

std::int64_t total(const char* json) { return params_total(read_hf_config({json, "inline"})); }

// Rounded figures of model cards: within 1 %.
bool about(std::int64_t value, double published) {
  return std::abs(static_cast<double>(value) - published) < 0.01 * published;
}

}  // namespace

TEST_CASE("decoders whose layers keep fields in parts of their own have their published totals") {
  CHECK(total(R"({"architectures": ["MPTForCausalLM"], "d_model": 4096, "expansion_ratio": 4,
    "max_seq_len": 2048, "n_heads": 32, "n_layers": 32, "no_bias": true, "vocab_size": 50432,
    "attn_config": {"alibi": true, "attn_type": "multihead_attention"}})") == 6'649'286'656);
  CHECK(total(R"({"architectures": ["DbrxForCausalLM"], "d_model": 6144, "n_heads": 48,
    "n_layers": 40, "max_seq_len": 32768, "vocab_size": 100352, "tie_word_embeddings": false,
    "attn_config": {"clip_qkv": 8, "kv_n_heads": 8, "rope_theta": 500000},
    "ffn_config": {"ffn_hidden_size": 10752, "moe_num_experts": 16, "moe_top_k": 4}})") ==
        131'596'523'520);
}

TEST_CASE("an MLP beside experts, shared queries and a router's idle rows are counted") {
  // Grok 2: about 270e9.
  CHECK(about(total(R"({"architectures": ["Grok1ForCausalLM"], "hidden_size": 8192,
    "intermediate_size": 32768, "moe_intermediate_size": 16384, "num_hidden_layers": 64,
    "num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 128, "num_local_experts": 8,
    "num_experts_per_tok": 2, "residual_moe": true, "vocab_size": 131072,
    "max_position_embeddings": 131072, "tie_word_embeddings": false})"),
              270e9));
  // Step 3's decoder: 320,969,912,832 with its tower, of 1.8e9 at this depth and width.
  CHECK(about(total(R"({"architectures": ["Step3TextForCausalLM"], "hidden_size": 7168,
    "intermediate_size": 18432, "num_attention_heads": 64, "num_attention_groups": 1,
    "num_hidden_layers": 61, "max_seq_len": 65536, "vocab_size": 128815,
    "first_k_dense_replace": 4, "mlp_only_layers": [60],
    "moe_num_experts": 48, "moe_top_k": 3, "moe_intermediate_size": 5120, "share_expert_dim": 5120,
    "share_q_dim": 2048, "head_dim": 256})"),
              320.97e9 - 1.8e9));
}

TEST_CASE("decoders with biases, layer norms and learned positions have their published totals") {
  CHECK(total(R"({"architectures": ["GPT2LMHeadModel"], "n_embd": 768, "n_layer": 12, "n_head": 12,
    "n_positions": 1024, "vocab_size": 50257, "dtype": "float32"})") == 124'439'808);
  CHECK(total(R"({"architectures": ["GPTJForCausalLM"], "n_embd": 4096, "n_layer": 28, "n_head": 16,
    "n_inner": null, "n_positions": 2048, "rotary_dim": 64, "vocab_size": 50400,
    "tie_word_embeddings": false})") == 6'050'882'784);
  CHECK(total(R"({"architectures": ["BloomForCausalLM"], "hidden_size": 4096, "n_layer": 30,
    "num_attention_heads": 32, "seq_length": 2048, "vocab_size": 250880})") == 7'069'016'064);
  CHECK(total(R"({"architectures": ["OPTForCausalLM"], "hidden_size": 5120, "ffn_dim": 20480,
    "num_hidden_layers": 40, "num_attention_heads": 40, "vocab_size": 50272,
    "word_embed_proj_dim": 5120, "max_position_embeddings": 2048})") == 12'853'473'280);
  CHECK(total(R"({"architectures": ["PhiForCausalLM"], "hidden_size": 2560,
    "intermediate_size": 10240, "num_hidden_layers": 32, "num_attention_heads": 32,
    "vocab_size": 51200, "max_position_embeddings": 2048})") == 2'779'683'840);
  CHECK(total(R"({"architectures": ["StableLmForCausalLM"], "hidden_size": 2560,
    "intermediate_size": 6912, "num_hidden_layers": 32, "num_attention_heads": 32,
    "num_key_value_heads": 32, "vocab_size": 50304, "max_position_embeddings": 4096})") ==
        2'795'443'200);
  CHECK(total(R"({"architectures": ["Starcoder2ForCausalLM"], "hidden_size": 3072,
    "intermediate_size": 12288, "num_hidden_layers": 30, "num_attention_heads": 24,
    "num_key_value_heads": 2, "vocab_size": 49152, "max_position_embeddings": 16384})") ==
        3'030'371'328);
  CHECK(about(total(R"({"architectures": ["GPTNeoXForCausalLM"], "hidden_size": 4096,
    "intermediate_size": 16384, "num_hidden_layers": 32, "num_attention_heads": 32,
    "vocab_size": 50432, "max_position_embeddings": 2048})"),
              6.86e9));
}

// The card's 7.22 billion have the tied head twice: 6,921,720,704 + 65024 x 4544.
TEST_CASE("Falcon-7B has one norm and one KV head, Falcon-40B two norms and eight") {
  const std::int64_t small = total(R"({"architectures": ["FalconForCausalLM"], "hidden_size": 4544,
    "num_hidden_layers": 32, "num_attention_heads": 71, "multi_query": true, "parallel_attn": true,
    "new_decoder_architecture": false, "bias": false, "vocab_size": 65024})");
  CHECK(small == 6'921'720'704);
  CHECK(about(small + 65024 * 4544, 7.22e9));
  // 60 x (8192 x 64 x (128 + 128 + 16) + 8 x 8192^2) + 65024 x 8192: 41.3 billion.
  CHECK(about(total(R"({"architectures": ["FalconForCausalLM"], "hidden_size": 8192,
    "num_hidden_layers": 60, "num_attention_heads": 128, "num_kv_heads": 8, "multi_query": true,
    "new_decoder_architecture": true, "bias": false, "vocab_size": 65024})"),
              41.3e9));
}

TEST_CASE("newer dense decoders have their published totals") {
  CHECK(total(R"({"architectures": ["GemmaForCausalLM"], "hidden_size": 3072,
    "intermediate_size": 24576, "num_hidden_layers": 28, "num_attention_heads": 16,
    "num_key_value_heads": 16, "vocab_size": 256000})") == 8'537'680'896);
  CHECK(total(R"({"architectures": ["Gemma3ForCausalLM"], "hidden_size": 1152,
    "intermediate_size": 6912, "num_hidden_layers": 26, "num_attention_heads": 4,
    "num_key_value_heads": 1, "head_dim": 256, "vocab_size": 262144, "sliding_window": 512,
    "max_position_embeddings": 32768})") == 999'885'952);
  CHECK(total(R"({"architectures": ["Olmo2ForCausalLM"], "hidden_size": 4096,
    "intermediate_size": 11008, "num_hidden_layers": 32, "num_attention_heads": 32,
    "vocab_size": 100352, "max_position_embeddings": 4096})") == 7'298'617'344);
  CHECK(total(R"({"architectures": ["CohereForCausalLM"], "hidden_size": 8192,
    "intermediate_size": 22528, "num_hidden_layers": 40, "num_attention_heads": 64,
    "num_key_value_heads": 64, "vocab_size": 256000, "max_position_embeddings": 8192})") ==
        34'980'831'232);
  CHECK(total(R"({"architectures": ["GlmForCausalLM"], "hidden_size": 4096, "head_dim": 128,
    "intermediate_size": 13696, "num_hidden_layers": 40, "num_attention_heads": 32,
    "num_key_value_heads": 2, "attention_bias": true, "vocab_size": 151552,
    "max_position_embeddings": 131072})") == 9'399'951'360);
  CHECK(about(total(R"({"architectures": ["SmolLM3ForCausalLM"], "hidden_size": 2048,
    "intermediate_size": 11008, "num_hidden_layers": 36, "num_attention_heads": 16,
    "num_key_value_heads": 4, "vocab_size": 128256, "max_position_embeddings": 65536})"),
              3.08e9));
}

// Gemma 3 4B leaves half of its fields to the defaults of the config class.
TEST_CASE("vision towers and projectors are part of the total") {
  CHECK(total(R"({"architectures": ["Gemma3ForConditionalGeneration"], "mm_tokens_per_image": 256,
    "text_config": {"hidden_size": 2560, "intermediate_size": 10240, "model_type": "gemma3_text",
                    "num_hidden_layers": 34, "sliding_window": 1024},
    "vision_config": {"hidden_size": 1152, "image_size": 896, "intermediate_size": 4304,
                      "num_hidden_layers": 27, "patch_size": 14}})") == 4'300'079'472);
  CHECK(total(R"({"architectures": ["Qwen2_5_VLForConditionalGeneration"], "hidden_size": 3584,
    "intermediate_size": 18944, "num_hidden_layers": 28, "num_attention_heads": 28,
    "num_key_value_heads": 4, "vocab_size": 152064, "max_position_embeddings": 128000,
    "vision_config": {"depth": 32, "hidden_size": 1280, "intermediate_size": 3420,
      "out_hidden_size": 3584, "patch_size": 14, "spatial_merge_size": 2}})") == 8'292'166'656);
  CHECK(total(R"({"architectures": ["Mistral3ForConditionalGeneration"], "spatial_merge_size": 2,
    "text_config": {"hidden_size": 5120, "intermediate_size": 32768, "num_hidden_layers": 40,
      "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 131072,
      "max_position_embeddings": 131072, "model_type": "mistral"},
    "vision_config": {"hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 24,
      "patch_size": 14, "image_size": 1540, "model_type": "pixtral"}})") == 24'011'361'280);
  // LLaVA-1.5 7B: 7.06 billion; its text part names hardly anything but the vocabulary.
  CHECK(about(total(R"({"architectures": ["LlavaForConditionalGeneration"],
    "text_config": {"model_type": "llama", "vocab_size": 32064, "max_position_embeddings": 4096},
    "vision_config": {"model_type": "clip_vision_model", "hidden_size": 1024, "image_size": 336,
      "intermediate_size": 4096, "num_hidden_layers": 24, "patch_size": 14}})"),
              7.06e9));
}

TEST_CASE("mixtures of experts have their published totals") {
  CHECK(about(total(R"({"architectures": ["Glm4MoeForCausalLM"], "hidden_size": 4096,
    "intermediate_size": 10944, "moe_intermediate_size": 1408, "num_hidden_layers": 46,
    "num_attention_heads": 96, "num_key_value_heads": 8, "head_dim": 128, "attention_bias": true,
    "n_routed_experts": 128, "n_shared_experts": 1, "num_experts_per_tok": 8,
    "first_k_dense_replace": 1, "vocab_size": 151552, "max_position_embeddings": 131072,
    "num_nextn_predict_layers": 1})"),
              106.9e9));  // GLM-4.5-Air
  CHECK(about(total(R"({"architectures": ["PhiMoEForCausalLM"], "hidden_size": 4096,
    "intermediate_size": 6400, "num_hidden_layers": 32, "num_attention_heads": 32,
    "num_key_value_heads": 8, "num_local_experts": 16, "num_experts_per_tok": 2,
    "attention_bias": true, "vocab_size": 32064, "max_position_embeddings": 4096})"),
              41.9e9));
  CHECK(about(total(R"({"architectures": ["OlmoeForCausalLM"], "hidden_size": 2048,
    "intermediate_size": 1024, "num_hidden_layers": 16, "num_attention_heads": 16,
    "num_experts": 64, "num_experts_per_tok": 8, "vocab_size": 50304,
    "max_position_embeddings": 4096})"),
              6.92e9));
  CHECK(about(total(R"({"architectures": ["KimiLinearForCausalLM"], "hidden_size": 2304,
    "intermediate_size": 9216, "moe_intermediate_size": 1024, "num_hidden_layers": 27,
    "num_attention_heads": 32, "kv_lora_rank": 512, "q_lora_rank": null, "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64, "v_head_dim": 128, "num_experts": 256, "num_experts_per_token": 8,
    "num_shared_experts": 1, "first_k_dense_replace": 1, "vocab_size": 163840,
    "model_max_length": 1048576, "linear_attn_config": {"num_heads": 32, "head_dim": 128,
      "short_conv_kernel_size": 4, "full_attn_layers": [4, 8, 12, 16, 20, 24, 27]}})"),
              49.1e9));
}

TEST_CASE("recurrent and hybrid models have their published totals") {
  CHECK(about(total(R"({"architectures": ["MambaForCausalLM"], "hidden_size": 2560,
    "num_hidden_layers": 64, "state_size": 16, "conv_kernel": 4, "time_step_rank": 160,
    "vocab_size": 50280})"),
              2.768e9));
  CHECK(about(total(R"({"architectures": ["Mamba2ForCausalLM"], "hidden_size": 4096,
    "num_hidden_layers": 64, "num_heads": 128, "head_dim": 64, "n_groups": 8, "state_size": 128,
    "conv_kernel": 4, "vocab_size": 32768})"),
              7.285e9));  // Mamba-Codestral-7B
  CHECK(about(total(R"({"architectures": ["JambaForCausalLM"], "hidden_size": 4096,
    "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32,
    "num_key_value_heads": 8, "attn_layer_period": 8, "attn_layer_offset": 4,
    "expert_layer_period": 2, "expert_layer_offset": 1, "num_experts": 16,
    "num_experts_per_tok": 2, "mamba_d_state": 16, "mamba_d_conv": 4, "mamba_expand": 2,
    "mamba_dt_rank": 256, "vocab_size": 65536, "max_position_embeddings": 262144})"),
              51.6e9));
  CHECK(about(total(R"({"architectures": ["Lfm2ForCausalLM"], "hidden_size": 2048,
    "block_ff_dim": 12288, "block_auto_adjust_ff_dim": true, "block_multiple_of": 256,
    "block_ffn_dim_multiplier": 1.0, "num_hidden_layers": 16, "num_attention_heads": 32,
    "num_key_value_heads": 8, "conv_L_cache": 3, "full_attn_idxs": [2, 5, 8, 10, 12, 14],
    "vocab_size": 65536, "max_position_embeddings": 128000})"),
              1.17e9));
  CHECK(about(total(R"({"architectures": ["Qwen3NextForCausalLM"], "hidden_size": 2048,
    "moe_intermediate_size": 512, "shared_expert_intermediate_size": 512, "num_hidden_layers": 48,
    "num_attention_heads": 16, "num_key_value_heads": 2, "head_dim": 256, "num_experts": 512,
    "num_experts_per_tok": 10, "decoder_sparse_step": 1, "full_attention_interval": 4,
    "linear_num_key_heads": 16, "linear_num_value_heads": 32, "linear_key_head_dim": 128,
    "linear_value_head_dim": 128, "linear_conv_kernel_dim": 4, "vocab_size": 151936,
    "max_position_embeddings": 262144})"),
              79.7e9));
}

}  // namespace headroom::hf_totals_test
