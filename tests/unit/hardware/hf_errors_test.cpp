// Every error says where, what and how to go on.

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <string>

#include "hardware/llm/hf_config.hpp"
#include "sim/kernel/errors.hpp"

namespace headroom::hf_errors_test {
namespace {

using Catch::Matchers::Contains;

std::string error_of(const std::string& json) {
  try {
    (void)read_hf_config({json, "config.json"});
  } catch (const ConfigError& e) {
    return e.what();
  }
  return "no error";
}

// A complete Llama with one more field, which replaces an earlier one of its name.
std::string llama_error(const std::string& architecture, const std::string& field) {
  try {
    (void)read_hf_config(
        {R"({"architectures": ["LlamaForCausalLM"], "hidden_size": 64, "intermediate_size": 128,
             "num_hidden_layers": 4, "num_attention_heads": 4, "vocab_size": 100,
             "max_position_embeddings": 512})",
         "config.json"},
        {}, {"{\"architectures\": [\"" + architecture + "\"], " + field + "}", "mine.json"});
  } catch (const ConfigError& e) {
    return e.what();
  }
  return "no error";
}

std::string llama_error(const std::string& field) { return llama_error("LlamaForCausalLM", field); }

}  // namespace

TEST_CASE("a number beyond any that JSON's readers hold is refused", "[hf_errors]") {
  CHECK_THAT(error_of(R"({"hidden_size": 1e999})"),
             Contains("config.json: not JSON: ") && Contains("number overflow parsing '1e999'"));
}

TEST_CASE("missing fields are named all at once, with an override to write") {
  const std::string text = error_of(R"({"architectures": ["LlamaForCausalLM"],
                                        "num_attention_heads": 32, "hidden_size": 4096})");
  CHECK_THAT(text, Contains("config.json: missing for LlamaForCausalLM: "));
  CHECK_THAT(text, Contains("/vocab_size") && Contains("/num_hidden_layers") &&
                       Contains("/intermediate_size"));
  CHECK_THAT(text, Contains(R"({"intermediate_size":14336,"num_hidden_layers":32,)"));
}

TEST_CASE("fields of a nested config are named where they are") {
  CHECK_THAT(error_of(R"({"architectures": ["Qwen3VLForConditionalGeneration"],
                          "text_config": {"hidden_size": 64}})"),
             Contains("/text_config/vocab_size") && Contains(R"({"text_config":{)"));
}

TEST_CASE("an architecture that is not known is named with the nearest and a way out") {
  const std::string text = error_of(R"({"architectures": ["Qwen3ForCasualLM"]})");
  CHECK_THAT(text, Contains("/architectures/0") && Contains("nearest: Qwen3ForCausalLM"));
  CHECK_THAT(text, Contains(R"({"architectures": ["Qwen3ForCausalLM"]})"));
  CHECK_THAT(error_of("{}"), Contains("missing for a model: /architectures"));
}

TEST_CASE("text that is no JSON object is an error with the file") {
  CHECK_THAT(error_of("{\"a\": "), Contains("config.json: not JSON"));
  CHECK_THAT(error_of("[1, 2]"), Contains("config.json: not a JSON object"));
  CHECK_THAT(error_of("<html>"), Contains("config.json: not JSON"));
}

TEST_CASE("values of the wrong type or size are errors with pointer and value") {
  CHECK_THAT(llama_error(R"("hidden_size": "large")"),
             Contains("/hidden_size: \"large\": a whole"));
  CHECK_THAT(llama_error(R"("hidden_size": 64.5)"), Contains("/hidden_size: 64.5"));
  CHECK_THAT(llama_error(R"("hidden_size": 0)"), Contains("/hidden_size: 0"));
  CHECK_THAT(llama_error(R"("hidden_size": 18446744073709551615)"), Contains("/hidden_size"));
  CHECK_THAT(llama_error(R"("vocab_size": -5)"), Contains("/vocab_size: -5"));
  CHECK_THAT(llama_error(R"("tie_word_embeddings": 1)"), Contains("true or false"));
  CHECK_THAT(llama_error(R"("torch_dtype": "float8_e4m3fn")"), Contains("/torch_dtype"));
  CHECK_THAT(llama_error(R"("rope_scaling": [4])"), Contains("/rope_scaling: [4]: an object"));
  CHECK_THAT(llama_error(R"("rope_scaling": {"type": "linear", "factor": 0})"),
             Contains("/rope_scaling/factor"));
  CHECK_THAT(llama_error(R"("num_hidden_layers": 100000)"), Contains("at most 10000"));
  CHECK_THAT(
      llama_error(
          R"("intermediate_size": 16000000, "num_hidden_layers": 9999, "hidden_size": 65536)"),
      Contains("10^15 parameters"));
}

TEST_CASE("fields that contradict each other are errors") {
  CHECK_THAT(llama_error(R"("hidden_size": 66)"), Contains("divisible by 4 attention heads"));
  CHECK(llama_error(R"("hidden_size": 66, "head_dim": 16)") == "no error");
  CHECK_THAT(llama_error(R"("num_key_value_heads": 8)"), Contains("divisor of the 4"));
  CHECK_THAT(llama_error(R"("num_key_value_heads": 3)"), Contains("/num_key_value_heads: 3"));
  CHECK_THAT(llama_error(R"("sliding_window": 64, "layer_types": ["full_attention"])"),
             Contains("1 entries for 4 layers"));
  CHECK_THAT(llama_error("MixtralForCausalLM",
                         R"("num_key_value_heads": 4, "num_local_experts": 4,
                            "num_experts_per_tok": 5)"),
             Contains("5 of 4 experts"));
  CHECK_THAT(llama_error("NemotronHForCausalLM", R"("hybrid_override_pattern": "M-")"),
             Contains("2 entries for 4 layers"));
  CHECK_THAT(llama_error("NemotronHForCausalLM", R"("hybrid_override_pattern": "--?-")"),
             Contains("/hybrid_override_pattern") && Contains("letters M, *, - and E"));
}

TEST_CASE("a way of quantising that is not known is an error with the known ones") {
  CHECK_THAT(llama_error(R"("quantization_config": {"quant_method": "aqlm"})"),
             Contains("/quantization_config/quant_method: \"aqlm\"") && Contains("awq, gptq"));
  CHECK_THAT(llama_error(R"("quantization_config": {"quant_method": "fp8",
                            "weight_block_size": [128]})"),
             Contains("/weight_block_size: [128]: two sizes"));
  CHECK_THAT(llama_error(R"("quantization_config": {"quant_algo": "FP3"})"),
             Contains("/quant_algo: \"FP3\""));
  CHECK_THAT(llama_error(R"("quantization_config": {"quant_method": "compressed-tensors",
                            "config_groups": {}, "ignore": ["re:["]})"),
             Contains("/ignore"));
}

TEST_CASE("a folder without config.json is an error with the path") {
  CHECK_THROWS_WITH(load_hf_config("no/such/model"), Contains("no/such/model"));
}

TEST_CASE("Infinity and NaN, as Python writes them, are read as null") {
  CHECK(llama_error(R"("time_step_limit": [0.0, Infinity], "x": -Infinity, "y": NaN,
                       "z": "NaN \" Infinity")") == "no error");
}

}  // namespace headroom::hf_errors_test
