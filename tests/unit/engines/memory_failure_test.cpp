// Messages that memory ran out, as people paste them.

#include "sim/engines/memory_failure.hpp"

#include <catch2/catch.hpp>
#include <numeric>
#include <string>

#include "sim/engines/engine.hpp"

namespace headroom::memory_failure_test {
namespace {

using Figure = MemoryFigure;

MemoryFailure found_in(const std::string& text) {
  const auto failure = find_memory_failure(text);
  REQUIRE(failure);
  return *failure;
}

void check(const MemoryFailure& failure, Figure which, double value) {
  REQUIRE(failure.figure(which));
  CHECK(*failure.figure(which) == Approx(value));
}

const std::string kLongest =
    "ValueError: To serve at least one request with the models's max seq len (131072), (16.00 GiB "
    "KV cache is needed, which is larger than the available KV cache memory (5.45 GiB). Based on "
    "the available memory, the estimated maximum model length is 44672. Try increasing "
    "`gpu_memory_utilization` or decreasing `max_model_len` when initializing the engine.";
const std::string kTorch =
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.96 GiB. GPU 0 has a total "
    "capacity of 23.52 GiB of which 1.21 GiB is free. Including non-PyTorch memory, this process "
    "has 20.30 GiB memory in use. Of the allocated memory 19.50 GiB is allocated by PyTorch, with "
    "48.00 MiB allocated in private pools (e.g., CUDA Graphs), and 100.00 MiB is reserved by "
    "PyTorch but unallocated. If reserved but unallocated memory is large try setting "
    "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.";

}  // namespace

TEST_CASE("a pool that is too small for the longest request", "[memory_failure]") {
  const MemoryFailure failure =
      found_in("(EngineCore_0 pid=271) ERROR 09-12 10:00:00 [core.py:712] " + kLongest);
  CHECK(failure.engine->name == "vllm");
  CHECK(failure.stage == StartupStage::max_length_request);
  check(failure, Figure::length, 131072);
  check(failure, Figure::kv_wanted, 16);
  check(failure, Figure::kv, 5.45);
  check(failure, Figure::longest, 44672);
  // 44,672 less 10 %, in whole 256.
  REQUIRE_FALSE(failure.changes.empty());
  CHECK(failure.changes.front().starts_with("--max-model-len 40192: "));
}

TEST_CASE("messages with colours, broken over lines or cut off are read", "[memory_failure]") {
  std::string broken = kLongest;
  broken.replace(broken.find(", (16"), 1, ",\n");
  broken.replace(broken.find("(5.45"), 0, "\n");
  check(found_in(broken), Figure::longest, 44672);
  check(found_in("\x1b[1;31m" + kLongest + "\x1b[0m\r\n"), Figure::kv, 5.45);
  const MemoryFailure cut = found_in(kLongest.substr(0, kLongest.find("GiB KV")));
  check(cut, Figure::length, 131072);
  CHECK_FALSE(cut.figure(Figure::longest));
  CHECK(cut.changes.front().starts_with("--max-model-len: a shorter"));
}

TEST_CASE("the allocator's message gives a bar by subtraction", "[memory_failure]") {
  const MemoryFailure failure = found_in("INFO Model loading took 14.99 GiB\n" + kTorch);
  check(failure, Figure::wanted, 1.96);
  check(failure, Figure::weights, 14.99);
  check(failure, Figure::graphs, 48.0 / 1024);
  check(failure, Figure::others, 23.52 - 1.21 - 20.30);
  const std::vector<MemoryPart> parts = memory_parts(failure);
  const double sum = std::accumulate(parts.begin(), parts.end(), 0.0,
                                     [](double s, const MemoryPart& p) { return s + p.gib; });
  CHECK(sum == Approx(23.52));
  CHECK(parts.front().name == "weights");
  CHECK(parts.back().name == "free");
}

TEST_CASE("without the device's total the known parts are left, and no rest", "[memory_failure]") {
  const MemoryFailure failure = found_in("INFO Model loading took 14.99 GiB\n" + kLongest);
  REQUIRE_FALSE(failure.figure(Figure::total));
  const std::vector<MemoryPart> parts = memory_parts(failure);
  REQUIRE(parts.size() == 2);
  CHECK(parts[0].name == "weights");
  CHECK(parts[0].gib == Approx(14.99));
  CHECK(parts[1].name == "KV");
  CHECK(parts[1].gib == Approx(5.45));
}

TEST_CASE("engines, their allocators and the kernel say it in their own words",
          "[memory_failure]") {
  struct Said {
    std::string text;
    std::string engine;
    StartupStage stage;
  };
  const std::vector<Said> all{
      {"ValueError: No available memory for the cache blocks. Try increasing", "vllm",
       StartupStage::blocks},
      {"ValueError: Free memory on device cuda:0 (15.32/22.04 GiB) on startup is less than desired "
       "GPU memory utilization (0.88, 19.39 GiB).",
       "vllm", StartupStage::free_memory_check},
      {"RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.", "sglang",
       StartupStage::blocks},
      {"Exception: Capture cuda graph failed: CUDA out of memory. Tried to allocate 2.00 GiB.",
       "sglang", StartupStage::graph_capture},
      {"[TRT-LLM] [RANK 1] [E] Executor creation failed due to insufficient GPU memory.\n\n"
       "The following component could not be created: KV cache\nTotal GPU memory (GiB): 140.06",
       "trtllm", StartupStage::kv_allocation},
      {"ggml_backend_cuda_buffer_type_alloc_buffer: allocating 16384.00 MiB on device 0: "
       "cudaMalloc failed: out of memory\nllama_init_from_model: failed to initialize the context: "
       "failed to allocate buffer for kv cache",
       "llamacpp", StartupStage::kv_allocation},
      {"alloc_tensor_range: failed to allocate Vulkan0 buffer of size 1632174080\n"
       "llama_model_load: error loading model: unable to allocate Vulkan0 buffer",
       "llamacpp", StartupStage::weights},
      {"Error: model requires more system memory (5.3 GiB) than is available (3.3 GiB)", "ollama",
       StartupStage::host_memory},
      {"Not enough memory to handle `max_total_tokens=32768`", "tgi",
       StartupStage::max_length_request}};
  for (const Said& said : all) {
    INFO(said.text);
    const MemoryFailure failure = found_in(said.text);
    REQUIRE(failure.engine != nullptr);
    CHECK(failure.engine->name == said.engine);
    CHECK(failure.stage == said.stage);
    CHECK_FALSE(failure.changes.empty());
  }
  const MemoryFailure killed = found_in(
      "[12345.678901] Memory cgroup out of memory: Killed process 4242 (llama-server) "
      "total-vm:98765432kB, anon-rss:61234567kB, file-rss:1234kB, shmem-rss:0kB, UID:1000");
  CHECK(killed.victim == "llama-server");
  check(killed, Figure::wanted, 61234567.0 / 1024 / 1024);
}

TEST_CASE("of llama.cpp's buffers those of the device that was refused are shown",
          "[memory_failure]") {
  const std::string start =
      "ggml_cuda_init: found 2 CUDA devices:\n"
      "  Device 0: NVIDIA GeForce RTX 4090, compute capability 8.9, VMM: yes\n"
      "  Device 1: NVIDIA GeForce RTX 4090, compute capability 8.9, VMM: yes\n"
      "load_tensors:        CUDA0 model buffer size = 12501.11 MiB\n"
      "load_tensors:        CUDA1 model buffer size = 12522.38 MiB\n"
      "load_tensors:   CPU_Mapped model buffer size =   608.57 MiB\n"
      "llama_kv_cache:      CUDA0 KV buffer size =  8448.00 MiB\n"
      "llama_kv_cache:      CUDA1 KV buffer size =  7936.00 MiB\n";
  const MemoryFailure failure = found_in(
      start +
      "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 10112.00 MiB on device 0: cudaMalloc "
      "failed: out of memory\n"
      "ggml_gallocr_reserve_n: failed to allocate CUDA0 buffer of size 10603200512\n"
      "graph_reserve: failed to allocate compute buffers\n");
  CHECK(failure.engine->name == "llamacpp");
  CHECK(failure.stage == StartupStage::warm_up);
  CHECK(failure.device == "CUDA0");
  CHECK(failure.devices == 2);
  CHECK(failure.board == "NVIDIA GeForce RTX 4090");
  check(failure, Figure::wanted, 9.875);
  check(failure, Figure::weights, 12501.11 / 1024);
  check(failure, Figure::kv, 8.25);
  CHECK_FALSE(failure.figure(Figure::activations));
  const MemoryFailure host =
      found_in(start +
               "ggml_gallocr_reserve_n: failed to allocate CPU buffer of size 10603200512\n"
               "graph_reserve: failed to allocate compute buffers\n");
  CHECK(host.device == "CPU");
  CHECK_FALSE(host.figure(Figure::weights));
  // Without a name the fullest.
  const MemoryFailure unnamed =
      found_in(start + "graph_reserve: failed to allocate compute buffers");
  CHECK(unnamed.device == "CUDA0");
  check(unnamed, Figure::kv, 8.25);
}

TEST_CASE("texts without a failure have none", "[memory_failure]") {
  CHECK_FALSE(find_memory_failure(""));
  CHECK_FALSE(find_memory_failure("vllm serve Qwen/Qwen2.5-7B-Instruct"));
  CHECK_FALSE(
      find_memory_failure("INFO Model loading took 14.99 GiB\nAvailable KV cache memory: "
                          "5.45 GiB\n"));
}

TEST_CASE("the spelling and the list of older PyTorch are read", "[memory_failure]") {
  const MemoryFailure misspelt = found_in(
      "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a "
      "total capacty of 21.67 GiB of which 12.00 MiB is free. Process 4242 has 21.64 GiB memory in "
      "use.");
  check(misspelt, Figure::total, 21.67);
  check(misspelt, Figure::free, 12.0 / 1024);
  const MemoryFailure listed = found_in(
      "RuntimeError: CUDA out of memory. Tried to allocate 1.96 GiB (GPU 0; 44.56 GiB total "
      "capacity; 43.10 GiB already allocated; 565.31 MiB free; 43.50 GiB reserved in total by "
      "PyTorch) If reserved memory is >> allocated memory try setting max_split_size_mb");
  check(listed, Figure::wanted, 1.96);
  check(listed, Figure::total, 44.56);
  check(listed, Figure::free, 565.31 / 1024);
  check(listed, Figure::reserved, 0.4);  // 43.5 less 43.1
}

}  // namespace headroom::memory_failure_test
