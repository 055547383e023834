// Logs of starts that went well, as people paste them.

#include "sim/engines/started_log.hpp"

#include <catch2/catch.hpp>
#include <string>

#include "sim/engines/engine.hpp"

namespace headroom::started_log_test {
namespace {

using Figure = StartFigure;

StartedLog found_in(const std::string& text) {
  const auto log = find_started_log(text);
  REQUIRE(log);
  return *log;
}

void check(const StartedLog& log, Figure which, double value) {
  REQUIRE(log.figure(which));
  CHECK(*log.figure(which) == Approx(value));
}

// Two ranks whose lines are mixed, with colours.
const std::string kSglang =
    "[2025-10-16 09:05:01] server_args=ServerArgs(model_path='Qwen/Qwen3-8B', tp_size=2, "
    "mem_fraction_static=0.85, context_length=8192, dtype='auto', quantization=None)\n"
    "[2025-10-16 09:05:03 TP0] Load weight begin. avail mem=78.50 GB\n"
    "\x1b[36m[2025-10-16 09:05:09 TP1] Load weight end. type=Qwen3ForCausalLM, "
    "dtype=torch.bfloat16, avail mem=70.71 GB, mem usage=7.79 GB.\x1b[0m\n"
    "[2025-10-16 09:06:22 TP5] KV Cache is allocated. #tokens: 873474, K size: 29.91 GB, V size: "
    "29.91 GB\r\n"
    "[2025-10-16 09:06:22 TP0] Memory pool end. avail mem=9.87 GB\n"
    "[2025-10-16 09:06:32 TP0] Capture cuda graph end. Time elapsed: 5.37 s. mem usage=1.44 GB. "
    "avail mem=8.43 GB.\n"
    "[2025-10-16 09:06:33 TP0] max_total_num_tokens=873474, chunked_prefill_size=8192, "
    "max_prefill_tokens=16384, max_running_requests=2048, context_len=8192, "
    "available_gpu_mem=8.40 GB\n";

}  // namespace

TEST_CASE("SGLang says weights, both halves of KV, graphs and what is free", "[started_log]") {
  const StartedLog log = found_in(kSglang);
  CHECK(log.engine->name == "sglang");
  CHECK(log.model == "Qwen/Qwen3-8B");
  check(log, Figure::free_before, 78.5);
  check(log, Figure::weights, 7.79);
  check(log, Figure::kv, 2 * 29.91);
  check(log, Figure::graphs, 1.44);
  check(log, Figure::free_after, 8.4);
  check(log, Figure::pool_tokens, 873474);
  check(log, Figure::context_length, 8192);
}

TEST_CASE("buffers of one device add up by kind, and the fullest device is shown",
          "[started_log]") {
  const StartedLog log = found_in(
      "ggml_cuda_init: found 2 CUDA devices:\n"
      "build: 6317 (8b696861) with cc (GCC) 13.3.0 for x86_64-linux-gnu\n"
      "  Device 0: NVIDIA GeForce RTX 3090, compute capability 8.6, VMM: yes\n"
      "  Device 1: NVIDIA GeForce RTX 3090, compute capability 8.6, VMM: yes\n"
      "llama_model_loader: loaded meta data with 33 key-value pairs and 292 tensors from "
      "/models/Qwen2.5-14B-Instruct-Q4_K_M.gguf (version GGUF V3 (latest))\n"
      "load_tensors: offloaded 49/49 layers to GPU\n"
      "load_tensors:        CUDA0 model buffer size =  4096.00 MiB\n"
      "load_tensors:        CUDA1 model buffer size =  5120.00 MiB\n"
      "load_tensors:   CPU_Mapped model buffer size =   512.00 MiB\n"
      "llama_context: n_seq_max     = 4\n"
      "llama_context: n_ctx         = 32768\n"
      "llama_context: n_ctx_per_seq = 8192\n"
      "llama_kv_cache_unified:      CUDA0 KV buffer size =  1024.00 MiB\n"
      "llama_kv_cache_unified:      CUDA1 KV buffer size =  1024.00 MiB\n"
      "llama_kv_cache_unified:      CUDA1 KV buffer size =   512.00 MiB\n"
      "llama_kv_cache_unified: size = 2560.00 MiB ( 32768 cells), K (q8_0): 1280.00 MiB, V (q8_0)\n"
      "llama_context:      CUDA1 compute buffer size =   256.00 MiB\n"
      "llama_context:      CUDA1 compute buffer size =   512.00 MiB\n"
      "llama_context:  CUDA_Host compute buffer size =   256.00 MiB\n"
      "srv    load_model: prompt cache is enabled, size limit: 1024 MiB\n");
  CHECK(log.engine->name == "llamacpp");
  CHECK(log.model == "Qwen2.5-14B-Instruct-Q4_K_M.gguf");
  CHECK(log.board == "NVIDIA GeForce RTX 3090");
  CHECK(log.device == "CUDA1");
  CHECK(log.devices == 2);
  CHECK(log.options.at("version") == "b6317");
  CHECK(log.options.at("ctx_size") == "32768");
  CHECK(log.options.at("parallel") == "4");
  CHECK(log.options.at("cache_ram") == "1024");
  CHECK_FALSE(log.options.contains("kv_unified"));
  CHECK(log.options.at("cache_type_k") == "q8_0");
  CHECK_FALSE(log.options.contains("n_gpu_layers"));  // all of them: a rule of a start that failed
  CHECK(log.options_of_failure.contains("n_gpu_layers"));
  check(log, Figure::weights, 5);
  check(log, Figure::kv, 1.5);           // two caches, as of models with windows
  check(log, Figure::activations, 0.5);  // the last reservation replaces the first
  check(log, Figure::pool_tokens, 32768);
  check(log, Figure::context_length, 8192);
  REQUIRE(log.host_gib);
  CHECK(*log.host_gib == Approx(0.75));
}

TEST_CASE("llama.cpp of 2024 names no kind of buffer for weights", "[started_log]") {
  const StartedLog log = found_in(
      "llama-cpp    | llm_load_tensors: offloaded 39/41 layers to GPU\n"
      "llama-cpp    | llm_load_tensors:        CPU buffer size = 2048.00 MiB\n"
      "llama-cpp    | llm_load_tensors:      CUDA0 buffer size = 4096.00 MiB\n");
  CHECK(log.engine->name == "llamacpp");
  CHECK(log.options.at("n_gpu_layers") == "39");
  check(log, Figure::weights, 4);
  CHECK(*log.host_gib == Approx(2));
}

TEST_CASE("Ollama's own lines count, and those of its runner", "[started_log]") {
  const StartedLog log = found_in(
      "time=2025-08-24T08:25:59.000Z level=INFO source=types.go:130 msg=\"inference compute\" "
      "id=GPU-1 library=cuda variant=v12 compute=8.9 name=\"NVIDIA GeForce RTX 4090\" "
      "total=\"23.6 GiB\" available=\"22.9 GiB\"\n"
      "time=2025-08-24T08:26:00.300Z level=INFO source=server.go:383 msg=\"starting runner\" "
      "cmd=\"ollama runner --ollama-engine --model /blobs/sha256-e8 --ctx-size 8192 --parallel "
      "1\"\n"
      "time=2025-08-24T08:26:00.310Z level=INFO source=backend.go:310 msg=\"model weights\" "
      "device=CUDA0 size=\"4.4 GiB\"\n"
      "time=2025-08-24T08:26:00.310Z level=INFO source=backend.go:315 msg=\"model weights\" "
      "device=CPU size=\"512.0 MiB\"\n"
      "time=2025-08-24T08:26:00.310Z level=INFO source=backend.go:321 msg=\"kv cache\" "
      "device=CUDA0 size=\"1024.0 MiB\"\n"
      "time=2025-08-24T08:26:00.310Z level=INFO source=backend.go:332 msg=\"compute graph\" "
      "device=CUDA0 size=\"98.0 MiB\"\n"
      "llama_model_loader: - kv   1: general.name str              = Llama 3.1 8B Instruct\n");
  CHECK(log.engine->name == "ollama");
  CHECK(log.board == "NVIDIA GeForce RTX 4090");
  CHECK(log.model == "Llama 3.1 8B Instruct");
  CHECK(log.options.at("num_ctx") == "8192");
  check(log, Figure::total, 23.6);
  check(log, Figure::weights, 4.4);
  check(log, Figure::kv, 1);
  check(log, Figure::activations, 98.0 / 1024);
  CHECK(*log.host_gib == Approx(0.5));
}

TEST_CASE("Ollama says what it was started with, and its llama.cpp runner what came of it",
          "[started_log]") {
  const std::string server =
      "time=2025-10-03T09:30:01.123Z level=INFO source=routes.go:1332 msg=\"server config\" "
      "env=\"map[CUDA_VISIBLE_DEVICES: OLLAMA_CONTEXT_LENGTH:8192 OLLAMA_FLASH_ATTENTION:true "
      "OLLAMA_KV_CACHE_TYPE:q8_0 OLLAMA_MAX_LOADED_MODELS:0 OLLAMA_NUM_PARALLEL:2]\"\n";
  const std::string load = "load_tensors:        CUDA0 model buffer size =  4403.49 MiB\n";
  StartedLog log = found_in(server + load);
  CHECK(log.options.at("num_ctx") == "8192");
  CHECK(log.options.at("num_parallel") == "2");
  CHECK(log.options.at("kv_cache_type") == "q8_0");
  CHECK(log.options.at("flash_attention") == "true");

  // A request asked for another context.
  log = found_in(server + load +
                 "llama_context: n_seq_max     = 2\n"
                 "llama_context: n_ctx         = 32768\n"
                 "llama_context: n_ctx_per_seq = 16384\n");
  CHECK(log.engine->name == "ollama");
  CHECK(log.options.at("num_ctx") == "16384");
  CHECK(log.options.at("num_parallel") == "2");

  // What is empty, 0 or false is the engine's choice.
  log = found_in(
      "time=2025-10-03T09:30:01.123Z level=INFO source=routes.go:1332 msg=\"server config\" "
      "env=\"map[OLLAMA_FLASH_ATTENTION:false OLLAMA_KV_CACHE_TYPE: OLLAMA_NUM_PARALLEL:0 "
      "OLLAMA_CONTEXT_LENGTH:0]\"\n" +
      load);
  CHECK(log.options.empty());
}

TEST_CASE("Ollama's runner says what its slots hold together", "[started_log]") {
  const StartedLog log = found_in(
      "time=2026-11-20T09:40:11.822+01:00 level=INFO source=types.go:42 msg=\"inference compute\" "
      "id=GPU-1a library=CUDA compute=8.9 name=CUDA0 description=\"NVIDIA GeForce RTX 4090\" "
      "type=discrete total=\"24.0 GiB\" available=\"23.1 GiB\"\n"
      "time=2026-11-20T09:41:03.020+01:00 level=INFO source=runner.go:1272 msg=load "
      "request=\"{Operation:commit LoraPath:[] Parallel:2 BatchSize:512 FlashAttention:true "
      "KvSize:65536 KvCacheType:q8_0 NumThreads:16 MultiUserCache:false}\"\n"
      "time=2026-11-20T09:41:03.021+01:00 level=INFO source=device.go:240 msg=\"model weights\" "
      "device=CUDA0 size=\"11.7 GiB\"\n");
  CHECK(log.board == "NVIDIA GeForce RTX 4090");
  CHECK(log.options.at("num_parallel") == "2");
  CHECK(log.options.at("num_ctx") == "32768");
  CHECK(log.options.at("kv_cache_type") == "q8_0");
  check(log, Figure::pool_tokens, 65536);
}

TEST_CASE("TGI says how many tokens its pool holds", "[started_log]") {
  const StartedLog log = found_in(
      "2025-06-12T09:00:00Z  INFO text_generation_launcher: Args {\n"
      "    model_id: \"Qwen/Qwen3-8B\",\n"
      "    num_shard: None,\n"
      "}\n"
      "2025-06-12T09:00:30Z  INFO text_generation_router_v3: backends/v3/src/lib.rs:137: Setting "
      "max batch total tokens to 211000\n");
  CHECK(log.engine->name == "tgi");
  CHECK(log.model == "Qwen/Qwen3-8B");
  check(log, Figure::pool_tokens, 211000);
}

TEST_CASE("a log cut anywhere, or without figures, is no crash", "[started_log]") {
  for (std::size_t size = 0; size <= kSglang.size(); ++size) {
    static_cast<void>(find_started_log(kSglang.substr(0, size)));
    static_cast<void>(find_started_log(kSglang.substr(size)));
  }
  CHECK_FALSE(find_started_log("").has_value());
  CHECK_FALSE(find_started_log("hello\n").has_value());
  // A server that has loaded no model is known by its lines, of which one is too few.
  const std::string idle =
      "time=2026-09-12T10:12:01.123Z level=INFO source=routes.go:1511 msg=\"server config\"\n";
  CHECK(engine_of_lines(idle) == nullptr);
  REQUIRE(engine_of_lines(idle + idle) != nullptr);
  CHECK(engine_of_lines(idle + idle)->name == "ollama");
  CHECK(engine_of_lines("hello\nhello\n") == nullptr);
  // A line of settings says nothing of memory.
  CHECK_FALSE(find_started_log(kSglang.substr(0, kSglang.find('\n'))).has_value());
}

}  // namespace headroom::started_log_test
