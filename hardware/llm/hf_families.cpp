// The one table of architectures. Families of one shape are rows; what a config says itself is not
// repeated here. Norms, biases and tied embeddings: the modelling and configuration files of
// Transformers (v4.57 and v5), or the repository's own code where a model brings it.

#include <algorithm>
#include <iterator>

#include "hardware/llm/hf_reader.hpp"

namespace headroom {
namespace {

constexpr HfBias kAlways{"", true};
constexpr HfBias kNever{"", false};
constexpr HfBias kAttentionBias{"attention_bias", false};

constexpr HfTraits kLlama{.o_bias = kAttentionBias, .mlp_bias = {"mlp_bias", false}};
// Wrapped configs leave out what equals LlamaConfig's defaults (llava-1.5).
constexpr HfTraits kWrappedLlama{
    .defaults = R"({"hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32,
                    "num_attention_heads": 32, "vocab_size": 32000,
                    "max_position_embeddings": 2048})"};
constexpr HfTraits kPlain{.qkv_bias = kNever};
constexpr HfTraits kMistral{.qkv_bias = kNever, .kv_heads = 8};
constexpr HfTraits kQwen2{.qkv_bias = kAlways, .windows = false};
constexpr HfTraits kQwen2Moe{.qkv_bias = {"qkv_bias", true}, .windows = false, .shared_gate = true};
constexpr HfTraits kQwen3{.o_bias = kAttentionBias, .qk_norm = HfQkNorm::head, .windows = false};
constexpr HfTraits kQwen3Next{.o_bias = kAttentionBias,
                              .qk_norm = HfQkNorm::head,
                              .shared_gate = true,
                              .output_gate = true,
                              .mtp_tables = false};
constexpr HfTraits kLatent{.mtp_tables = true};
constexpr HfTraits kLatentRouted{.router_bias = true, .mtp_tables = true};
constexpr HfTraits kKimiLinear{.qkv_bias = kNever, .router_bias = true};
constexpr HfTraits kMimo{.qkv_bias = {"attention_bias", true}, .windows = false};
constexpr HfTraits kGemma{.o_bias = kAttentionBias,
                          .tied = true,
                          .defaults = R"({"head_dim": 256, "max_position_embeddings": 8192})"};
constexpr HfTraits kGemma2{
    .o_bias = kAttentionBias,
    .norms = 4,
    .tied = true,
    .full_every = 2,
    .defaults = R"({"head_dim": 256, "max_position_embeddings": 8192, "sliding_window": 4096})"};
constexpr HfTraits kGemma3{
    .o_bias = kAttentionBias,
    .qk_norm = HfQkNorm::head,
    .norms = 4,
    .tied = true,
    .full_every = 6,
    .defaults = R"({"vocab_size": 262208, "hidden_size": 2304, "intermediate_size": 9216,
                    "num_hidden_layers": 26, "num_attention_heads": 8, "num_key_value_heads": 4,
                    "head_dim": 256, "max_position_embeddings": 131072, "sliding_window": 4096,
                    "model_type": "gemma3_text"})"};
constexpr HfTraits kGemma3n{
    .o_bias = kAttentionBias,
    .qk_norm = HfQkNorm::head,
    .norms = 4,
    .tied = true,
    .full_every = 5,
    .defaults = R"({"num_key_value_heads": 2, "head_dim": 256, "sliding_window": 512,
                    "max_position_embeddings": 32768, "vocab_size_per_layer_input": 262144})"};
constexpr HfTraits kGemma4{
    .o_bias = kAttentionBias,
    .qk_norm = HfQkNorm::head,
    .norms = 4,
    .tied = true,
    .full_every = 6,
    .defaults = R"({"head_dim": 256, "global_head_dim": 512, "sliding_window": 512,
                    "max_position_embeddings": 131072, "vocab_size_per_layer_input": 262144})"};
constexpr HfTraits kGlm{.qkv_bias = kAttentionBias};
constexpr HfTraits kGlm4{.qkv_bias = kAttentionBias, .norms = 4};
constexpr HfTraits kGlm4Moe{
    .qkv_bias = kAttentionBias, .qk_norm = HfQkNorm::config, .router_bias = true};
constexpr HfTraits kChatGlm{.qkv_bias = {"add_qkv_bias", true}};
constexpr HfTraits kGranite{.o_bias = kAttentionBias, .mlp_bias = {"mlp_bias", false}};
constexpr HfTraits kGptOss{.qkv_bias = {"attention_bias", true},
                           .o_bias = {"attention_bias", true},
                           .sinks = true,
                           .full_every = 2,
                           .router_bias = true,
                           .expert_bias = true};
constexpr HfTraits kMiniMax{.qkv_bias = kNever, .qk_norm = HfQkNorm::full};
constexpr HfTraits kOlmo2{.o_bias = kAttentionBias, .qk_norm = HfQkNorm::full, .full_every = 4};
constexpr HfTraits kCohere{.o_bias = kAttentionBias, .norms = 1, .tied = true};
constexpr HfTraits kCohere2{.o_bias = kAttentionBias, .norms = 1, .tied = true, .full_every = 4};
constexpr HfTraits kExaone4{.qkv_bias = kNever, .qk_norm = HfQkNorm::head};
constexpr HfTraits kSmolLm3{.o_bias = kAttentionBias, .tied = true, .windows = false};
constexpr HfTraits kInternLm2{.qkv_bias = {"bias", false}, .o_bias = {"bias", false}};
constexpr HfTraits kSeedOss{.qkv_bias = kAttentionBias,
                            .o_bias = {"attention_out_bias", false},
                            .mlp_bias = {"mlp_bias", false},
                            .qk_norm = HfQkNorm::none};
constexpr HfTraits kErnie{
    .qkv_bias = {"use_bias", false}, .o_bias = {"use_bias", false}, .tied = true};
constexpr HfTraits kStableLm{
    .qkv_bias = {"use_qkv_bias", false}, .o_bias = kNever, .layer_norm = true};
constexpr HfTraits kStarCoder2{.qkv_bias = {"use_bias", true},
                               .o_bias = {"use_bias", true},
                               .mlp_bias = {"use_bias", true},
                               .layer_norm = true,
                               .gated = false,
                               .tied = true};
constexpr HfTraits kPhi{.qkv_bias = kAlways,
                        .o_bias = kAlways,
                        .mlp_bias = kAlways,
                        .norms = 1,
                        .layer_norm = true,
                        .gated = false,
                        .head_bias = true};
constexpr HfTraits kPhiMoe{.o_bias = kAttentionBias, .layer_norm = true, .head_bias = true};
// The first decoders: biases everywhere, layer norms, MLPs of two matrices.
constexpr HfTraits kGpt2{.qkv_bias = kAlways,
                         .o_bias = kAlways,
                         .mlp_bias = kAlways,
                         .layer_norm = true,
                         .gated = false,
                         .tied = true,
                         .position_rows = 0};
constexpr HfTraits kGptNeoX{.qkv_bias = {"attention_bias", true},
                            .o_bias = {"attention_bias", true},
                            .mlp_bias = kAlways,
                            .layer_norm = true,
                            .gated = false};
constexpr HfTraits kGptJ{
    .mlp_bias = kAlways, .norms = 1, .layer_norm = true, .gated = false, .head_bias = true};
constexpr HfTraits kMpt{.gated = false, .tied = true};
constexpr HfTraits kBloom{.qkv_bias = kAlways,
                          .o_bias = kAlways,
                          .mlp_bias = kAlways,
                          .layer_norm = true,
                          .gated = false,
                          .tied = true};
constexpr HfTraits kOpt{.qkv_bias = {"enable_bias", true},
                        .o_bias = {"enable_bias", true},
                        .mlp_bias = {"enable_bias", true},
                        .layer_norm = true,
                        .gated = false,
                        .tied = true,
                        .position_rows = 2};
constexpr HfTraits kFalcon{.qkv_bias = {"bias", false},
                           .o_bias = {"bias", false},
                           .mlp_bias = {"bias", false},
                           .layer_norm = true,
                           .gated = false,
                           .tied = true,
                           .defaults = R"({"max_position_embeddings": 2048,
                                           "multi_query": true})"};
constexpr HfTraits kBigCode{.qkv_bias = kAlways,
                            .o_bias = kAlways,
                            .mlp_bias = kAlways,
                            .layer_norm = true,
                            .gated = false,
                            .tied = true,
                            .position_rows = 0,
                            .defaults = R"({"multi_query": true})"};
constexpr HfTraits kNemotronH{
    .o_bias = kAttentionBias, .mlp_bias = {"mlp_bias", false}, .norms = 1, .gated = false};
constexpr HfTraits kPlainNormed{.qkv_bias = kNever, .qk_norm = HfQkNorm::head};
constexpr HfTraits kPlainRouted{.qkv_bias = kNever, .qk_norm = HfQkNorm::head, .router_bias = true};
constexpr HfTraits kAfmoe{.qkv_bias = kNever,
                          .qk_norm = HfQkNorm::head,
                          .norms = 4,
                          .router_bias = true,
                          .output_gate = true};
constexpr HfTraits kFalconH1{.o_bias = kAttentionBias,
                             .mlp_bias = {"mlp_bias", false},
                             .unstated = HfMixer::full_and_recurrent};
constexpr HfTraits kLfm2{.qkv_bias = kNever, .qk_norm = HfQkNorm::head, .tied = true};
constexpr HfTraits kTied{.tied = true};

// Encoders; those with position_rows have learned positions and a pooler.
constexpr HfTraits kBert = kGpt2;
constexpr HfTraits kNomicBert{.qkv_bias = kNever, .layer_norm = true, .tied = true};
constexpr HfTraits kGteNew{
    .qkv_bias = kAlways, .o_bias = kAlways, .layer_norm = true, .tied = true};
// intermediate_size counts gate and up.
constexpr HfTraits kQwen{.qkv_bias = kAlways, .ffn_parts = 2};
constexpr HfTraits kMolmo{.qkv_bias = {"qkv_bias", true}, .ffn_parts = 2};

constexpr HfFamily kTextFamilies[] = {
    {"AfmoeForCausalLM", "afmoe", read_layers, kAfmoe},
    {"ApertusForCausalLM",
     "apertus",
     read_layers,
     {.o_bias = kAttentionBias, .qk_norm = HfQkNorm::head, .gated = false}},
    {"AquilaForCausalLM", "aquila", read_decoder, kLlama},
    {"ArceeForCausalLM",
     "arcee",
     read_decoder,
     {.o_bias = kAttentionBias, .mlp_bias = {"mlp_bias", false}, .gated = false}},
    {"BaiChuanForCausalLM", "baichuan", read_decoder, kPlain},
    {"BaichuanForCausalLM", "baichuan", read_decoder, kPlain},
    {"BailingHybridForCausalLM",
     "bailing_hybrid",
     read_layers,
     {.router_bias = true, .full_rank_delta = true}},
    {"BambaForCausalLM", "bamba", read_layers, kGranite},
    {"BertForSequenceClassification", "bert", read_encoder, kBert},
    {"BertModel", "bert", read_encoder, kBert},
    {"BitNetForCausalLM", "bitnet", read_decoder, {.qkv_bias = kNever, .norms = 3, .tied = true}},
    {"BloomForCausalLM", "bloom", read_bloom, kBloom},
    {"ChatGLMForConditionalGeneration", "chatglm", read_decoder, kChatGlm},
    {"ChatGLMModel", "chatglm", read_decoder, kChatGlm},
    {"Cohere2ForCausalLM", "cohere2", read_decoder, kCohere2},
    {"CohereForCausalLM", "cohere", read_decoder, kCohere},
    {"DeciLMForCausalLM", "nemotron-nas", read_block_configs, kLlama},
    {"DeepseekForCausalLM", "deepseek", read_decoder, kPlain},
    {"DeepseekV2ForCausalLM", "deepseek_v2", read_layers, kLatent},
    {"DeepseekV32ForCausalLM", "deepseek_v32", read_layers, kLatent},
    {"DeepseekV3ForCausalLM", "deepseek_v3", read_layers, kLatent},
    {"DeepseekV4ForCausalLM", "deepseek_v4", read_deepseek_v4, kPlain},
    {"Ernie4_5ForCausalLM", "ernie4_5", read_decoder, kErnie},
    {"Dots1ForCausalLM", "dots1", read_layers, kPlainRouted},
    {"Ernie4_5_MoeForCausalLM", "ernie4_5_moe", read_layers, kErnie},
    {"Exaone4ForCausalLM", "exaone4", read_decoder, kExaone4},
    {"ExaoneForCausalLM", "exaone", read_decoder, kPlain},
    {"ExaoneMoEForCausalLM", "exaone_moe", read_layers, kPlainRouted},
    {"FalconForCausalLM", "falcon", read_falcon, kFalcon},
    {"FalconH1ForCausalLM", "falcon_h1", read_layers, kFalconH1},
    {"FalconMambaForCausalLM", "falcon_mamba", read_mamba, kTied},
    {"GPT2LMHeadModel", "gpt2", read_decoder, kGpt2},
    {"GPTBigCodeForCausalLM", "gpt_bigcode", read_decoder, kBigCode},
    {"GPTJForCausalLM", "gptj", read_decoder, kGptJ},
    {"GPTNeoXForCausalLM", "gpt_neox", read_decoder, kGptNeoX},
    {"Gemma2ForCausalLM", "gemma2", read_decoder, kGemma2},
    {"Gemma3ForCausalLM", "gemma3_text", read_decoder, kGemma3},
    {"Gemma3nForCausalLM", "gemma3n_text", read_gemma3n, kGemma3n},
    {"Gemma4ForCausalLM", "gemma4_text", read_gemma4, kGemma4},
    {"GemmaForCausalLM", "gemma", read_decoder, kGemma},
    {"Glm4ForCausalLM", "glm4", read_decoder, kGlm4},
    {"Glm4MoeForCausalLM", "glm4_moe", read_decoder, kGlm4Moe},
    {"Glm4MoeLiteForCausalLM", "glm4_moe_lite", read_layers, kLatentRouted},
    {"GlmForCausalLM", "glm", read_decoder, kGlm},
    {"GlmMoeDsaForCausalLM", "glm_moe_dsa", read_layers, kLatentRouted},
    {"GptOssForCausalLM", "gpt_oss", read_decoder, kGptOss},
    {"GraniteForCausalLM", "granite", read_decoder, kGranite},
    {"GraniteMoeForCausalLM", "granitemoe", read_decoder, kGranite},
    {"GraniteMoeHybridForCausalLM", "granitemoehybrid", read_layers, kGranite},
    {"GraniteMoeSharedForCausalLM", "granitemoeshared", read_decoder, kGranite},
    {"HYV3ForCausalLM", "hy_v3", read_layers, kPlainRouted},
    {"HunYuanDenseV1ForCausalLM", "hunyuan_v1_dense", read_layers, kPlainNormed},
    {"HunYuanMoEV1ForCausalLM", "hunyuan_v1_moe", read_layers, kPlainNormed},
    {"InternLM2ForCausalLM", "internlm2", read_decoder, kInternLm2},
    {"InternLM3ForCausalLM",
     "internlm3",
     read_decoder,
     {.qkv_bias = {"qkv_bias", false}, .o_bias = {"bias", false}, .mlp_bias = {"bias", false}}},
    {"InternLMForCausalLM", "internlm", read_decoder, kInternLm2},
    {"JambaForCausalLM", "jamba", read_layers, kPlain},
    {"KimiK2ForCausalLM", "kimi_k2", read_layers, kLatent},
    {"KimiLinearForCausalLM", "kimi_linear", read_layers, kKimiLinear},
    {"LLaMAForCausalLM", "", read_decoder, kLlama},
    {"Lfm2ForCausalLM", "lfm2", read_lfm2, kLfm2},
    {"Lfm2MoeForCausalLM", "lfm2_moe", read_lfm2, kLfm2},
    {"Llama4ForCausalLM", "llama4_text", read_llama4, kLlama},
    {"LlamaForCausalLM", "llama", read_decoder, kLlama},
    {"LongcatFlashForCausalLM", "longcat_flash", read_longcat, {.router_bias = true}},
    {"Mamba2ForCausalLM", "mamba2", read_mamba2, kPlain},
    {"MambaForCausalLM", "mamba", read_mamba, kTied},
    {"MiMoForCausalLM", "mimo", read_decoder, kMimo},
    {"MiMoV2FlashForCausalLM", "mimo_v2_flash", read_layers, kPlain},
    {"MiniMaxM2ForCausalLM", "minimax_m2", read_decoder, kMiniMax},
    {"MiniMaxM3ForCausalLM", "minimax_m3", read_layers, kPlainRouted},
    {"MiniMaxM3SparseForCausalLM", "minimax_m3_vl_text", read_layers, kPlainRouted},
    {"Ministral3ForCausalLM", "ministral3", read_decoder, kMistral},
    {"MPTForCausalLM", "mpt", read_decoder, kMpt},
    {"Mistral4ForCausalLM", "mistral4", read_layers, kLatent},
    {"MistralForCausalLM", "mistral", read_decoder, kMistral},
    {"MixtralForCausalLM", "mixtral", read_decoder, kMistral},
    {"MPNetModel", "mpnet", read_encoder, kBert},
    {"MolmoForCausalLM", "molmo", read_decoder, kMolmo},
    {"NemotronForCausalLM",
     "nemotron",
     read_decoder,
     {.o_bias = kAttentionBias,
      .mlp_bias = {"mlp_bias", false},
      .layer_norm = true,
      .gated = false}},
    {"NemotronHForCausalLM", "nemotron_h", read_nemotron_h, kNemotronH},
    {"NewModel", "new", read_encoder, kGteNew},
    {"NomicBertModel", "nomic_bert", read_encoder, kNomicBert},
    {"OPTForCausalLM", "opt", read_opt, kOpt},
    {"Olmo2ForCausalLM", "olmo2", read_decoder, kOlmo2},
    {"Olmo3ForCausalLM", "olmo3", read_decoder, kOlmo2},
    {"OlmoeForCausalLM", "olmoe", read_decoder, kOlmo2},
    {"OrionForCausalLM", "orion", read_decoder, {.layer_norm = true}},
    {"Phi3ForCausalLM", "phi3", read_decoder, kPlain},
    {"PhiForCausalLM", "phi", read_decoder, kPhi},
    {"PhiMoEForCausalLM", "phimoe", read_decoder, kPhiMoe},
    {"PhimoeForCausalLM", "phimoe", read_decoder, kPhiMoe},
    {"QWenLMHeadModel", "qwen", read_decoder, kQwen},
    {"Qwen2ForCausalLM", "qwen2", read_decoder, kQwen2},
    {"Qwen2MoeForCausalLM", "qwen2_moe", read_decoder, kQwen2Moe},
    {"Qwen3ForCausalLM", "qwen3", read_decoder, kQwen3},
    {"Qwen3MoeForCausalLM", "qwen3_moe", read_decoder, kQwen3},
    {"Qwen3NextForCausalLM", "qwen3_next", read_layers, kQwen3Next},
    {"Qwen3_5ForCausalLM", "qwen3_5_text", read_layers, kQwen3Next},
    {"Qwen3_5MoeForCausalLM", "qwen3_5_moe_text", read_layers, kQwen3Next},
    {"RobertaForSequenceClassification", "roberta", read_encoder, kBert},
    {"RobertaModel", "roberta", read_encoder, kBert},
    {"SeedOssForCausalLM", "seed_oss", read_decoder, kSeedOss},
    {"SmolLM3ForCausalLM", "smollm3", read_decoder, kSmolLm3},
    {"SolarOpenForCausalLM", "solar_open", read_layers, kPlain},
    {"StableLmForCausalLM", "stablelm", read_decoder, kStableLm},
    {"Starcoder2ForCausalLM", "starcoder2", read_decoder, kStarCoder2},
    {"Step3p5ForCausalLM", "step3p5", read_layers, kPlainRouted},
    {"Step3p7FlashForCausalLM", "step3p7", read_layers, kPlainRouted},
    {"XLMRobertaForSequenceClassification", "xlm-roberta", read_encoder, kBert},
    {"XLMRobertaModel", "xlm-roberta", read_encoder, kBert},
    {"YiForCausalLM", "yi", read_decoder, kLlama},
};

constexpr HfFamily wrapper(std::string_view architecture, std::string_view text, HfVision vision,
                           const HfTraits& traits = {}) {
  HfFamily row;
  row.architecture = architecture;
  row.text = text;
  row.vision = vision;
  row.traits = traits;
  return row;
}

constexpr HfFamily kWrappers[] = {
    wrapper("AyaVisionForConditionalGeneration", "Cohere2ForCausalLM", HfVision::clip),
    wrapper("Gemma3ForConditionalGeneration", "Gemma3ForCausalLM", HfVision::gemma3),
    wrapper("Gemma3nForConditionalGeneration", "Gemma3nForCausalLM", HfVision::none),
    wrapper("Gemma4ForConditionalGeneration", "Gemma4ForCausalLM", HfVision::gemma4),
    wrapper("Glm4vMoeForConditionalGeneration", "Glm4MoeForCausalLM", HfVision::by_fields),
    wrapper("InternVLChatModel", "Qwen2ForCausalLM", HfVision::internvit),
    wrapper("KimiK25ForConditionalGeneration", "DeepseekV3ForCausalLM", HfVision::moonvit),
    wrapper("KimiK3ForConditionalGeneration", "KimiLinearForCausalLM", HfVision::moonvit),
    wrapper("KimiVLForConditionalGeneration", "DeepseekV3ForCausalLM", HfVision::moonvit),
    wrapper("Llama4ForConditionalGeneration", "Llama4ForCausalLM", HfVision::llama4),
    wrapper("LlavaForConditionalGeneration", "LlamaForCausalLM", HfVision::clip, kWrappedLlama),
    wrapper("LlavaNextForConditionalGeneration", "LlamaForCausalLM", HfVision::clip, kWrappedLlama),
    wrapper("LlavaOnevisionForConditionalGeneration", "Qwen2ForCausalLM", HfVision::clip),
    wrapper("MiniMaxM3SparseForConditionalGeneration", "MiniMaxM3ForCausalLM", HfVision::clip),
    wrapper("MiniMaxM3VLForConditionalGeneration", "MiniMaxM3ForCausalLM", HfVision::clip),
    wrapper("Mistral3ForConditionalGeneration", "MistralForCausalLM", HfVision::pixtral),
    wrapper("Qwen2AudioForConditionalGeneration", "Qwen2ForCausalLM", HfVision::none),
    wrapper("Qwen2VLForConditionalGeneration", "Qwen2ForCausalLM", HfVision::qwen2),
    wrapper("Qwen2_5OmniForConditionalGeneration", "Qwen2ForCausalLM", HfVision::qwen2),
    wrapper("Qwen2_5OmniModel", "Qwen2ForCausalLM", HfVision::qwen2),
    wrapper("Qwen2_5_VLForConditionalGeneration", "Qwen2ForCausalLM", HfVision::qwen2),
    wrapper("Qwen3OmniMoeForConditionalGeneration", "Qwen3MoeForCausalLM", HfVision::qwen3),
    wrapper("Qwen3VLForConditionalGeneration", "Qwen3ForCausalLM", HfVision::qwen3),
    wrapper("Qwen3VLMoeForConditionalGeneration", "Qwen3MoeForCausalLM", HfVision::qwen3),
    wrapper("Qwen3_5ForConditionalGeneration", "Qwen3_5ForCausalLM", HfVision::qwen3),
    wrapper("Qwen3_5MoeForConditionalGeneration", "Qwen3_5MoeForCausalLM", HfVision::qwen3),
    wrapper("VoxtralForConditionalGeneration", "LlamaForCausalLM", HfVision::none),
};

}  // namespace

const std::vector<HfFamily>& hf_families() {
  static const std::vector<HfFamily> families = [] {
    std::vector<HfFamily> all(std::begin(kTextFamilies), std::end(kTextFamilies));
    all.insert(all.end(), std::begin(kWrappers), std::end(kWrappers));
    std::ranges::sort(all, {}, &HfFamily::architecture);
    return all;
  }();
  return families;
}

const HfFamily& hf_family_by_fields() {
  static constexpr HfFamily kByFields{
      .architecture = "", .model_type = "", .read = read_by_fields, .vision = HfVision::by_fields};
  return kByFields;
}

const HfFamily* find_hf_family(std::string_view architecture) {
  const auto found = std::ranges::find(hf_families(), architecture, &HfFamily::architecture);
  return found == hf_families().end() ? nullptr : &*found;
}

const HfFamily* find_hf_model_type(std::string_view model_type) {
  if (model_type.empty()) return nullptr;
  const auto found = std::ranges::find(hf_families(), model_type, &HfFamily::model_type);
  return found == hf_families().end() ? nullptr : &*found;
}

}  // namespace headroom
