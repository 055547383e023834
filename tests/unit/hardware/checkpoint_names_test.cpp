#include "hardware/checkpoint_names.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <utility>

namespace headroom::checkpoint_names_test {
namespace {

NamedCheckpoint named(std::string_view name) {
  static const Catalog kCatalog = Catalog::embedded();
  return find_checkpoint(kCatalog, name).value_or(NamedCheckpoint{});
}

}  // namespace

TEST_CASE("a name of the catalog is itself, in any case", "[names]") {
  CHECK(named("llama-3.1-8b").model == "llama-3.1-8b");
  CHECK(named("META-llama/llama-3.1-8B-instruct").model == "llama-3.1-8b");
  CHECK(named("meta-llama/Llama-3.1-8B-Instruct").note.empty());
}

TEST_CASE("paths, blanks and missing organisations do not matter", "[names]") {
  CHECK(named("/models/Qwen2.5-32B-Instruct/").model == "qwen2.5-32b");
  CHECK(named("Llama 3.2 3B Instruct").model == "llama-3.2-3b");
  // The folder of a checkpoint that the catalog has is that checkpoint.
  CHECK(named("/path/to/Qwen3-235B-A22B-FP8").model == "qwen3-235b-a22b-fp8");
  CHECK(named("/path/to/Qwen3-235B-A22B-FP8").quantization.empty());
}

TEST_CASE("folders of caches are the repositories that they hold", "[names]") {
  const std::string hub = "/cache/huggingface/hub/models--Qwen--Qwen3-8B";
  const std::string snapshot = hub + "/snapshots/b968826d9c46dd6066d109eabc6255188de91218";
  for (const std::string& path :
       {snapshot, snapshot + "/", hub, hub + "/", std::string("models--Qwen--Qwen3-8B"),
        std::string("C:\\hub\\models--Qwen--Qwen3-8B\\snapshots\\b968")}) {
    const NamedCheckpoint found = named(path);
    CHECK(found.model == "qwen3-8b");
    CHECK(found.quantization.empty());
    CHECK(found.note == path + " is read as qwen3-8b");
    CHECK(repository_of(path) == "Qwen/Qwen3-8B");
  }
  // Somebody else's quantisation in the cache is one, too.
  CHECK(named("hub/models--someone--Qwen3-8B-AWQ/snapshots/1").quantization == "awq");
  // The last part of a Windows path, and dots as ModelScope's cache writes them.
  CHECK(named("D:\\models\\Qwen3-8B\\").model == "qwen3-8b");
  CHECK(named("/hub/Qwen/Qwen2___5-14B-Instruct").model == "qwen2.5-14b");
  CHECK(named("models--nobody--nothing/snapshots/1").model.empty());
  CHECK(repository_of("/my-models--x/y") == "/my-models--x/y");
}

TEST_CASE("other people's quantisations are the model with a format", "[names]") {
  const NamedCheckpoint awq = named("cpatonn/Qwen3-30B-A3B-Thinking-2507-AWQ-4bit");
  CHECK(awq.model == "qwen3-30b-a3b-2507");
  CHECK(awq.quantization == "awq");
  CHECK_FALSE(awq.note.empty());
  CHECK(named("someone/MiniMax-M2.7-AWQ").model == "minimax-m2.7");
  CHECK(named("x/Qwen2.5-7B-Instruct-GPTQ-Int4").quantization == "gptq");
  CHECK(named("x/Llama-3.1-8B-Instruct-quantized.w4a16").quantization == "int4");
  CHECK(named("Qwen/Qwen2.5-72B-Instruct-GPTQ-Int8").quantization == "int8");  // not GPTQ's 4 bits
  CHECK(named("unsloth/Qwen3-8B-unsloth-bnb-4bit").quantization == "bitsandbytes");
  CHECK(named("RedHatAI/Qwen3-8B-FP8-block").quantization == "fp8");
  const NamedCheckpoint part = named("/m/Llama-3.3-70B-Instruct-IQ4_XS-00001-of-00002.gguf");
  CHECK(part.model == "llama-3.3-70b");
  CHECK(part.quantization == "q4_0");
  CHECK(named("amd/Llama-3.1-8B-Instruct-FP8-KV").quantization == "fp8");
  CHECK(named("RedHatAI/Qwen3-8B-NVFP4A16").quantization == "nvfp4");
  CHECK(named("x/Llama-3.1-8B-Instruct-abliterated").model == "llama-3.1-8b");
  const NamedCheckpoint uncensored = named("AEON-7/Gemma-4-26B-A4B-it-Uncensored-NVFP4");
  CHECK(uncensored.model == "gemma-4-26b-a4b");
  CHECK(uncensored.quantization == "nvfp4");
  CHECK(named("google/gemma-4-26B-A4B-it-qat-q4_0-unquantized").quantization.empty());
  CHECK(named("/models/Qwen3.8-27B BF16").model == "qwen3.5-27b");
  // NVIDIA's NVFP4 of this model says nothing about somebody else's.
  CHECK(named("nvidia/Qwen3.6-35B-A3B-NVFP4").model == "qwen3.6-35b-a3b-nvfp4");
  CHECK(named("someone/Qwen3.6-35B-A3B-NVFP4").model == "qwen3.5-35b-a3b");
  CHECK(named("someone/Qwen3.6-35B-A3B-NVFP4").quantization == "nvfp4");
  // The same without an organisation, once something says that it is not NVIDIA's.
  const auto of_others =
      find_checkpoint(Catalog::embedded(), "/models/Qwen3.6-35B-A3B-NVFP4/", true);
  REQUIRE(of_others.has_value());
  CHECK(of_others->model == "qwen3.5-35b-a3b");
  CHECK(of_others->quantization == "nvfp4");
  // Its makers publish this one in int4, NVIDIA in NVFP4.
  CHECK(named("moonshotai/Kimi-K2-Thinking").model == "kimi-k2-thinking");
  CHECK(named("nvidia/Kimi-K2-Thinking-NVFP4").model == "kimi-k2-thinking-nvfp4");
}

TEST_CASE("GGUF files and Ollama tags say their mixture", "[names]") {
  CHECK(named("Qwen2.5-14B-Instruct-Q4_K_M.gguf").model == "qwen2.5-14b");
  CHECK(named("Qwen2.5-14B-Instruct-Q4_K_M.gguf").quantization == "q4_k_m");
  CHECK(named("unsloth/gemma-4-26B-A4B-it-UD-Q4_K_XL.gguf").model == "gemma-4-26b-a4b");
  const std::pair<const char*, const char*> mixtures[] = {
      {"Qwen3.6-27B-UD-Q8_K_XL.gguf", "q8_0"},   {"Qwen3.6-27B-UD-Q5_K_XL.gguf", "q5_k_m"},
      {"Qwen3.6-27B-Q4_K_L.gguf", "q4_k_m"},     {"Qwen3.6-27B-Q3_K_S.gguf", "q3_k_m"},
      {"Qwen3.6-27B-UD-Q3_K_XL.gguf", "q3_k_m"}, {"Qwen3.6-27B-IQ4_XS.gguf", "q4_0"}};
  for (const auto& [file, quantization] : mixtures) {
    INFO(file);
    CHECK(named(file).model == named("Qwen3.6-27B").model);
    CHECK(named(file).quantization == quantization);
  }
  CHECK(named("deepseek-r1:14b").model == "deepseek-r1-distill-qwen-14b");
  CHECK(named("Tulu 3 405B Q4_K_M").model == "llama-3.1-405b");
  CHECK(named("llama3.1:8b-instruct-fp16").in_16_bits);
  CHECK_FALSE(named("llama3.1:8b").in_16_bits);
}

TEST_CASE("a format of llama.cpp that is not known is one only behind a model's name", "[names]") {
  const Catalog catalog = Catalog::embedded();
  CHECK(unknown_gguf_format(catalog, "/models/Qwen3.6-27B-UD-IQ2_XXS.gguf") == "iq2_xxs");
  CHECK(unknown_gguf_format(catalog, "unheard-of-IQ2_XXS.gguf").empty());
  CHECK(unknown_gguf_format(catalog, "llama-3.1-8b").empty());
  CHECK(unknown_gguf_format(catalog, "q5_1").empty());
  const std::vector<std::string> known = gguf_formats();
  CHECK(std::ranges::count(known, "q3_k_s") == 1);
  CHECK(std::ranges::count(known, "awq") == 0);
}

TEST_CASE("dashes and words of training do not matter where no other model has them", "[names]") {
  CHECK(named("llama3.1:8b").model == "llama-3.1-8b");
  CHECK(named("llama3.1:8b-instruct-q4_K_M").model == "llama-3.1-8b");
  CHECK(named("llama3.1:8b-instruct-q4_K_M").quantization == "q4_k_m");
  CHECK(named("Qwen/Qwen2.5-14B-Instruct-AWQ").model == "qwen2.5-14b");
  CHECK(named("Qwen/Qwen2.5-14B-Instruct-AWQ").quantization == "awq");
  CHECK(named("bartowski/Qwen2.5-7B-Instruct-GGUF").model == "qwen2.5-7b");
  CHECK(named("qwen2.5:7b").model == "qwen2.5-7b");
  CHECK(named("openai/gpt-oss-20b-chat").model == "gpt-oss-20b");
  // Two models of the catalog, one of them for chat.
  CHECK(named("someone/gemma-3-27b-it").model == "gemma-3-27b-it");
}

TEST_CASE("what no model is called stays unknown", "[names]") {
  CHECK(named("someone/unheard-of-AWQ").model.empty());
  CHECK(named("AWQ").model.empty());
  CHECK(named("").model.empty());
}

}  // namespace headroom::checkpoint_names_test
