#include "hardware/budget/vllm.hpp"

#include <array>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "hardware/catalog.hpp"
#include "sim/kernel/errors.hpp"

namespace headroom {
namespace {

const Catalog& catalog() {
  static const Catalog instance = Catalog::embedded();
  return instance;
}

ModelSpec geometry(const char* id, std::int64_t layers, std::int64_t hidden, std::int64_t heads,
                   std::int64_t kv_heads, std::int64_t head_dim, std::int64_t ffn,
                   std::int64_t vocab, std::int64_t max_position) {
  ModelSpec m;
  m.id = id;
  m.layers = layers;
  m.hidden = hidden;
  m.q_heads = heads;
  m.kv_heads = kv_heads;
  m.head_dim = head_dim;
  m.ffn = ffn;
  m.vocab = vocab;
  m.max_position = max_position;
  return m;
}

// The dense text models of the measured rows. Three have no catalog row: geometry from the README
// of the catalog facts. Vision, mixture-of-experts and pipeline-parallel rows are left out.
std::optional<ModelSpec> measured_model(const std::string& name) {
  static const std::map<std::string, const char*> kInCatalog{
      {"RedHatAI/Llama-3.3-70B-Instruct-fp8-dynamic", "llama-3.1-70b"},
      {"redhatai/Llama-3.3-70B-Instruct-quantized.w8a8", "llama-3.1-70b"},
      {"RedHatAI/Qwen2.5-7B-Instruct-fp8-dynamic", "qwen2.5-7b"},
      {"RedHatAI/Qwen2.5-7B-Instruct-quantized.w8a8", "qwen2.5-7b"},
      {"Qwen/Qwen2.5-7B-Instruct", "qwen2.5-7b"},
      {"google/gemma-2-27b-it", "gemma-2-27b"},
      {"meta-llama/Llama-3.1-8B-Instruct", "llama-3.1-8b"},
      {"RedHatAI/Meta-Llama-3.1-8B-Instruct-quantized.w8a8", "llama-3.1-8b"},
      {"moonshotai/Kimi-Dev-72B", "qwen2.5-72b"}};
  const auto found = kInCatalog.find(name);
  if (found != kInCatalog.end()) return catalog().model(found->second);
  if (name == "codellama/CodeLlama-7b-hf") {
    return geometry("codellama-7b", 32, 4096, 32, 32, 128, 11008, 32016, 16384);
  }
  if (name == "ibm-granite/granite-3.1-8b-instruct") {
    ModelSpec m = geometry("granite-3.1-8b", 40, 4096, 32, 8, 128, 12800, 49155, 131072);
    m.tie_embeddings = true;
    return m;
  }
  if (name == "google/gemma-2-2b-it") {
    ModelSpec m = geometry("gemma-2-2b", 26, 2304, 8, 4, 256, 9216, 256000, 8192);
    m.tie_embeddings = true;
    m.norms_per_layer = 4;
    return m;
  }
  return std::nullopt;
}

struct MeasuredRow {
  std::string model, tp, pp, length, dtype, quantization, kv_dtype, weights, activation, growth,
      graph_estimate, graph, kv_gib, kv_tokens, kv_blocks;
};

std::vector<MeasuredRow> read_rows(const std::filesystem::path& path) {
  std::vector<MeasuredRow> rows;
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    std::stringstream fields(line);
    MeasuredRow r;
    for (std::string* f : {&r.model, &r.tp, &r.pp, &r.length, &r.dtype, &r.quantization,
                           &r.kv_dtype, &r.weights, &r.activation, &r.growth, &r.graph_estimate,
                           &r.graph, &r.kv_gib, &r.kv_tokens, &r.kv_blocks}) {
      std::getline(fields, *f, ',');
    }
    rows.push_back(r);
  }
  return rows;
}

VllmBudgetOptions options_of(const MeasuredRow& row) {
  VllmBudgetOptions options;
  options.tensor_parallel_size = std::stoll(row.tp);
  options.max_model_len = std::stoll(row.length);
  options.weights = parse_dtype(row.dtype);
  options.kv = row.kv_dtype == "auto" ? parse_dtype(row.dtype) : parse_dtype(row.kv_dtype);
  if (row.quantization.find("fp8") != std::string::npos) options.weights = Dtype::fp8;
  if (row.quantization.find("int8") != std::string::npos) options.weights = Dtype::int8;
  options.gpu_memory_utilization = 0.95;
  options.max_num_seqs = 1024;
  options.max_num_batched_tokens = 8192;
  return options;
}

double distance(double a, double b) { return a > b ? a - b : b - a; }

}  // namespace

TEST_CASE("KV memory of measured vLLM 0.19 start-ups is predicted within 0.7 % on average") {
  const std::filesystem::path path = std::filesystem::path(HEADROOM_SHARED_DIR) /
                                     "groundtruth/memory_facts/vllm019_h100_startup.csv";
  if (!std::filesystem::exists(path)) {
    WARN("skipped: no measured start-ups at " << path.string());
    return;
  }
  DeviceSpec h100 = catalog().device("h100-sxm");
  h100.memory_reported_bytes = bytes_from_gib(79.19);
  double sum = 0;
  int rows = 0;
  for (const MeasuredRow& row : read_rows(path)) {
    const auto model = measured_model(row.model);
    if (!model || row.pp != "1") continue;
    const MemoryBudget budget = vllm_budget(*model, h100, options_of(row));
    INFO(row.model << " tp " << row.tp << " " << row.dtype << " " << row.quantization);
    REQUIRE_FALSE(budget.failure);
    const double measured = std::stod(row.kv_gib);
    const double error = distance(gib_from_bytes(budget.kv_available_bytes), measured);
    CAPTURE(measured, gib_from_bytes(budget.kv_available_bytes));
    // FIDELITY 3: 2 %, or 0.3 GiB where the pool is under 15 GiB.
    CHECK((error / measured <= 0.02 || (measured < 15 && error <= 0.3)));
    sum += error / measured;
    ++rows;
  }
  CHECK(rows == 23);
  CHECK(sum / rows <= 0.007);
}

namespace {

// A rule that can be followed by hand: 60 GiB of KV by the user's word, Llama-3.1-8B, block 16.
VllmBudgetOptions sixty_gib() {
  VllmBudgetOptions options;
  options.kv_cache_memory_bytes = bytes_from_gib(60);
  return options;
}

MemoryBudget llama(const VllmBudgetOptions& options, const char* device = "h100-sxm") {
  return vllm_budget(catalog().model("llama-3.1-8b"), catalog().device(device), options);
}

}  // namespace

TEST_CASE("60 GiB hold 30720 blocks of Llama-3.1-8B, one of them the null block") {
  // 2 MiB per block: 60 GiB / 2 MiB = 30720 blocks = 491520 tokens; 8192 tokens: 60 requests.
  const MemoryBudget budget = llama(sixty_gib());
  REQUIRE_FALSE(budget.failure);
  CHECK(budget.total_blocks == 30720);
  CHECK(budget.usable_blocks == 30719);
  CHECK(budget.kv_tokens == 491520);
  CHECK(budget.max_concurrency == 60.0);
}

TEST_CASE("the terms of a budget add up to the memory of the device") {
  const MemoryBudget budget = llama({});
  CHECK(budget.terms.sum() == catalog().device("h100-sxm").memory_reported_bytes);
  CHECK(budget.terms[MemoryPurpose::kv_pool] == budget.total_blocks * 2 * 1024 * 1024);
  CHECK(budget.terms[MemoryPurpose::margin] > 0);
  // The fraction is of total memory: others, graphs and margin make up the other tenth, but for the
  // part of a block that rounding leaves.
  const ByteCount outside = budget.terms[MemoryPurpose::others] +
                            budget.terms[MemoryPurpose::graphs] +
                            budget.terms[MemoryPurpose::margin];
  const ByteCount tenth = budget.capacity_bytes - share_of(budget.capacity_bytes, 0.9);
  CHECK(outside >= tenth);
  CHECK(outside < tenth + (2 << 20));
}

TEST_CASE("the RTX 4090 run's pool is predicted within 8 %") {
  // Logged: 2588 blocks (LLMServingSim bench, vLLM 0.19.0, util 0.9). The rule, fitted on H100,
  // gives 2792: 0.40 GiB too much, a known limit.
  VllmBudgetOptions options;
  options.max_model_len = 32768;
  const MemoryBudget budget = llama(options, "rtx4090");
  REQUIRE_FALSE(budget.failure);
  CHECK(budget.total_blocks >= 2588);
  CHECK(budget.total_blocks <= 2588 * 108 / 100);
}

TEST_CASE("a device with less free memory than requested fails before loading") {
  VllmBudgetOptions options;
  options.other_bytes = bytes_from_gib(10);  // 79.19 - 10 < 0.9 * 79.19
  const MemoryBudget budget = llama(options);
  REQUIRE(budget.failure);
  CHECK(budget.failure->stage == StartupStage::free_memory_check);
  CHECK(budget.terms.sum() == budget.capacity_bytes);
}

TEST_CASE("weights that do not fit fail while loading") {
  const MemoryBudget budget = vllm_budget(catalog().model("llama-3.1-70b"),
                                          catalog().device("h100-sxm"), VllmBudgetOptions{});
  REQUIRE(budget.failure);
  CHECK(budget.failure->stage == StartupStage::weights);
  CHECK(budget.failure->wanted_bytes > 140'000'000'000);
}

TEST_CASE("a fraction that only covers the weights leaves no blocks") {
  VllmBudgetOptions options;
  options.gpu_memory_utilization = 0.19;  // 15.05 GiB, weights are 14.99
  const MemoryBudget budget = llama(options);
  REQUIRE(budget.failure);
  CHECK(budget.failure->stage == StartupStage::blocks);
}

TEST_CASE("a pool too small for one longest request names the largest feasible length") {
  VllmBudgetOptions options;
  options.kv_cache_memory_bytes = bytes_from_gib(1);  // 512 blocks = 8192 tokens
  options.max_model_len = 8193;
  const MemoryBudget budget = llama(options);
  REQUIRE(budget.failure);
  CHECK(budget.failure->stage == StartupStage::max_length_request);
  CHECK(budget.failure->largest_feasible_max_model_len == 8192);
  CHECK(budget.failure->wanted_bytes == 513 * (2 << 20));
  options.max_model_len = 8192;
  CHECK_FALSE(llama(options).failure);
}

TEST_CASE("graphs that find no memory fail after the pool") {
  VllmBudgetOptions options;
  options.gpu_memory_utilization = 0.99;  // 0.79 GiB outside, others take 0.51, graphs want 0.9
  const MemoryBudget budget = llama(options);
  REQUIRE(budget.failure);
  CHECK(budget.failure->stage == StartupStage::graph_capture);
  options.enforce_eager = true;
  CHECK_FALSE(llama(options).failure);
}

TEST_CASE("num_gpu_blocks_override replaces the number of blocks") {
  VllmBudgetOptions options;
  options.num_gpu_blocks_override = 2588;
  options.max_model_len = 32768;
  CHECK(llama(options).total_blocks == 2588);
}

TEST_CASE("the activation peak depends on the release") {
  // Logged for Llama-3.1-8B with 1024 sequences and 8192 tokens: 4.76 GiB in 0.10-0.16, 1.89 in
  // 0.19.
  VllmBudgetOptions options;
  options.max_num_seqs = 1024;
  options.max_num_batched_tokens = 8192;
  const ModelSpec& model = catalog().model("llama-3.1-8b");
  CHECK(gib_from_bytes(vllm_activation_bytes(model, options)) == Approx(1.89).epsilon(0.01));
  options.version = {0, 12};
  CHECK(gib_from_bytes(vllm_activation_bytes(model, options)) == Approx(4.76).epsilon(0.01));
}

TEST_CASE("defaults of the API server follow device and release") {
  const auto defaults = [](const char* device, EngineVersion version) {
    return vllm_defaults(catalog().device(device), catalog().model("llama-3.1-8b"), version);
  };
  CHECK(defaults("h100-sxm", {0, 19}).max_num_batched_tokens == 8192);
  CHECK(defaults("h100-sxm", {0, 19}).max_num_seqs == 1024);
  CHECK(defaults("a100-80", {0, 19}).max_num_batched_tokens == 2048);  // by name
  CHECK(defaults("rtx4090", {0, 19}).max_num_seqs == 256);
  CHECK(defaults("gb10", {0, 19}).max_num_batched_tokens == 2048);  // memory unknown to NVML
  CHECK(defaults("b200", {0, 28}).max_num_batched_tokens == 16384);
  CHECK_FALSE(defaults("h100-sxm", {0, 10}).async_scheduling);
  CHECK(defaults("h100-sxm", {0, 14}).async_scheduling);
}

TEST_CASE("a release newer than the modelled one is a warning") {
  VllmBudgetOptions options;
  const ModelSpec& model = catalog().model("llama-3.1-8b");
  const DeviceSpec& device = catalog().device("h100-sxm");
  CHECK(vllm_budget_warnings(model, device, options).empty());
  options.version = {0, 22};
  CHECK(vllm_budget_warnings(model, device, options).size() == 1);
}

}  // namespace headroom
