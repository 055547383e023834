// Every error says where, what and how to go on.

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <string>

#include "hardware/llm/hf_config.hpp"
#include "tests/support/about.hpp"

namespace headroom::hf_errors_test {
namespace {

using Catch::Matchers::Contains;

test::About error_of(const std::string& json) {
  return test::about([&] { return read_hf_config({json, "config.json"}); });
}

// A complete Llama with one more field, which replaces an earlier one of its name.
test::About llama_error(const std::string& architecture, const std::string& field) {
  return test::about([&] {
    return read_hf_config(
        {R"({"architectures": ["LlamaForCausalLM"], "hidden_size": 64, "intermediate_size": 128,
             "num_hidden_layers": 4, "num_attention_heads": 4, "vocab_size": 100,
             "max_position_embeddings": 512})",
         "config.json"},
        {}, {"{\"architectures\": [\"" + architecture + "\"], " + field + "}", "mine.json"});
  });
}

test::About llama_error(const std::string& field) { return llama_error("LlamaForCausalLM", field); }

}  // namespace

TEST_CASE("a number beyond any that JSON's readers hold is refused", "[hf_errors]") {
  const test::About about = error_of(R"({"hidden_size": 1e999})");
  CHECK(about.kind == ErrorKind::unreadable);
  CHECK_THAT(about.complaint.problem, Contains("1e999"));
}

TEST_CASE("missing fields are named all at once, with an override to write") {
  const test::About about = error_of(R"({"architectures": ["LlamaForCausalLM"],
                                         "num_attention_heads": 32, "hidden_size": 4096})");
  CHECK(about.kind == ErrorKind::missing);
  CHECK(about.complaint.origin == "config.json");
  const std::string& text = about.complaint.problem;
  CHECK_THAT(text, Contains("/vocab_size") && Contains("/num_hidden_layers") &&
                       Contains("/intermediate_size"));
  CHECK_THAT(text, Contains(R"({"intermediate_size":14336,"num_hidden_layers":32,)"));
}

TEST_CASE("fields of a nested config are named where they are") {
  CHECK_THAT(error_of(R"({"architectures": ["Qwen3VLForConditionalGeneration"],
                          "text_config": {"hidden_size": 64}})")
                 .complaint.problem,
             Contains("/text_config/vocab_size") && Contains(R"({"text_config":{)"));
}

TEST_CASE("an architecture that is not known is named with the nearest where fields are missing") {
  const test::About about = error_of(R"({"architectures": ["Qwen3ForCasualLM"]})");
  CHECK(about.kind == ErrorKind::missing);
  CHECK_THAT(about.complaint.problem,
             Contains(R"({"architectures": ["Qwen3ForCausalLM"]})") && Contains("/hidden_size"));
  CHECK(error_of("{}").kind == ErrorKind::missing);
  CHECK_THAT(error_of("{}").complaint.problem, Contains("missing for a model"));
}

TEST_CASE("text that is no JSON object is an error with the file") {
  CHECK(error_of("{\"a\": ") == test::unreadable_at(""));
  CHECK(error_of("<html>") == test::unreadable_at(""));
  CHECK(error_of("[1, 2]") == test::value_at(""));
  CHECK(error_of("[1, 2]").complaint.origin == "config.json");
}

TEST_CASE("values of the wrong type or size are errors with pointer and value") {
  for (const char* size : {"\"large\"", "64.5", "0", "18446744073709551615"}) {
    CAPTURE(size);
    CHECK(llama_error(std::string(R"("hidden_size": )") + size) == test::value_at("/hidden_size"));
  }
  CHECK(llama_error(R"("vocab_size": -5)") == test::value_at("/vocab_size"));
  CHECK(llama_error(R"("tie_word_embeddings": 1)") == test::value_at("/tie_word_embeddings"));
  CHECK(llama_error(R"("torch_dtype": "float8_e4m3fn")") == test::value_at("/torch_dtype"));
  CHECK(llama_error(R"("rope_scaling": [4])") == test::value_at("/rope_scaling"));
  CHECK(llama_error(R"("rope_scaling": {"type": "linear", "factor": 0})") ==
        test::value_at("/rope_scaling/factor"));
  CHECK(llama_error(R"("num_hidden_layers": 100000)") == test::value_at("/num_hidden_layers"));
  const test::About large = llama_error(
      R"("intermediate_size": 16000000, "num_hidden_layers": 9999, "hidden_size": 65536)");
  CHECK_THAT(large.complaint.problem, Contains("10^15 parameters"));
}

TEST_CASE("fields that contradict each other are errors") {
  CHECK(llama_error(R"("hidden_size": 66)") == test::value_at("/hidden_size"));
  CHECK(llama_error(R"("hidden_size": 66, "head_dim": 16)") == test::no_error());
  CHECK(llama_error(R"("num_key_value_heads": 8)") == test::value_at("/num_key_value_heads"));
  CHECK(llama_error(R"("num_key_value_heads": 3)") == test::value_at("/num_key_value_heads"));
  CHECK(llama_error(R"("sliding_window": 64, "layer_types": ["full_attention"])") ==
        test::value_at("/layer_types"));
  CHECK(llama_error("MixtralForCausalLM",
                    R"("num_key_value_heads": 4, "num_local_experts": 4,
                       "num_experts_per_tok": 5)") == test::value_at("/num_experts_per_tok"));
  for (const char* pattern : {"M-", "--?-"}) {
    CAPTURE(pattern);
    CHECK(llama_error("NemotronHForCausalLM",
                      R"("hybrid_override_pattern": ")" + std::string(pattern) + "\"") ==
          test::value_at("/hybrid_override_pattern"));
  }
}

TEST_CASE("a way of quantising that is not known is an error with the known ones") {
  const test::About method = llama_error(R"("quantization_config": {"quant_method": "aqlm"})");
  CHECK(method == test::value_at("/quantization_config/quant_method"));
  CHECK_THAT(method.complaint.problem, Contains("awq, gptq"));
  CHECK(llama_error(R"("quantization_config": {"quant_method": "fp8",
                       "weight_block_size": [128]})") ==
        test::value_at("/quantization_config/weight_block_size"));
  CHECK(llama_error(R"("quantization_config": {"quant_algo": "FP3"})") ==
        test::value_at("/quantization_config/quant_algo"));
  CHECK(llama_error(R"("quantization_config": {"quant_method": "compressed-tensors",
                       "config_groups": {}, "ignore": ["re:["]})") ==
        test::value_at("/quantization_config/ignore"));
}

TEST_CASE("a folder without config.json is an error with the path") {
  CHECK_THROWS_WITH(load_hf_config("no/such/model"), Contains("no/such/model"));
}

TEST_CASE("Infinity and NaN, as Python writes them, are read as null") {
  CHECK(llama_error(R"("time_step_limit": [0.0, Infinity], "x": -Infinity, "y": NaN,
                       "z": "NaN \" Infinity")") == test::no_error());
}

}  // namespace headroom::hf_errors_test
