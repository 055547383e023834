// Start-ups that fail, TensorRT-LLM, and files that are no start-up log.

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "sim/engines/startup_log.hpp"
#include "sim/engines/trtllm/engine.hpp"
#include "sim/kernel/errors.hpp"

namespace headroom::startup_failure_test {
namespace {

StartupLog read(const std::string& text) {
  std::istringstream in(text);
  return read_startup_log(in, "server.log");
}

std::string error_of(const std::string& text) {
  try {
    (void)read(text);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

const std::string kTag = "(EngineCore pid=207) ERROR 04-19 09:40:35 [core.py:1132] ";
const std::string kLoaded =
    "(EngineCore pid=207) INFO 04-19 09:38:33 [gpu_model_runner.py:4837] Model loading took 21.88 "
    "GiB memory and 47.39 seconds\n";
const std::string kSized =
    "(EngineCore pid=207) INFO 04-19 09:39:00 [kv.py:1] GPU KV cache size: 476,016 tokens\n";
const std::string kCapture =
    "(EngineCore pid=207) Capturing CUDA graphs (decode, FULL):  10%|█   | 1/11\n";

// TensorRT-LLM 1.1.0rc3, PyTorch backend, GPT-OSS-120B on a DGX Spark.
const std::string kTrtllm =
    "[TensorRT-LLM] TensorRT-LLM version: 1.1.0rc3\n"
    "[12/20/2025-04:20:04] [TRT-LLM] [I] Using LLM with PyTorch backend\n"
    "[12/20/2025-04:20:21] [TRT-LLM] [I] Use 63.32 GB for model weights.\n"
    "[12/20/2025-04:21:10] [TRT-LLM] [W] Both free_gpu_memory_fraction and max_tokens are set (to "
    "0.8999999761581421 and 8224, respectively). The smaller value will be used.\n"
    "[TensorRT-LLM][INFO] Number of tokens per block: 32.\n"
    "[TensorRT-LLM][INFO] [MemUsageChange] Allocated 0.56 GiB for max tokens in paged KV cache "
    "(8224).\n"
    "[12/20/2025-04:21:10] [TRT-LLM] [I] max_seq_len=8224, max_num_requests=64, "
    "max_num_tokens=8192, max_batch_size=64\n"
    "[12/20/2025-04:21:50] [TRT-LLM] [I] Memory used after loading model weights (inside torch) in "
    "memory usage profiling: 63.52 GiB\n"
    "[12/20/2025-04:21:50] [TRT-LLM] [I] Memory used after loading model weights (outside torch) "
    "in memory usage profiling: 49.78 GiB\n"
    "[12/20/2025-04:21:51] [TRT-LLM] [I] Memory dynamically allocated during inference (inside "
    "torch) in memory usage profiling: 0.85 GiB\n"
    "[12/20/2025-04:21:51] [TRT-LLM] [I] Memory used outside torch (e.g., NCCL and CUDA graphs) in "
    "memory usage profiling: 49.28 GiB\n"
    "[12/20/2025-04:21:51] [TRT-LLM] [I] Peak memory during memory usage profiling (torch + "
    "non-torch): 113.65 GiB, available KV cache memory when calculating max tokens: 5.95 GiB, "
    "fraction is set 0.8999999761581421, kv size is 73728. device total memory 119.70 GiB, , tmp "
    "kv_mem 0.56 GiB\n"
    "[12/20/2025-04:21:51] [TRT-LLM] [I] Estimated max memory in KV cache : 5.95 GiB\n"
    "[TensorRT-LLM][INFO] [MemUsageChange] Allocated 5.95 GiB for max tokens in paged KV cache "
    "(86720).\n"
    "[12/20/2025-04:21:52] [TRT-LLM] [I] max_seq_len=86720, max_num_requests=64, "
    "max_num_tokens=8192, max_batch_size=64\n";

}  // namespace

TEST_CASE("less free memory than desired fails before loading") {
  // vLLM 0.24.
  const StartupLog log =
      read(kTag +
           "ValueError: Free memory on device cuda:0 (7.19/44.39 GiB) on startup is less than "
           "desired GPU memory utilization (0.82, 36.4 GiB). Decrease GPU memory utilization or "
           "reduce GPU memory used by other processes.\n" +
           kTag + "RuntimeError: Engine core initialization failed.\n");
  REQUIRE(log.failure);
  CHECK(log.failure->stage == StartupStage::free_memory_check);
  CHECK(log.failure->line == 1);
  CHECK(log.failure->text.starts_with("Free memory on device cuda:0 (7.19/44.39 GiB)"));
  CHECK(log.memory.free_gib->value == 7.19);
  CHECK(log.memory.total_gib->value == 44.39);
  CHECK(log.memory.requested_gib->value == 36.4);
  CHECK(log.gpu_memory_utilization->value == 0.82);
}

TEST_CASE("nothing left for the cache blocks") {
  // vLLM 0.19.2rc1; negative memory is printed as such.
  const StartupLog log =
      read(kLoaded +
           "(EngineCore pid=207) INFO [gpu_worker.py:436] Available KV cache memory: -0.12 "
           "GiB\n" +
           kTag + "ValueError: No available memory for the cache blocks. Try increasing ...\n");
  CHECK(log.failure->stage == StartupStage::blocks);
  CHECK(log.memory.available_kv_gib->value == -0.12);
}

TEST_CASE("one request of the longest length does not fit") {
  // V1 of 2026 says the longest that does; 0.8.3 did not; V0 counts in tokens.
  const StartupLog now = read(
      kLoaded + kTag +
      "ValueError: To serve at least one request with the model's max seq len (700160), (6.11 GiB "
      "KV cache is needed, which is larger than the available KV cache memory (5.17 GiB). Based on "
      "the available memory, the estimated maximum model length is 566784.\n");
  CHECK(now.failure->stage == StartupStage::max_length_request);
  CHECK(now.failure->needed_gib->value == 6.11);
  CHECK(now.failure->largest_model_len->value == 566784);
  const StartupLog before = read(
      kLoaded + kTag +
      "ValueError: To serve at least one request with the models's max seq len (32768), (2.00 GB "
      "KV cache is needed, which is larger than the available KV cache memory (0.78 GB).\n");
  CHECK(before.failure->needed_gib->value == 2.0);
  CHECK_FALSE(before.failure->largest_model_len);
  const StartupLog v0 = read(
      kLoaded +
      "ValueError: The model's max seq len (8192) is larger than the maximum number of tokens that "
      "can be stored in KV cache (4352). Try increasing `gpu_memory_utilization`\n");
  CHECK(v0.failure->stage == StartupStage::max_length_request);
  CHECK(v0.failure->largest_model_len->value == 4352);
}

TEST_CASE("memory that runs out is blamed on what start-up was doing") {
  const std::string oom = kTag + "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate\n";
  const std::string start =
      "INFO [core.py:107] Initializing a V1 LLM engine (v0.19.0) with config: model='m'\n";
  CHECK(read(start + oom).failure->stage == StartupStage::weights);
  CHECK(read(start + kLoaded + oom).failure->stage == StartupStage::profiling);
  CHECK(read(start + kLoaded + kSized + oom).failure->stage == StartupStage::kv_allocation);
  CHECK(read(start + kLoaded + kSized + kCapture + oom).failure->stage ==
        StartupStage::graph_capture);
  const std::string sampler =
      kTag +
      "RuntimeError: CUDA out of memory occurred when warming up sampler with 1024 dummy "
      "requests. Please try lowering `max_num_seqs`\n";
  // The message that says more replaces the general one before it.
  CHECK(read(start + kLoaded + oom + sampler).failure->stage == StartupStage::warm_up);
  CHECK(read(start + kLoaded + oom + sampler).failure->line == 4);
}

TEST_CASE("running out of memory while serving is no failure of start-up") {
  CHECK_FALSE(read(kLoaded + kSized + "INFO:     Application startup complete.\n" + kTag +
                   "torch.OutOfMemoryError: CUDA out of memory.\n")
                  .failure);
}

TEST_CASE("a log of the PyTorch backend of TensorRT-LLM") {
  const StartupLog log = read(kTrtllm);
  CHECK(log.engine == &trtllm_engine());
  CHECK(log.version->value == "1.1.0rc3");
  CHECK(log.memory.weights_gib->value == 63.52);
  CHECK(log.memory.activation_gib->value == 0.85);
  CHECK(log.memory.non_torch_gib->value == 49.28);
  CHECK(log.memory.peak_gib->value == 113.65);  // = 63.52 + 0.85 + 49.28
  CHECK(log.memory.fraction->value == Approx(0.9));
  CHECK(log.memory.total_gib->value == 119.70);
  CHECK(log.memory.temporary_gib->value == 0.56);
  // The second pool, not the temporary one.
  CHECK(log.memory.kv_gib->value == 5.95);
  CHECK(log.max_tokens->value == 86720);
  CHECK(log.max_model_len->value == 86720);
  CHECK(log.tokens_per_block->value == 32);
  CHECK(log.kv_bytes_per_token->value == 73728);
  CHECK(log.max_num_seqs->value == 64);
  CHECK(log.missing.empty());
  // 0.9 * (119.70 - 113.65 + 0.56) - 5.95 = -0.001.
  CHECK(*closure_gib(log) == Approx(-0.001).margin(0.0001));
}

TEST_CASE("a log of the C++ runtime of TensorRT-LLM") {
  // trtllm-serve with an engine of Llama-3.1-8B on 32 GB; the version line is that of issue 2268.
  // The fraction is not printed.
  const StartupLog log = read(
      "[TensorRT-LLM][INFO] Engine version 0.13.0.dev2024082000 found in the config file, assuming "
      "engine\n"
      "[TensorRT-LLM][INFO] Memory usage when calculating max tokens in paged kv cache: total: "
      "31.84 GiB, available: 17.83 GiB\n"
      "[TensorRT-LLM][INFO] Number of blocks in KV cache primary pool: 8219\n"
      "[TensorRT-LLM][INFO] Number of blocks in KV cache secondary pool: 0, onboard blocks to "
      "primary memory before reuse: true\n"
      "[TensorRT-LLM][INFO] Number of tokens per block: 32.\n"
      "[TensorRT-LLM][INFO] [MemUsageChange] Allocated 16.05 GiB for max tokens in paged KV cache "
      "(263008)\n");
  CHECK(log.version->value == "0.13.0.dev2024082000");
  CHECK(log.memory.peak_gib->value == Approx(31.84 - 17.83));
  CHECK(log.blocks->value == 8219);
  CHECK(log.blocks->value * log.tokens_per_block->value == log.max_tokens->value);
  CHECK(log.memory.kv_gib->value == 16.05);
  CHECK_FALSE(log.memory.fraction);
  CHECK_FALSE(closure_gib(log));
  CHECK(log.notes.size() == 1);
}

TEST_CASE("the C++ runtime below the PyTorch backend does not replace its peak") {
  const StartupLog log = read(kTrtllm +
                              "[TensorRT-LLM][INFO] Memory usage when calculating max tokens in "
                              "paged kv cache: total: 119.70 GiB, available: 55.00 GiB\n");
  CHECK(log.memory.peak_gib->value == 113.65);
}

TEST_CASE("an executor of TensorRT-LLM that cannot be created") {
  // Issue 5872 of TensorRT-LLM, release 1.0.0rc1.
  const StartupLog log = read(
      "[07/08/2025-19:47:15] [TRT-LLM] [RANK 1] [E] Failed to initialize executor on rank 1: "
      "Executor creation failed due to insufficient GPU memory.\n\n"
      "The following component could not be created: KV cache\n"
      "Total GPU memory (GiB): 140.06\n");
  CHECK(log.failure->stage == StartupStage::kv_allocation);
  CHECK(log.failure->line == 1);
  CHECK(log.failure->text.ends_with("insufficient GPU memory. (KV cache)"));
}

TEST_CASE("all 63 measured runs of a DGX Spark close") {
  // FACTS.md 000: kv = 0.9 * (119.707 - peak), residual at most 0.010 GiB; the total printed with
  // two digits adds up to 0.9 * 0.005.
  const auto path = std::filesystem::path(HEADROOM_SHARED_DIR) / "seeds/dgx_spark_runs.csv";
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  int rows = 0;
  while (std::getline(in, line)) {
    std::vector<std::string> row;
    std::istringstream cells(line);
    for (std::string cell; std::getline(cells, cell, ',');) row.push_back(cell);
    const StartupLog log = read(fmt::format(
        "[11/09/2025-09:18:13] [TRT-LLM] [I] Peak memory during memory usage profiling (torch + "
        "non-torch): {} GiB, available KV cache memory when calculating max tokens: {} GiB, "
        "fraction is set 0.9, kv size is 57344. device total memory 119.71 GiB\n",
        row.at(4), row.at(5)));
    CHECK(*closure_gib(log) == Approx(0).margin(0.0146));
    ++rows;
  }
  if (rows == 0) {
    WARN("skipped: no runs at " << path.string());
    return;
  }
  CHECK(rows == 63);
}

TEST_CASE("a file that is no start-up log is refused") {
  CHECK(error_of("") == "server.log: empty: not a start-up log");
  const std::string error = error_of("[2026-01-02] INFO nginx: ready\nlistening on 80\n");
  CHECK(
      error.starts_with("server.log: not a start-up log of vLLM or TensorRT-LLM: 2 lines without"));
  CHECK(error.ends_with("the first line is '[2026-01-02] INFO nginx: ready'"));
}

TEST_CASE("a vLLM log without memory says which lines are missing") {
  const std::string error = error_of("INFO [api_server.py:981] vLLM API server version 0.8.2\n");
  CHECK(error.starts_with("server.log: a log of vLLM without memory figures in 1 lines; "));
  CHECK(error.find("Model loading took ... GiB") != std::string::npos);
  CHECK(error.find("Available KV cache memory: ... GiB") != std::string::npos);
  CHECK(error.find("vLLM API server version") == std::string::npos);  // that one is there
  // Where no figures are needed, it still says the release.
  std::istringstream in("INFO [api_server.py:981] vLLM API server version 0.8.2\n");
  const StartupLog log = read_startup_log(in, "server.log", false);
  REQUIRE(log.version);
  CHECK(log.version->value == "0.8.2");
}

}  // namespace headroom::startup_failure_test
