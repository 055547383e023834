// The rows of hardware/catalog/models.json, as the Hugging Face reader understands them.

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "hardware/catalog.hpp"
#include "hardware/llm/hf_config.hpp"
#include "hardware/llm/kv_geometry.hpp"
#include "hardware/llm/parameters.hpp"

namespace headroom::catalog_models_test {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

constexpr double kGib = 1024.0 * 1024.0 * 1024.0;

Json read_json(const fs::path& path) {
  std::ifstream in(path);
  REQUIRE(in.good());
  return Json::parse(in);
}

const Json& rows() {
  static const Json kFile =
      read_json(fs::path(HEADROOM_SOURCE_DIR) / "hardware/catalog/models.json");
  return kFile.at("models");
}

ModelSpec read_row(const Json& row) {
  const std::string id = row.at("id").get<std::string>();
  const std::string config = row.at("config").dump();
  std::string quantization;
  if (row.contains("quantization")) {
    quantization = Json{{"quantization", row.at("quantization")}}.dump();
  }
  return read_hf_config({config, id}, {quantization, id + " quantization"});
}

const Json& row_of(const std::string& id) {
  const auto found = std::ranges::find_if(rows(), [&](const Json& r) { return r.at("id") == id; });
  REQUIRE(found != rows().end());
  return *found;
}

ModelSpec model(const std::string& id) { return read_row(row_of(id)); }

// Where the tests may read collected files; empty when they are not there.
fs::path shared_catalog() {
  fs::path path = fs::path(HEADROOM_SHARED_DIR) / "catalog";
  if (fs::exists(path / "models.json")) return path;
  WARN("skipped: no collected models at " << path.string());
  return {};
}

// The collected file that a row shortens, from its source; empty for the others.
std::string collected_file(const std::string& source) {
  constexpr std::array<std::array<std::string_view, 2>, 2> kPrefixes{
      {{"aiconfigurator ", ""}, {"inference-sim ", "blis--"}}};
  for (const auto& [prefix, name] : kPrefixes) {
    if (!source.starts_with(prefix)) continue;
    return std::string(name) + source.substr(prefix.size()) + "_config.json";
  }
  return "";
}

}  // namespace

TEST_CASE("every model of the catalog is read") {
  const std::set<std::string> known{"id",           "hf_repo", "aliases", "config",
                                    "quantization", "source",  "notes",   "pooling"};
  for (const Json& row : rows()) {
    INFO(row.at("id"));
    for (const auto& [key, value] : row.items()) CHECK(known.contains(key));
    CHECK_FALSE(row.at("source").get<std::string>().empty());
    ModelSpec spec;
    REQUIRE_NOTHROW(spec = read_row(row));
    CHECK(spec.layers() > 0);
    CHECK(params_active(spec) <= params_total(spec));
  }
}

TEST_CASE("ids of catalog models are sorted, ids and repositories unique") {
  std::vector<std::string> ids;
  std::set<std::string> repositories;
  for (const Json& row : rows()) {
    ids.push_back(row.at("id"));
    INFO(ids.back());
    // A checkpoint that engines make themselves while loading another has none.
    if (row.contains("hf_repo")) CHECK(repositories.insert(row.at("hf_repo")).second);
  }
  CHECK(std::ranges::is_sorted(ids));
  CHECK(std::ranges::adjacent_find(ids) == ids.end());
}

TEST_CASE("catalog models have the parameter totals of the collected catalog") {
  const fs::path shared = shared_catalog();
  if (shared.empty()) return;
  const Json collected = read_json(shared / "models.json");
  CHECK(collected.at("models").size() == 36);
  for (const Json& row : collected.at("models")) {
    INFO(row.at("id"));
    CHECK(params_total(model(row.at("id"))) == row.at("params_total").get<std::int64_t>());
  }
}

// Totals that Hugging Face shows, recalled; the first six follow from the geometry as well, as text
// decoder + tower + projector:
//   gemma-3-27b-it 27,009,346,304 + 416,866,032 + 6,194,304
//   gemma-3-12b 11,766,034,176 + 416,866,032 + 4,424,832
//   mistral-small-3.1-24b 23,572,403,200 + 403,305,472 + 35,652,608
//   qwen2-vl-7b 7,615,616,512 + 631,183,360 + 44,575,744
//   codellama-7b: Llama-2-7B's 6,738,415,616 and 16 rows of 4096 more in both tables
//   granite-3.1-8b: 40 * (41,943,040 + 157,286,400 + 8,192) + 49,155 * 4,096 + 4,096
TEST_CASE("catalog models have their published totals, towers included") {
  const std::vector<std::pair<std::string, std::int64_t>> published{
      {"gemma-3-27b-it", 27'432'406'640},
      {"gemma-3-12b", 12'187'325'040},
      {"mistral-small-3.1-24b", 24'011'361'280},
      {"qwen2-vl-7b", 8'291'375'616},
      {"codellama-7b", 6'738'546'688},
      {"granite-3.1-8b", 8'170'848'256},
      {"gemma-2-2b", 2'614'341'888},
      {"llama-3.2-3b", 3'212'749'824},
      {"phi-4", 14'659'507'200},
      {"kimi-dev-72b", 72'706'203'648}};
  for (const auto& [id, total] : published) {
    INFO(id);
    CHECK(params_total(model(id)) == total);
  }
}

TEST_CASE("catalog models have the parameters that a record of repositories gives") {
  const Json record =
      read_json(fs::path(HEADROOM_SOURCE_DIR) / "hardware/catalog/measured/parameter_counts.json");
  const Catalog catalog = Catalog::embedded();
  CHECK(record.at("counts").size() > 250);
  for (const auto& [id, count] : record.at("counts").items()) {
    INFO(id);
    const ModelSpec spec = catalog.model(id);
    const auto stored = static_cast<double>(params_total(spec) + spec.unloaded_params);
    CHECK(stored == Approx(count.get<double>()).epsilon(0.01));
  }
}

TEST_CASE("catalog models are as large as their names and model cards say") {
  // Billions, rounded there.
  const std::vector<std::pair<std::string, double>> published{
      {"kimi-vl-a3b", 16.4},
      {"granite-vision-3.3-2b", 2.98},
      {"minimax-m2.5", 229},
      {"kimi-k2", 1026},
      {"mimo-v2-flash", 309},
      {"deepseek-v4-flash", 284},
      {"deepseek-v4-pro", 1573},
      {"minimax-m3", 426},
      {"kimi-k3", 2780},
      {"glm-5.2", 743},
      {"glm-5", 744},
      {"llama-4-scout", 109},
      {"nemotron-h-56b", 56},
      {"qwen3.5-27b", 27},
      {"qwen3.5-35b-a3b", 35},
      {"qwen3-vl-8b", 8.77},
      {"gemma-4-31b-nvfp4", 31},
      {"yi-34b", 34.4},
      {"codellama-34b", 33.7},
      {"mistral-nemo-12b", 12.25},
      {"nemotron-3-nano-30b-a3b", 31.6},
      {"qwen3.5-397b-a17b", 397},
      {"qwen3.5-122b-a10b", 122},
      {"nemotron-3-super-120b-a12b-fp8", 120},
      {"laguna-s-2.1", 117.5},  // 235.1 GB in 16 bits
      {"glm-4.7-flash", 30},
      {"ernie-4.5-21b-a3b", 21.8},
      {"kimi-linear-48b-a3b", 49.1},
      {"nemotron-3-nano-4b", 3.97},
      {"nemotron-3-super-120b-a12b", 120},
      {"nemotron-3-ultra-550b-a55b", 550},
      {"ministral-3-3b", 3.8},  // decoder and tower, as the two below
      {"ministral-3-8b", 8.8},
      {"ministral-3-14b", 13.9},
      {"devstral-small-2-24b", 24},
      {"devstral-2-123b", 123},
      {"exaone-4.0-32b", 32},
      {"qwen1.5-moe-a2.7b", 14.3},
      {"granite-3.2-2b", 2.53},
      {"granite-4.0-h-tiny", 7},
      {"granite-4.0-h-small", 32},
      {"step-3.5-flash", 196},
      {"qwen2.5-vl-7b", 8.29},
      {"llava-1.5-7b", 7.06},
      {"qwen3-4b", 4.02}};
  for (const auto& [id, billions] : published) {
    INFO(id);
    CHECK(static_cast<double>(params_total(model(id))) / 1e9 == Approx(billions).epsilon(0.025));
  }
}

namespace {

bool collected_without_exclusions(std::string_view id) {
  return id == "nemotron-3-super-120b-a12b-fp8" || id == "nemotron-3-super-120b-a12b-nvfp4";
}

}  // namespace

TEST_CASE("a shortened config means what the collected one says") {
  const fs::path shared = shared_catalog();
  if (shared.empty()) return;
  int compared = 0;
  for (const Json& row : rows()) {
    const std::string file = collected_file(row.at("source"));
    if (file.empty()) continue;
    INFO(row.at("id"));
    ++compared;
    const ModelSpec full = load_hf_config(shared / "hf_configs" / file);
    const ModelSpec spec = read_row(row);
    CHECK(spec.architecture == full.architecture);
    CHECK(spec.hidden == full.hidden);
    CHECK(spec.vocab == full.vocab);
    CHECK(spec.max_position == full.max_position);
    CHECK(spec.tie_embeddings == full.tie_embeddings);
    CHECK(spec.dtype == full.dtype);
    CHECK(spec.embedding_format == full.embedding_format);
    CHECK(spec.head_format == full.head_format);
    CHECK(spec.kv_dtype == full.kv_dtype);
    CHECK(spec.order == full.order);
    CHECK(spec.unloaded_params == full.unloaded_params);
    if (collected_without_exclusions(row.at("id").get<std::string>())) {
      // NVIDIA's documentation keeps more in 8 and 16 bits than the collected quantisation says.
      CHECK(params_total(spec) == params_total(full));
      CHECK(model_parts(spec).bytes_total() > model_parts(full).bytes_total());
      continue;
    }
    CHECK((spec.kinds == full.kinds));
    // The reader numbers prediction layers after the last one. Where the checkpoint names them
    // apart
    // ("mtp.0"), a pattern over all layers then reaches them and a collected list by number does
    // not.
    const bool named_apart =
        spec.architecture.starts_with("Qwen3_5") || spec.architecture.starts_with("DeepseekV4");
    if (!named_apart) CHECK(spec.unloaded_bytes == full.unloaded_bytes);
    if (row.at("id") == "llama-4-scout") continue;  // the collected file lacks the tower
    CHECK(spec.vision.has_value() == full.vision.has_value());
    CHECK(params_total(spec) == params_total(full));
    CHECK(model_parts(spec).bytes_total() == model_parts(full).bytes_total());
  }
  CHECK(compared == 72);
}

TEST_CASE("a quantised model is also known in 16 bits") {
  const Catalog catalog = Catalog::embedded();
  for (const char* id : {"deepseek-v3", "gpt-oss-20b", "deepseek-r1-0528-nvfp4-v2"}) {
    INFO(id);
    const ModelSpec plain = catalog.model_in_16_bits(id);
    CHECK(model_parts(plain).bytes_total() == 2 * params_total(plain));
    CHECK(params_total(plain) == params_total(catalog.model(id)));
    CHECK(model_parts(catalog.model(id)).bytes_total() < 2 * params_total(plain));
  }
}

TEST_CASE("catalog models weigh what start-up logs of vLLM say") {
  // GiB per GPU as logged by 0.19 (public accuracy campaign of llm-d-planner); the last three by
  // older versions (V0 of 2024 and 2025, PR 12569). The checkpoint and up to 1.2 % of padding and
  // repacking; only Gemma-3-12B, whose total is the published one, logs 2.7 % more.
  struct Logged {
    std::string id;
    std::int64_t tensor;
    double gib;
    double at_most = 1.012;
  };
  const std::vector<Logged> logged{{"codellama-7b", 1, 12.56},
                                   {"gemma-2-27b", 1, 50.72},
                                   {"gemma-2-2b", 1, 4.9},
                                   {"gemma-3-12b", 1, 23.31, 1.03},
                                   {"gemma-3-27b-it", 1, 51.45},
                                   {"granite-3.1-8b", 1, 15.25},
                                   {"granite-vision-3.3-2b", 1, 5.54},
                                   {"kimi-dev-72b", 2, 67.82},
                                   {"kimi-dev-72b", 4, 34.01},
                                   {"kimi-vl-a3b", 1, 30.74},
                                   {"llama-3.1-8b", 1, 14.99},
                                   {"llama-3.1-8b", 2, 7.51},
                                   {"llama-3.1-8b-w8a8", 1, 8.49},
                                   {"llama-3.3-70b-fp8-dynamic", 2, 33.88},
                                   {"llama-3.3-70b-w8a8", 2, 33.88},
                                   {"mistral-small-3.1-24b", 1, 44.76},
                                   {"mixtral-8x7b", 2, 43.51},
                                   {"mistral-small-3.1-24b-w8a8", 1, 24.07},
                                   {"qwen2.5-7b", 4, 3.55},
                                   {"qwen2.5-7b-fp8-dynamic", 1, 8.14},
                                   {"qwen2.5-7b-w8a8", 1, 8.14},
                                   {"phi-4-bnb-4bit", 1, 8.51},
                                   {"qwen2-vl-7b", 1, 15.51},
                                   {"qwen2.5-vl-7b", 1, 15.67, 1.015},
                                   {"llama-3.1-70b-w8a8", 1, 67.72}};
  for (const Logged& log : logged) {
    INFO(log.id << " on " << log.tensor);
    const ByteCount bytes = rank_weight_bytes(model(log.id), Sharding{.tensor = log.tensor});
    const double ratio = log.gib * kGib / static_cast<double>(bytes);
    CHECK(ratio > 0.997);  // logged with two digits
    CHECK(ratio < log.at_most);
  }
}

TEST_CASE("catalog models keep the KV bytes per token that logs show") {
  // 2 * layers * KV heads * head size * 2 bytes; Kimi-VL: 27 * (512 + 64) * 2. Gemma 4: llama.cpp
  // logs 768 MiB for 131,072 cells and 30 MiB for 2,560 (E2B), 1,024 MiB for 65,536 and 40 MiB for
  // 1,024 (E4B) of the layers that see everything and of those with a window.
  const std::map<std::string, ByteCount> expected{
      {"llama-3.2-3b", 114'688},          {"phi-4", 204'800},        {"qwen2-vl-7b", 57'344},
      {"granite-3.1-8b", 163'840},        {"codellama-7b", 524'288}, {"kimi-vl-a3b", 31'104},
      {"granite-vision-3.3-2b", 81'920},  {"qwen2.5-0.5b", 12'288},  {"kimi-dev-72b", 327'680},
      {"mistral-small-3.1-24b", 163'840}, {"gemma-4-e2b", 18'432},   {"gemma-4-e4b", 57'344}};
  for (const auto& [id, bytes] : expected) {
    INFO(id);
    CHECK(kv_bytes_per_token(model(id), KvFormat{}, Sharding{}) == bytes);
  }
}

TEST_CASE("catalog models have the windowed and the recurrent layers of their cards") {
  using Layers = std::array<std::int64_t, 3>;  // all of the past, a window of it, recurrent
  // Every 6th layer of Gemma 3 and 4 sees everything, every 2nd of Gemma 2 and gpt-oss, every 4th
  // of Llama 4 and Qwen3.5, 9 of MiMo-V2-Flash; Nemotron-3-Nano: 6 of attention, 23 of Mamba.
  const std::vector<std::pair<std::string, Layers>> expected{
      {"gemma-3-27b", {10, 52, 0}},       {"gemma-3-27b-it", {10, 52, 0}},
      {"gemma-3-12b", {8, 40, 0}},        {"gemma-4-31b-nvfp4", {10, 50, 0}},
      {"gemma-2-2b", {13, 13, 0}},        {"gemma-2-27b", {23, 23, 0}},
      {"gpt-oss-20b", {12, 12, 0}},       {"mistral-7b-v0.1", {0, 32, 0}},
      {"mistral-7b-v0.3", {32, 0, 0}},    {"phi-3-mini", {0, 32, 0}},
      {"llama-4-scout", {12, 36, 0}},     {"mimo-v2-flash", {9, 39, 0}},
      {"qwen3.5-35b-a3b", {10, 0, 30}},   {"nemotron-3-nano-30b-a3b", {6, 0, 23}},
      {"gemma-4-e2b", {7, 28, 0}},        {"gemma-4-e4b", {7, 35, 0}},
      {"exaone-4.0-32b", {16, 48, 0}},    {"kimi-linear-48b-a3b", {7, 0, 20}},
      {"nemotron-3-nano-4b", {4, 0, 21}}, {"granite-4.0-h-small", {4, 0, 36}}};
  for (const auto& [id, layers] : expected) {
    INFO(id);
    const ModelSpec spec = model(id);
    Layers found{};
    for (std::size_t i = 0; i < spec.order.size(); ++i) {
      const LayerKind& kind = spec.layer(i);
      if (kind.recurrent) ++found[2];
      if (kind.attention) ++found[kind.attention->window_tokens > 0 ? 1 : 0];
    }
    CHECK(found == layers);
  }
}

TEST_CASE("quantised catalog models are read in their formats") {
  CHECK(main_dtype(model("llama-3.1-8b-w8a8")) == Dtype::int8);
  CHECK(main_dtype(model("llama-3.3-70b-fp8-dynamic")) == Dtype::fp8);
  CHECK(main_dtype(model("phi-4-bnb-4bit")) == Dtype::nf4);
  CHECK(main_dtype(model("gpt-oss-20b")) == Dtype::mxfp4);
  for (const Json& row : rows()) {
    const std::string id = row.at("id");
    INFO(id);
    const ModelSpec spec = read_row(row);
    if (id.ends_with("-nvfp4")) CHECK(main_dtype(spec) == Dtype::nvfp4);
    if (id.ends_with("-fp8")) CHECK(main_dtype(spec) == Dtype::fp8);
    // Those of DeepSeek V4, MiniMax-M3 and Laguna leave the cache's type to the engine.
    const bool open = id.starts_with("deepseek-v4-") || id.starts_with("minimax-m3-") ||
                      id.starts_with("laguna-");
    if (id.ends_with("-nvfp4") && !open) {
      CHECK(spec.kv_dtype == Dtype::fp8);
    }
  }
}

TEST_CASE("checkpoints that are served are known by their name, in any case") {
  const Catalog catalog = Catalog::embedded();
  struct Served {
    const char* name;
    Dtype format;
    double gb;  // of the files
  };
  // Llama-3.3-70B: 68.45e9 elements of matrices, embedding and head of 1.05e9 each in 16 bit:
  // 68.45 + 4.20 = 72.7 GB in FP8, 68.45 x 4.5 / 8 + 4.20 = 42.7 in NVFP4. DeepSeek-R1: 684.5e9
  // with its prediction layer; in FP8 1.85e9 of embedding and head have a second byte, and blocks
  // of 128 x 128 have 4: 686.5; in NVFP4 these, the layer (11.5e9) and 4.3e9 of attention have
  // 16 bit: 667 x 4.5 / 8 + 17.7 x 2 = 411. MiniMax-M2.5: experts of 224.7e9 in NVFP4, 4.0e9 in
  // 16 bit: 134. Kimi-K2.5: 1,016e9 and 10e9: 591. Qwen3.5-397B: 402e9 with its prediction layer.
  // Gemma-4-26B: experts of 22.8e9 in NVFP4, 3.0e9 in 16 bit: 18.8. Ministral-3-8B: 7.4e9 in FP8,
  // two tables of 0.54e9 and a tower of 0.42e9 in 16 bit: 10.4.
  for (const Served& served : {
           Served{"nvidia/Llama-3.3-70B-Instruct-FP8", Dtype::fp8, 72.7},
           Served{"nvidia/Llama-3.3-70B-Instruct-FP4", Dtype::nvfp4, 42.7},
           Served{"RedHatAI/Llama-3.3-70B-Instruct-FP8-dynamic", Dtype::fp8, 72.7},
           Served{"deepseek-ai/DeepSeek-R1-0528", Dtype::fp8, 686.5},
           Served{"nvidia/DeepSeek-R1-0528-FP4-V2", Dtype::nvfp4, 411},
           Served{"Qwen/Qwen3.5-397B-A17B-FP8", Dtype::fp8, 403},
           Served{"nvidia/MiniMax-M2.5-NVFP4", Dtype::nvfp4, 134},
           Served{"NVIDIA/kimi-k2.5-nvfp4", Dtype::nvfp4, 591},
           Served{"nvidia/Gemma-4-26B-A4B-NVFP4", Dtype::nvfp4, 18.8},
           Served{"mistralai/Ministral-3-8B-Instruct-2512", Dtype::fp8, 10.4},
           Served{"deepseek-ai/DeepSeek-Math-V2", Dtype::fp8, 689},
       }) {
    INFO(served.name);
    REQUIRE(catalog.has_model(served.name));
    const ModelSpec spec = catalog.model(served.name);
    CHECK(main_dtype(spec) == served.format);
    CHECK(static_cast<double>(checkpoint_bytes(spec)) / 1e9 == Approx(served.gb).epsilon(0.02));
  }
}

}  // namespace headroom::catalog_models_test
