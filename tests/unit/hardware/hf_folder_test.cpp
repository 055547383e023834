// Configs as published, collected in the shared folder.

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "hardware/llm/hf_config.hpp"
#include "hardware/llm/kv_geometry.hpp"
#include "hardware/llm/parameters.hpp"

namespace headroom::hf_folder_test {
namespace {

namespace fs = std::filesystem;

fs::path folder() { return fs::path(HEADROOM_SHARED_DIR) / "catalog/hf_configs"; }

bool collected() {
  if (fs::exists(folder())) return true;
  WARN("skipped: no collected configs at " << folder().string());
  return false;
}

// Each file is read once: the largest name hundreds of modules.
const ModelSpec& load(const std::string& name) {
  static std::map<std::string, ModelSpec> read;
  const auto found = read.find(name);
  if (found != read.end()) return found->second;
  return read.emplace(name, load_hf_config(folder() / (name + "_config.json"))).first->second;
}

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const auto& entry : fs::directory_iterator(folder())) {
    const std::string file = entry.path().filename().string();
    if (!file.ends_with("_config.json") || file.ends_with("hf_quant_config.json")) continue;
    all.push_back(file.substr(0, file.size() - std::string("_config.json").size()));
  }
  std::ranges::sort(all);
  return all;
}

bool within(std::int64_t value, double published, double part) {
  return std::abs(static_cast<double>(value) - published) < part * published;
}

}  // namespace

TEST_CASE("every collected config is read") {
  if (!collected()) return;
  CHECK(names().size() == 78);  // 97 files, 19 of them beside another one
  for (const std::string& name : names()) {
    INFO(name);
    REQUIRE_NOTHROW(load(name));
    const ModelSpec& m = load(name);
    CHECK(m.id == name);
    CHECK(m.max_position >= 4096);
    CHECK(params_active(m) <= params_total(m));
    CHECK(kv_bytes_per_token(m, {}, {}) > 0);
    CHECK(grouped_kv_layout(m, {}, {}, 0, {}).block_bytes > 0);
  }
}

// The last part of a repository's name, in small letters, is what the files are called after.
TEST_CASE("collected configs have the totals of the collected catalog") {
  if (!collected()) return;
  std::ifstream file(folder().parent_path() / "models.json");
  const nlohmann::json rows = nlohmann::json::parse(file).at("models");
  const auto small = [](std::string text) {
    std::ranges::transform(text, text.begin(), [](char c) {
      return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    });
    return text;
  };
  int compared = 0;
  for (const std::string& name : names()) {
    const std::string last = small(name.substr(name.find("--") + 2));
    for (const nlohmann::json& row : rows) {
      const std::string repo = row.at("hf_repo");
      if (small(repo.substr(repo.find('/') + 1)) != last) continue;
      INFO(name);
      CHECK(params_total(load(name)) == row.at("params_total").get<std::int64_t>());
      CHECK(kv_bytes_per_token(load(name), {}, {}) ==
            row.at("kv_bytes_per_token_16bit").get<std::int64_t>());
      ++compared;
    }
  }
  CHECK(compared >= 15);
}

TEST_CASE("collected configs have the totals on their model cards") {
  if (!collected()) return;
  const std::map<std::string, double> published{
      {"moonshotai--Kimi-K2-Instruct", 1.03e12},
      {"Qwen--Qwen3.5-35B-A3B", 35e9},
      {"nvidia--NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", 31.6e9},
      {"nvidia--NVIDIA-Nemotron-3-Super-120B-A12B-FP8", 120.7e9},
      {"nvidia--Nemotron-H-56B-Base-8K", 56.3e9},
      {"MiniMaxAI--MiniMax-M2.5", 229e9},
      {"zai-org--GLM-5", 744e9},
      {"XiaomiMiMo--MiMo-V2-Flash", 309e9},
      {"deepseek-ai--DeepSeek-V4-Flash", 284e9},
      {"nvidia--Gemma-4-31B-IT-NVFP4", 31.3e9}};
  for (const auto& [name, total] : published) {
    INFO(name << ": " << params_total(load(name)));
    CHECK(within(params_total(load(name)), total, 0.01));
  }
  // Safetensors metadata.
  CHECK(params_total(load("blis--llama-4-scout-17b-16e-instruct-fp8-dynamic")) == 108'641'793'536);
  CHECK(params_total(load("Qwen--Qwen3-VL-8B-Instruct")) == 8'767'123'696);
  // "A3B" of Nemotron 3 Nano: 3.2 billion without the embedding, 3.6 with (its report).
  CHECK(within(params_active(load("nvidia--NVIDIA-Nemotron-3-Nano-30B-A3B-BF16")), 3.6e9, 0.01));
}

// Index files of the checkpoints: DeepSeek-R1 688,586,727,753 bytes (with the prediction layer),
// gpt-oss-20b 13,761,264,768; Qwen3-32B-FP8 about 34 GB.
TEST_CASE("quantised checkpoints weigh what is shipped") {
  if (!collected()) return;
  CHECK(within(checkpoint_bytes(load("deepseek-ai--DeepSeek-R1")), 688.587e9, 0.001));
  CHECK(within(checkpoint_bytes(load("openai--gpt-oss-20b")), 13.761e9, 0.001));
  CHECK(within(checkpoint_bytes(load("Qwen--Qwen3-32B-FP8")), 34.3e9, 0.005));
  CHECK(load("deepseek-ai--DeepSeek-R1").unloaded_params > 13'000'000'000);
}

TEST_CASE("KV bytes of collected configs are the known ones") {
  if (!collected()) return;
  CHECK(kv_bytes_per_token(load("deepseek-ai--DeepSeek-V3"), {}, {}) == 70'272);
  CHECK(kv_bytes_per_token(load("openai--gpt-oss-20b"), {}, {}) == 49'152);
  CHECK(kv_bytes_per_token(load("blis--qwen2.5-7b-instruct"), {}, {}) == 57'344);
}

// Qwen3.5-35B-A3B: a state of 32 heads x 128 x 128 x 4 bytes and 3 x 8192 x 2 of the convolution
// against 2 x 2 x 256 x 2 bytes per token: 2,146,304 / 32,768 is 65.5, so 66 x 16 tokens.
TEST_CASE("recurrent states grow the attention block to 528 to 2128 tokens") {
  if (!collected()) return;
  const auto block = [](const std::string& name) {
    return grouped_kv_layout(load(name), {}, {}, 0, {}).block_tokens;
  };
  CHECK(block("Qwen--Qwen3.5-35B-A3B") == 1056);
  CHECK(block("Qwen--Qwen3.5-27B") == 784);
  for (const char* name : {"Qwen--Qwen3.5-122B-A10B", "Qwen--Qwen3.5-397B-A17B"}) {
    CHECK(block(name) >= 528);
    CHECK(block(name) <= 2128);
  }
}

TEST_CASE("what ModelOpt leaves out differs from layer to layer") {
  if (!collected()) return;
  const ModelSpec& nano = load("nvidia--NVIDIA-Nemotron-3-Nano-30B-A3B-NVFP4");
  CHECK(nano.kv_dtype == Dtype::fp8);
  CHECK(nano.layer(0).recurrent->format.dtype == Dtype::nvfp4);
  CHECK(nano.layer(4).recurrent->format.dtype == Dtype::bf16);  // excluded by name
  CHECK(nano.layer(5).attention->format.dtype == Dtype::bf16);
  CHECK(nano.layer(1).moe->format.dtype == Dtype::nvfp4);

  const ModelSpec& kimi = load("moonshotai--Kimi-K2.5");
  CHECK(kimi.layer(0).mlp->format.dtype == Dtype::bf16);
  CHECK(kimi.layer(1).attention->format.dtype == Dtype::bf16);
  CHECK(kimi.layer(1).moe->shared_format.dtype == Dtype::bf16);
  CHECK(kimi.layer(1).moe->format == WeightFormat{Dtype::int4, 32, 16});

  const ModelSpec& qwen = load("nvidia--Qwen3.6-35B-A3B-NVFP4");
  CHECK(qwen.layer(0).recurrent->format.dtype == Dtype::fp8);
  CHECK(qwen.layer(0).moe->format.dtype == Dtype::nvfp4);
  CHECK(qwen.head_format.dtype == Dtype::nvfp4);

  const ModelSpec& v4 = load("deepseek-ai--DeepSeek-V4-Flash");
  CHECK(v4.layer(0).moe->format.dtype == Dtype::mxfp4);
  CHECK(v4.layer(0).attention->format.dtype == Dtype::fp8);
  CHECK(load("nvidia--DeepSeek-V4-Flash-NVFP4").layer(0).moe->format.dtype == Dtype::nvfp4);
  CHECK(load("nvidia--DeepSeek-V4-Flash-NVFP4").layer(0).attention->format.dtype == Dtype::fp8);
}

}  // namespace headroom::hf_folder_test
