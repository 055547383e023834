#include "sim/engines/trtllm/budget.hpp"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "hardware/catalog.hpp"
#include "hardware/llm/parameters.hpp"
#include "sim/kernel/errors.hpp"
#include "tests/unit/hardware/budget_models.hpp"

namespace headroom::trtllm_budget_test {
namespace {

using namespace budget_test;

// Of Llama-3.1-8B on 80 GiB, by hand: weights 2 x 8,030,261,248; a dummy run of one prompt of 8192
// tokens, 2 bytes x (2 x 4096 of residual and norm + 3 x 14336 of the MLP) each; graphs of 1, 2, 4
// and the 16 multiples of 8 up to 128, 5 MiB each; the context's 551 MB.
constexpr ByteCount kWeights = 16'060'522'496;
constexpr ByteCount kActivations = 8192LL * 2 * (2 * 4096 + 3 * 14336);
constexpr ByteCount kGraphs = 19 * 5 * kMib;
constexpr ByteCount kLoaded = 1600 * kMib;                    // outside torch, before the run
constexpr ByteCount kContext = kLoaded + 8192LL * 80 * 1024;  // and with 8192 tokens

double rounded_kv(double total, double peak) {
  return gib_from_bytes(trtllm_kv_from_peak(bytes_from_gib(total), bytes_from_gib(peak), 0.9));
}

double distance(double a, double b) { return a > b ? a - b : b - a; }

}  // namespace

TEST_CASE("TensorRT-LLM takes nine tenths of what its peak leaves") {
  // ENGINES.md 12.1 vector 6: 0.9 x (119.7 - 70.47) = 44.307, 0.9 x (119.7 - 101.30) = 16.56.
  CHECK(distance(rounded_kv(119.7, 70.47), 44.31) < 0.005);
  CHECK(distance(rounded_kv(119.7, 101.30), 16.56) < 0.005);
  CHECK(trtllm_kv_from_peak(100, 120, 0.9) == 0);
}

TEST_CASE("all 63 measured start-ups of TensorRT-LLM obey the rule within 0.010 GiB") {
  const std::filesystem::path path =
      std::filesystem::path(HEADROOM_SHARED_DIR) / "seeds/dgx_spark_runs.csv";
  if (!std::filesystem::exists(path)) {
    WARN("skipped: no measured runs at " << path.string());
    return;
  }
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  int rows = 0;
  double worst = 0;
  while (std::getline(file, line)) {
    std::stringstream fields(line);
    std::string field;
    std::vector<std::string> values;
    while (std::getline(fields, field, ',')) values.push_back(field);
    REQUIRE(values.size() >= 6);
    const double error = distance(rounded_kv(119.707, std::stod(values[4])), std::stod(values[5]));
    INFO(line);
    CHECK(error <= 0.010);
    worst = std::max(worst, error);
    ++rows;
  }
  CHECK(rows == 63);
  CHECK(worst > 0);  // the logs are rounded: an exact match of all would mean that none was read
}

TEST_CASE("TensorRT-LLM fills experts in mxfp4 up to 128 in both directions") {
  // gpt-oss-120b: 36 layers of 128 experts, 3 x 2880 x 2880 in 4.25 bits, become 2944 x 2944: 2.55
  // GiB more. Its checkpoint has 60.77 GiB, and 63.52 were logged by 1.1.0rc3 on a GB10.
  const ModelSpec model = Catalog::embedded().model("gpt-oss-120b");
  const MemoryBudget budget = trtllm_budget(inputs_of(model, 140), {});
  REQUIRE_FALSE(budget.failure);
  const double experts = 36.0 * 128 * 3 * 2880 * 2880 * 4.25 / 8;
  const double filled = experts * 2944 * 2944 / (2880.0 * 2880);
  const auto rest = static_cast<double>(rank_parts(model, {}).bytes_total()) - experts;
  CHECK(static_cast<double>(budget.terms[MemoryPurpose::weights]) ==
        Approx(rest + filled).epsilon(1e-6));
}

TEST_CASE("the pool of TensorRT-LLM is the share of what the dummy run leaves, in whole blocks") {
  const BudgetInputs inputs = inputs_of(llama31_8b(), 80);
  const MemoryBudget budget = trtllm_budget(inputs, {});
  REQUIRE_FALSE(budget.failure);
  CHECK(budget.terms[MemoryPurpose::weights] == kWeights);
  CHECK(budget.terms[MemoryPurpose::activations] == kActivations);
  CHECK(budget.terms[MemoryPurpose::graphs] == kGraphs);
  CHECK(budget.terms[MemoryPurpose::context] == kContext);
  const ByteCount left = bytes_from_gib(80) - kWeights - kActivations - kGraphs - kContext;
  CHECK(budget.kv_available_bytes == left * 9 / 10);
  CHECK(budget.total_blocks == left * 9 / 10 / (32 * 131072));
  CHECK(budget.kv_tokens == budget.total_blocks * 32);
  CHECK(budget.max_model_len == 131072);
  CHECK(budget.notes.empty());
  CHECK(budget.terms.sum() == bytes_from_gib(80));
}

TEST_CASE("without estimation TensorRT-LLM takes a share of what is free after the weights") {
  const BudgetInputs inputs = inputs_of(llama31_8b(), 80);
  const MemoryBudget budget = trtllm_budget(inputs, {.skip_estimation = true});
  REQUIRE_FALSE(budget.failure);
  CHECK(budget.terms[MemoryPurpose::activations] == 0);
  CHECK(budget.kv_available_bytes == (bytes_from_gib(80) - kWeights - kLoaded) * 9 / 10);
}

TEST_CASE("max_tokens and max_gpu_total_bytes cap the pool of TensorRT-LLM") {
  const BudgetInputs inputs = inputs_of(llama31_8b(), 80);
  const MemoryBudget tokens = trtllm_budget(inputs, {.max_seq_len = 4096, .max_tokens = 10'000});
  CHECK(tokens.kv_tokens == 312 * 32);  // 10000 / 32, rounded down
  const MemoryBudget bytes =
      trtllm_budget(inputs, {.max_seq_len = 4096, .max_gpu_total_bytes = bytes_from_gib(2)});
  CHECK(bytes.kv_tokens == 16384);  // 2 GiB / 128 KiB
  CHECK(bytes.terms.sum() == bytes.capacity_bytes);
}

TEST_CASE("a max_seq_len that does not fit is lowered to the pool") {
  // 1 GiB holds 8192 tokens of 128 KiB.
  const BudgetInputs inputs = inputs_of(llama31_8b(), 80);
  const MemoryBudget budget = trtllm_budget(inputs, {.max_gpu_total_bytes = bytes_from_gib(1)});
  REQUIRE_FALSE(budget.failure);
  CHECK(budget.max_model_len == 8192);
  CHECK(budget.max_concurrency == 1.0);
  REQUIRE(budget.notes.size() == 1);
  CHECK(budget.notes[0].find("max_seq_len lowered from 131072 to 8192") != std::string::npos);
}

TEST_CASE("the temporary pool holds the dummy prompts with a generated and an overlap token") {
  // Two prompts of 4096 tokens, 4098 with both: 129 blocks of 32. Without the overlap scheduler and
  // with 3 drafted tokens 4096 + 4: 129 too. A rest of 100 tokens takes 4 blocks.
  CHECK(trtllm_temporary_tokens({}, 4097) == 2 * 129 * 32);
  CHECK(trtllm_temporary_tokens({.max_draft_len = 3, .disable_overlap_scheduler = true}, 4097) ==
        2 * 129 * 32);
  CHECK(trtllm_temporary_tokens({.max_num_tokens = 4196}, 4097) == (129 + 4) * 32);
}

TEST_CASE("page cache that counts as used costs TensorRT-LLM nine tenths of itself") {
  BudgetInputs inputs = inputs_of(llama31_8b(), 119.7);
  inputs.device = device_of(119.7, 121, MemoryModel::unified);
  const ByteCount clean = trtllm_budget(inputs, {}).kv_available_bytes;
  inputs.machine.cache_before_bytes = bytes_from_gib(10);
  inputs.machine.cache_growth_bytes = bytes_from_gib(15);
  inputs.machine.others_bytes = bytes_from_gib(5);
  const MemoryBudget budget = trtllm_budget(inputs, {});
  CHECK(distance(gib_from_bytes(clean - budget.kv_available_bytes), 27.0) < 1e-6);
  CHECK(budget.terms[MemoryPurpose::page_cache] == bytes_from_gib(25));
  CHECK(budget.terms.sum() == budget.capacity_bytes);
}

TEST_CASE("TensorRT-LLM fails where its start-up runs out of memory") {
  const auto failure_of = [](double gib, const TrtllmBudgetOptions& options) {
    const MemoryBudget budget = trtllm_budget(inputs_of(llama31_8b(), gib), options);
    CHECK(budget.terms.sum() == budget.capacity_bytes);
    REQUIRE(budget.failure);
    return *budget.failure;
  };
  // Weights 14.96 GiB and 1.56 outside torch.
  const StartupFailure weights = failure_of(15, {});
  CHECK(weights.stage == StartupStage::weights);
  CHECK(weights.message.find("GiB of weights wanted") != std::string::npos);
  // 16.52 + 0.62 more outside torch + 0.09 of graphs + 0.78 of activations = 18.01.
  CHECK(failure_of(17, {}).stage == StartupStage::profiling);
  // The temporary pool of 8192 + 2 tokens is 257 blocks: 1.004 GiB more.
  const StartupFailure temporary = failure_of(18.5, {});
  CHECK(temporary.stage == StartupStage::profiling);
  CHECK(temporary.message.find("temporary KV pool") != std::string::npos);
  CHECK(temporary.wanted_bytes == 257LL * 32 * 131072);
  // 1 MiB is less than a block of 4 MiB.
  const StartupFailure blocks = failure_of(80, {.max_gpu_total_bytes = kMib});
  CHECK(blocks.stage == StartupStage::blocks);
  CHECK(blocks.message.find("no memory for a KV block") != std::string::npos);
}

TEST_CASE("a pool that the driver can no longer give fails when it is allocated") {
  BudgetInputs inputs = inputs_of(llama31_8b(), 80);
  inputs.machine.slack_bytes = bytes_from_gib(10);  // 62 GiB left, 56 taken, 52 to be had
  const MemoryBudget budget = trtllm_budget(inputs, {});
  REQUIRE(budget.failure);
  CHECK(budget.failure->stage == StartupStage::kv_allocation);
  CHECK(budget.failure->message.find("CUDA out of memory") != std::string::npos);
}

TEST_CASE("windows of TensorRT-LLM are pools of their own, modelled as one") {
  // 16 layers, every other with a window of 128; groups of 8 layers draw ids of 32 tokens.
  ModelSpec model = dense_model("windows", {16, 2880, 64, 8, 64, 2880, 201088, 131072});
  const BudgetInputs inputs = inputs_of(model, 80);
  const MemoryBudget full = trtllm_budget(inputs, {.max_seq_len = 8192});
  const MemoryBudget windows =
      trtllm_budget(inputs, {.max_seq_len = 8192, .max_attention_window = {128, 8192}});
  CHECK(full.layout.groups.size() == 1);
  REQUIRE(windows.layout.groups.size() == 2);
  // A longest request: 256 ids in the full group, 128 / 32 + 1 in the other.
  CHECK(windows.layout.sequence_blocks(8192, 1) == 256 + 5);
  CHECK(windows.max_concurrency > 1.9 * full.max_concurrency);
}

TEST_CASE("recurrent states of TensorRT-LLM are set aside for every sequence of a batch") {
  const BudgetInputs inputs = inputs_of(hybrid_27b(), 140);
  const MemoryBudget few = trtllm_budget(inputs, {.max_batch_size = 8});
  const MemoryBudget many = trtllm_budget(inputs, {.max_batch_size = 16});
  REQUIRE_FALSE(few.failure);
  // 16-bit states: 48 layers x (48 x 128 x 128 + 3 x 10240) x 2 bytes = 78,446,592.
  constexpr ByteCount kState = 48LL * (48 * 128 * 128 + 3 * 10240) * 2;
  CHECK(few.terms[MemoryPurpose::kv_pool] - few.kv_pool_bytes == 8 * kState);
  CHECK(many.terms[MemoryPurpose::kv_pool] - many.kv_pool_bytes == 16 * kState);
}

TEST_CASE("defaults, warnings and impossible options of TensorRT-LLM") {
  const TrtllmDefaults now = trtllm_defaults(device_of(80), llama31_8b(), {1, 3});
  CHECK(now.tokens_per_block == 32);
  CHECK(now.max_seq_len == 131072);
  CHECK(trtllm_defaults(device_of(80), llama31_8b(), {0, 20}).tokens_per_block == 64);
  const BudgetInputs inputs = inputs_of(llama31_8b(), 80);
  CHECK(trtllm_budget_warnings(inputs, {.version = {2, 0}}).size() == 2);
  CHECK(trtllm_budget_warnings(inputs, {}).size() == 1);
  CHECK_THROWS_AS(trtllm_budget(inputs, {.free_gpu_memory_fraction = 1.5}), ConfigError);
  CHECK_THROWS_AS(trtllm_budget(inputs, {.max_attention_window = {0}}), ConfigError);
  const MemoryBudget host = trtllm_budget(inputs, {.host_cache_size = bytes_from_gib(4)});
  REQUIRE(host.notes.size() == 1);
  CHECK(host.notes[0].find("1024 more blocks") != std::string::npos);  // 4 GiB / 4 MiB
}

TEST_CASE("engines of TensorRT-LLM before 0.17 keep workspaces of the decoder") {
  const BudgetInputs inputs = inputs_of(llama31_8b(), 80);
  const TrtllmBudgetOptions options{
      .version = {0, 16}, .max_batch_size = 256, .max_seq_len = 8192, .skip_estimation = true};
  TrtllmBudgetOptions later = options;
  later.version = {0, 17};
  const ByteCount workspaces = trtllm_budget(inputs, options).terms[MemoryPurpose::activations];
  CHECK(workspaces == 256LL * (4 * 128256 + 5 * 8192) * 4);
  CHECK(trtllm_budget(inputs, later).terms[MemoryPurpose::activations] == 0);
}

TEST_CASE("of equal pipeline stages the first is reported for TensorRT-LLM") {
  BudgetInputs inputs = inputs_of(llama31_8b(), 24);
  inputs.sharding.pipeline = 2;
  const MemoryBudget budget = trtllm_budget(inputs, {});
  REQUIRE_FALSE(budget.failure);
  // 16 layers of 218,112,000 parameters and the table; the last stage has a head of the same size.
  CHECK(budget.terms[MemoryPurpose::weights] == 2 * (16 * 218'112'000LL + 525'336'576));
  CHECK(budget.layout.bytes_per_token == 65536);
}

}  // namespace headroom::trtllm_budget_test
