// Command lines of the engines besides vLLM: sim/intake/from.hpp and the tables
// sim/engines/*/launch.cpp.

#include <fmt/format.h>
#include <algorithm>

#include <catch2/catch.hpp>
#include <map>
#include <set>
#include <string>

#include "scheduler/batching/sglang.hpp"
#include "scheduler/batching/tgi.hpp"
#include "scheduler/batching/trtllm.hpp"
#include "scheduler/batching/vllm.hpp"
#include "sim/intake/draft.hpp"
#include "sim/intake/from.hpp"
#include "sim/intake/values.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/resolve/resolve.hpp"
#include "sim/scenario/options.hpp"
#include "tests/support/temp_file.hpp"

namespace headroom::from_engines_test {
using Names = std::vector<std::string>;

namespace {

using Sorted = nlohmann::json;  // compares objects whatever the order of their keys

Sorted sorted(const Json& json) { return Sorted::parse(json.dump()); }

FromResult from(std::string_view command) { return scenario_from_command(command, "command"); }

bool any_contains(const Names& list, std::string_view part) {
  return std::ranges::any_of(
      list, [part](const std::string& text) { return text.find(part) != std::string::npos; });
}

// Throws where a scenario's reader refuses what came out of the command.
Resolved resolved(const std::string& command) {
  JsonDocument document{"from", from(command).scenario, {}};
  document.root["device"] = "h100-sxm";
  return resolve_system(parse_scenario(document), Catalog::embedded());
}

}  // namespace

TEST_CASE("trtllm-serve: short and long names of the same option") {
  const FromResult result = from(
      "mpirun -n 1 trtllm-serve serve openai/gpt-oss-120b --tp_size 2 --pp_size 1 --ep_size 2 "
      "--max_batch_size 64 --max_num_tokens 16384 --max_seq_len 32768 "
      "--kv_cache_free_gpu_memory_fraction 0.8 --enable_chunked_prefill --host 0.0.0.0 "
      "--trust_remote_code --backend pytorch");
  CHECK(sorted(result.scenario) == Sorted::parse(R"({
    "model": "openai/gpt-oss-120b",
    "engine": {"name": "trtllm", "tensor_parallel_size": 2, "pipeline_parallel_size": 1,
      "max_batch_size": 64, "max_num_tokens": 16384, "max_seq_len": 32768,
      "enable_expert_parallel": true, "free_gpu_memory_fraction": 0.8,
      "enable_chunked_prefill": true}})"));
  CHECK(result.unknown_flags.empty());
  CHECK(any_contains(result.notes, "'mpirun' before the engine's command is not modelled"));
}

TEST_CASE("sglang: drafts of a command") {
  const auto engine = [](const std::string& flags) {
    return from("python -m sglang.launch_server --model-path m " + flags).scenario.at("engine");
  };
  const Json own = engine("--speculative-algorithm EAGLE");
  CHECK(own.at("speculative_config") == Json{{"method", "mtp"}});
  const Json chain = engine(
      "--speculative-algorithm EAGLE3 --speculative-draft-model-path d --speculative-num-steps 3 "
      "--speculative-eagle-topk 1 --speculative-num-draft-tokens 4");
  CHECK(chain.at("speculative_config") ==
        Json{{"method", "eagle3"}, {"num_speculative_tokens", 3}});
  CHECK_FALSE(chain.contains("speculative_num_draft_tokens"));
  // Not what a chain of 3 verifies: the resolver warns of it (resolve/speculation_test.cpp).
  const Json contradicted = engine(
      "--speculative-algorithm EAGLE --speculative-num-steps 3 --speculative-eagle-topk 1 "
      "--speculative-num-draft-tokens 8");
  CHECK(contradicted.at("speculative_num_draft_tokens") == 8);
  const Json tree = engine(
      "--speculative-algorithm EAGLE --speculative-draft-model-path d --speculative-num-steps 5 "
      "--speculative-eagle-topk 8 --speculative-num-draft-tokens 64");
  CHECK(tree.at("speculative_config").at("method") == "eagle");
  CHECK(tree.at("speculative_eagle_topk") == 8);
  CHECK(tree.at("speculative_num_draft_tokens") == 64);
  CHECK(engine("--speculative-algorithm NGRAM --speculative-num-draft-tokens 16")
            .at("speculative_config")
            .at("num_speculative_tokens") == 15);
  CHECK_FALSE(engine("--speculative-num-steps 3").contains("speculative_config"));
}

TEST_CASE("trtllm-serve: the drafter of the settings file") {
  const TempFile settings(
      "speculative_config:\n  decoding_type: MTP\n  num_nextn_predict_layers: 3\n");
  const Json engine =
      from("trtllm-serve m --extra_llm_api_options " + settings.path()).scenario.at("engine");
  CHECK(engine.at("speculative_config").at("method") == "mtp");
  CHECK(engine.at("speculative_config").at("num_speculative_tokens") == 3);
}

TEST_CASE("switches that delay first tokens or choose graphs are options") {
  const TempFile settings(
      "batch_wait_timeout_iters: 20\nbatch_wait_max_tokens_ratio: 0.8\n"
      "torch_compile_config:\n  enable_piecewise_cuda_graph: true\n");
  const Json trtllm = from("trtllm-serve m --ep_size 1 --extra_llm_api_options " + settings.path())
                          .scenario.at("engine");
  CHECK(trtllm.at("batch_wait_timeout_iters") == 20);
  CHECK(trtllm.at("batch_wait_max_tokens_ratio") == 0.8);
  CHECK(trtllm.at("enable_piecewise_cuda_graph") == true);
  CHECK_FALSE(trtllm.contains("enable_expert_parallel"));
  const Json sglang = from(
                          "python -m sglang.launch_server --model-path m --tp-size 4 --ep-size 4 "
                          "--scheduler-recv-interval 30")
                          .scenario.at("engine");
  CHECK(sglang.at("scheduler_recv_interval") == 30);
  CHECK(sglang.at("enable_expert_parallel") == true);
  const Json graphs = from(
                          "sglang serve --model-path m --cuda-graph-max-bs-decode 128 "
                          "--cuda-graph-backend-prefill disabled")
                          .scenario.at("engine");
  CHECK(graphs.at("cuda_graph_max_bs") == 128);
  CHECK(graphs.at("piecewise_cuda_graph") == false);
  CHECK(from("sglang serve --model-path m --cuda-graph-backend-prefill breakable")
            .scenario.at("engine")
            .at("piecewise_cuda_graph") == true);
  const Json vllm = from(
                        "VLLM_MXFP4_USE_MARLIN=1 VLLM_USE_FLASHINFER_SAMPLER=1 vllm serve m -O3 "
                        "--max-cudagraph-capture-size 2048 "
                        "--compilation-config '{\"cudagraph_mode\": \"FULL_DECODE_ONLY\"}'")
                        .scenario.at("engine");
  CHECK(vllm.at("mxfp4_kernel") == "marlin");
  CHECK(vllm.at("flashinfer_sampler") == true);
  CHECK(vllm.at("max_cudagraph_capture_size") == 2048);
  CHECK(vllm.at("cudagraph_mode") == "FULL_DECODE_ONLY");
  const Json marlin =
      from("vllm serve m --linear-backend marlin --moe-backend=marlin").scenario.at("engine");
  CHECK(marlin.at("linear_backend") == "marlin");
  CHECK(marlin.at("moe_backend") == "marlin");
  CHECK(from("VLLM_TEST_FORCE_FP8_MARLIN=1 vllm serve m")
            .scenario.at("engine")
            .at("linear_backend") == "marlin");
  const auto other = from("vllm serve m --linear-backend flashinfer-cutlass");
  CHECK_FALSE(other.scenario.at("engine").contains("linear_backend"));
  CHECK(any_contains(other.notes, "--linear-backend: its effect"));
  // What the switch of an old variable is called is no backend.
  for (const char* wrong : {"--linear-backend 1", "--linear-backend 0", "--moe-backend marlim"}) {
    CHECK_THROWS_WITH(from(std::string("vllm serve m ") + wrong),
                      Catch::Contains(": one of auto, marlin, ") && Catch::Contains("cutlass"));
  }
  CHECK(from("VLLM_TEST_FORCE_FP8_MARLIN=0 vllm serve m").scenario.at("engine").size() == 1);
}

TEST_CASE("a backend for weights that the model does not have is told") {
  const auto warns = [](const std::string& command, std::string_view part) {
    return any_contains(resolved(command).warnings, part);
  };
  const std::string marlin = " --linear-backend marlin --moe-backend marlin";
  const std::string dense = "vllm serve Qwen/Qwen3-8B" + marlin;
  CHECK(warns(dense, "linear_backend marlin has no effect: qwen3-8b has no quantised matrices"));
  CHECK(warns(dense, "moe_backend marlin has no effect: qwen3-8b has no experts"));
  CHECK_FALSE(warns(dense + " --quantization fp8", "linear_backend marlin"));
  const std::string experts = "vllm serve Qwen/Qwen3-30B-A3B" + marlin;
  CHECK(warns(experts, "the experts of qwen3-30b-a3b are in 16 bits"));
  CHECK_FALSE(warns(experts + " --quantization fp8", "moe_backend marlin"));
  // Its experts alone are quantised.
  CHECK(warns("vllm serve openai/gpt-oss-20b" + marlin, "linear_backend marlin has no effect"));
  CHECK_FALSE(warns("vllm serve openai/gpt-oss-20b" + marlin, "moe_backend"));
}

TEST_CASE("auto-round is taken with a dash and with an underscore") {
  for (const char* word : {"auto-round", "auto_round"}) {
    const FromResult result = from(std::string("vllm serve m --quantization ") + word);
    CHECK(result.scenario.at("engine").at("quantization") == "auto-round");
    CHECK_FALSE(any_contains(result.notes, "quantization"));
  }
}

TEST_CASE("trtllm-serve: attention DP makes data ranks of the tensor ranks") {
  const TempFile settings(
      "enable_attention_dp: true\nattention_dp_config:\n  enable_balance: true\n"
      "  timeout_iters: 60\n  batching_wait_iters: 0\n");
  const std::string command = "trtllm-serve deepseek-ai/DeepSeek-V3 --tp_size 8 --ep_size 8 ";
  const FromResult result = from(command + "--extra_llm_api_options " + settings.path());
  CHECK(sorted(result.scenario.at("engine")) == Sorted::parse(R"({
    "name": "trtllm", "data_parallel_size": 8, "enable_expert_parallel": true,
    "attention_dp_enable_balance": true, "attention_dp_time_out_iters": 60,
    "attention_dp_batching_wait_iters": 0})"));
  // One rank has nothing to share, and without the switch its settings mean nothing.
  for (const std::string& other :
       {std::string("trtllm-serve m --extra_llm_api_options ") + settings.path(),
        command + "--no-enable_attention_dp --attention_dp_config.enable_balance true"}) {
    const Json engine = from(other).scenario.at("engine");
    CHECK_FALSE(engine.contains("data_parallel_size"));
    CHECK_FALSE(engine.contains("attention_dp_enable_balance"));
  }
  CHECK(resolved("trtllm-serve deepseek-ai/DeepSeek-V3 --tp_size 8 --enable_attention_dp")
            .sharding.data == 8);
}

TEST_CASE("trtllm-serve: more ranks of experts than tensor ranks") {
  // As benchmarks count that give each rank of attention one tensor rank.
  const FromResult split =
      from("trtllm-serve deepseek-ai/DeepSeek-V3 --tp_size 1 --ep_size 8 --enable_attention_dp");
  CHECK(split.scenario.at("/engine/data_parallel_size"_json_pointer) == 8);
  CHECK(split.scenario.at("/engine/enable_expert_parallel"_json_pointer) == true);
  CHECK(std::ranges::count(split.notes,
                           "--ep_size 8 of --tp_size 1: 8 tensor ranks, one of attention each; "
                           "TensorRT-LLM itself wants --tp_size 8") == 1);
  const FromResult refused = from("trtllm-serve m --ep_size 8");
  CHECK_FALSE(refused.scenario.at("engine").contains("data_parallel_size"));
  CHECK(std::ranges::count(refused.notes,
                           "--ep_size 8 of --tp_size 1: TensorRT-LLM refuses more ranks of experts "
                           "than tensor ranks") == 1);
}

TEST_CASE("trtllm-serve: the settings file overrides the command line") {
  // "Path to a YAML file that overwrites the parameters specified by trtllm-serve" (its --help).
  const TempFile settings(
      "max_batch_size: 32\nkv_cache_config:\n  dtype: fp8\n"
      "  enable_block_reuse: false\n  tokens_per_block: 64\n"
      "  host_cache_size: 1000\n  free_gpu_memory_fraction: 0.7\n"
      "cuda_graph_config:\n  max_batch_size: 16\nnever_heard_of: 1\n");
  const FromResult result = from("trtllm-serve m --extra_llm_api_options " + settings.path() +
                                 " --max_batch_size 64 --free_gpu_memory_fraction 0.9");
  CHECK(sorted(result.scenario.at("engine")) == Sorted::parse(R"({
    "name": "trtllm", "max_batch_size": 32, "free_gpu_memory_fraction": 0.7,
    "kv_cache_dtype": "fp8", "tokens_per_block": 64, "enable_block_reuse": false,
    "host_cache_size": 1000, "cuda_graph_max_batch_size": 16})"));
  CHECK(result.unknown_flags == Names{"never_heard_of"});
}

TEST_CASE("trtllm-serve: the scheduler's policies are settings") {
  const TempFile settings(
      "enable_chunked_prefill: true\n"
      "kv_cache_config: {enable_block_reuse: true, max_gpu_total_bytes: 5000}\n"
      "scheduler_config:\n  capacity_scheduler_policy: MAX_UTILIZATION\n"
      "  context_chunking_policy: EQUAL_PROGRESS\n"
      "  dynamic_batch_config: {enable_batch_size_tuning: true}\n");
  const FromResult result = from("trtllm-serve m --config " + settings.path());
  CHECK(sorted(result.scenario.at("engine")) == Sorted::parse(R"({
    "name": "trtllm", "enable_chunked_prefill": true, "enable_block_reuse": true,
    "max_gpu_total_bytes": 5000, "capacity_scheduler_policy": "MAX_UTILIZATION",
    "context_chunking_policy": "EQUAL_PROGRESS"})"));
  CHECK(any_contains(result.notes, "scheduler_config.dynamic_batch_config"));
  CHECK(result.unknown_flags.empty());
}

TEST_CASE("trtllm-serve: lower-case policies are translated, unknown ones are a note") {
  const TempFile settings(
      "scheduler_config:\n  capacity_scheduler_policy: static_batch\n"
      "  context_chunking_policy: FORCE_CHUNK\n");
  const FromResult result = from("trtllm-serve m --config " + settings.path());
  CHECK(sorted(result.scenario.at("engine")) ==
        Sorted::parse(R"({"name": "trtllm", "capacity_scheduler_policy": "STATIC_BATCH"})"));
  CHECK(
      any_contains(result.notes, "scheduler_config.context_chunking_policy: this chunking policy"));
}

TEST_CASE("sglang.launch_server with aliases and switches") {
  const FromResult result = from(
      "python -m sglang.launch_server --model-path deepseek-ai/DeepSeek-R1 --tp 16 --dp-size 2 "
      "--enable-dp-attention "
      "--mem-fraction-static 0.85 --chunked-prefill-size -1 --max-running-requests 256 "
      "--max-total-tokens 500000 --context-length 65536 --page-size 64 --cuda-graph-max-bs 128 "
      "--kv-cache-dtype fp8_e4m3 --max-prefill-tokens 8192 --schedule-policy lpm "
      "--schedule-conservativeness 0.3 --enable-mixed-chunk --disable-overlap-schedule "
      "--disable-radix-cache --cuda-graph-bs 1 2 4 --enable-metrics --port 30000");
  CHECK(sorted(result.scenario) == Sorted::parse(R"({
    "model": "deepseek-ai/DeepSeek-R1",
    "engine": {"name": "sglang", "tensor_parallel_size": 8, "data_parallel_size": 2,
      "mem_fraction_static": 0.85, "chunked_prefill_size": -1, "max_running_requests": 128,
      "max_total_tokens": 500000, "context_length": 65536, "page_size": 64,
      "cuda_graph_max_bs": 128, "kv_cache_dtype": "fp8_e4m3", "max_prefill_tokens": 8192,
      "schedule_policy": "lpm", "schedule_conservativeness": 0.3, "enable_mixed_chunk": true,
      "disable_overlap_schedule": true, "disable_radix_cache": true}})"));
  CHECK_FALSE(any_contains(result.notes, "--schedule"));
  CHECK(result.ignored_flags == Names{"--enable-metrics", "--port"});
  CHECK(result.unknown_flags.empty());
  CHECK(from("sglang serve --model a/b").engine == "sglang");
}

TEST_CASE("sglang: the strategy of recurrent layers is an option of its own") {
  const FromResult result = from(
      "sglang serve --model m --disable-overlap-schedule --mamba-scheduler-strategy extra_buffer");
  CHECK(result.scenario.at("engine").at("disable_overlap_schedule") == true);
  CHECK(result.scenario.at("engine").at("mamba_scheduler_strategy") == "extra_buffer");
}

TEST_CASE("sglang: data ranks share the tensor ranks of attention, or are engines of their own") {
  const FromResult shared = from(
      "sglang serve --model m --tp 16 --dp 8 --enable-dp-attention --chunked-prefill-size 32768");
  CHECK(sorted(shared.scenario.at("engine")) ==
        Sorted::parse(R"({"name": "sglang", "tensor_parallel_size": 2, "data_parallel_size": 8,
          "chunked_prefill_size": 4096})"));
  const FromResult own = from("sglang serve --model m --tp 4 --dp 2");
  CHECK(sorted(own.scenario.at("engine")) ==
        Sorted::parse(R"({"name": "sglang", "tensor_parallel_size": 4})"));
  CHECK(any_contains(own.notes, "without --enable-dp-attention starts 2 engines"));
  const FromResult uneven = from("sglang serve --model m --tp 4 --dp 3 --enable-dp-attention");
  CHECK(any_contains(uneven.notes, "--tp-size 4 is no multiple of --dp-size 3"));
  // Who gets a request is told to ranks alone, in the words of old releases, too.
  const char* const flags = "sglang serve --model m --tp 2 --dp 2 --load-balance-method {} {}";
  const auto engine = [&](const char* method, const char* more) {
    return from(fmt::format(fmt::runtime(flags), method, more)).scenario.at("engine");
  };
  CHECK(engine("shortest_queue", "--enable-dp-attention").at("load_balance_method") ==
        "total_requests");
  CHECK_FALSE(engine("auto", "--enable-dp-attention").contains("load_balance_method"));
  CHECK_FALSE(engine("total_tokens", "").contains("load_balance_method"));
  CHECK(engine("auto", "--enable-dp-attention --enable-ep-moe").at("enable_expert_parallel"));
}

TEST_CASE("sglang: an order of requests that is not modelled is a note, and the default stays") {
  const FromResult result = from(
      "sglang serve --model m --schedule-policy lof --schedule-policy priority "
      "--enable-priority-scheduling");
  CHECK(sorted(result.scenario.at("engine")) == Sorted::parse(R"({"name": "sglang"})"));
  CHECK(any_contains(result.notes, "--schedule-policy: this order of waiting requests"));
  CHECK(from("sglang serve --model m --schedule-policy dfs-weight")
            .scenario.at("engine")
            .at("schedule_policy") == "dfs-weight");
}

TEST_CASE("llama-server: short flags, variables below flags, all layers") {
  const FromResult result = from(
      "LLAMA_ARG_N_PARALLEL=4 LLAMA_ARG_CTX_SIZE=1024 ./build/bin/llama-server "
      "-hf ggml-org/gpt-oss-20b-GGUF:Q4_K_M -c 32768 -ngl all -b 4096 -ub 2048 -ctk q8_0 "
      "-ctv q4_0 -fa --no-mmap --no-kv-unified --no-cache-prompt -sps 0.5 --swa-full --jinja -t 16 "
      "--temp 0.7 -cram -1");
  CHECK(sorted(result.scenario) == Sorted::parse(R"({
    "model": "ggml-org/gpt-oss-20b-GGUF:Q4_K_M",
    "engine": {"name": "llamacpp", "ctx_size": 32768, "parallel": 4, "n_gpu_layers": 999,
      "batch_size": 4096, "ubatch_size": 2048, "cache_type_k": "q8_0", "cache_type_v": "q4_0",
      "flash_attn": "on", "no_mmap": true, "kv_unified": false, "cache_prompt": false,
      "slot_prompt_similarity": 0.5, "swa_full": true, "cache_ram": -1}})"));
  CHECK(result.unknown_flags.empty());
}

TEST_CASE("llama-server: the prompt cache is switched by a flag or a variable") {
  const auto cache_prompt = [](const std::string& before, const std::string& behind = "") {
    return from(before + "llama-server -m a.gguf" + behind).scenario.at("engine");
  };
  CHECK(cache_prompt("LLAMA_ARG_CACHE_PROMPT=0 ").at("cache_prompt") == false);
  CHECK(cache_prompt("LLAMA_ARG_NO_CACHE_PROMPT=1 ").at("cache_prompt") == false);
  CHECK(cache_prompt("LLAMA_ARG_CACHE_PROMPT=0 ", " --cache-prompt").at("cache_prompt") == true);
  CHECK_FALSE(cache_prompt("").contains("cache_prompt"));
  CHECK(cache_prompt("LLAMA_ARG_BATCH=512 ").at("batch_size") == 512);
}

TEST_CASE("llama-server: experts on the host, by number or by the usual patterns") {
  const auto moved = [](const std::string& flags) {
    return from("llama-server -m a.gguf " + flags).scenario.at("engine").value("n_cpu_moe", 0);
  };
  CHECK(moved("--n-cpu-moe 21") == 21);
  CHECK(moved("-cmoe") == 999);
  CHECK(moved("-ot '.ffn_.*_exps.=CPU'") == 999);
  CHECK(moved("-ot exps=CPU") == 999);
  CHECK(moved("--override-tensor '\\.ffn_.*_exps\\.=CPU'") == 999);
  const FromResult other = from("llama-server -m a.gguf -ot 'blk.1.attn_q.weight=CPU'");
  CHECK_FALSE(other.scenario.value("engine", Json::object()).contains("n_cpu_moe"));
  REQUIRE(other.notes.size() >= 1);
  CHECK(std::ranges::any_of(other.notes, [](const std::string& note) {
    return note.find("blk.1.attn_q.weight=CPU: this placement of tensors") != std::string::npos;
  }));
  CHECK_THROWS(from("llama-server -m a.gguf --n-cpu-moe many"));
}

TEST_CASE("llama-server: -fa takes a word only when it is a switch, 0 and auto are defaults") {
  const Json engine =
      from("llama-server -m a.gguf -fa off -c 0 -np -1 -ngl auto").scenario["engine"];
  CHECK(sorted(engine) == Sorted::parse(R"({"name": "llamacpp", "flash_attn": "off"})"));
  CHECK(from("llama-server -fa -m a.gguf").scenario.at("model") == "a.gguf");
}

TEST_CASE("ollama is configured by its variables") {
  const FromResult result = from(
      "OLLAMA_NUM_PARALLEL=4 OLLAMA_CONTEXT_LENGTH=8192 OLLAMA_KV_CACHE_TYPE=q8_0 "
      "OLLAMA_FLASH_ATTENTION=1 OLLAMA_HOST=0.0.0.0 OLLAMA_BRAND_NEW=1 ollama serve");
  CHECK(sorted(result.scenario) == Sorted::parse(R"({"engine": {"name": "ollama", "num_parallel": 4,
    "num_ctx": 8192, "kv_cache_type": "q8_0", "flash_attention": true}})"));
  CHECK(result.unknown_flags == Names{"OLLAMA_BRAND_NEW"});
  CHECK(any_contains(result.notes, "the model is not named"));
  CHECK(from("ollama run llama3.1:8b").scenario.at("model") == "llama3.1:8b");
}

TEST_CASE("text-generation-launcher: flags and variables of the same name") {
  const FromResult result = from(
      "MAX_TOTAL_TOKENS=4096 text-generation-launcher --model-id mistralai/Mistral-7B-v0.1 "
      "--num-shard 2 --max-input-tokens 3000 --max-total-tokens 8192 "
      "--max-batch-prefill-tokens 4096 --max-batch-total-tokens 100000 --quantize fp8 "
      "--waiting-served-ratio 1.2 --max-waiting-tokens 7 --max-batch-size 48 "
      "--max-concurrent-requests 64 --cuda-memory-fraction 0.8 --trust-remote-code -p 8080");
  CHECK(sorted(result.scenario) == Sorted::parse(R"({
    "model": "mistralai/Mistral-7B-v0.1",
    "engine": {"name": "tgi", "tensor_parallel_size": 2, "max_input_tokens": 3000,
      "max_total_tokens": 8192, "max_batch_prefill_tokens": 4096,
      "max_batch_total_tokens": 100000, "quantization": "fp8", "cuda_memory_fraction": 0.8,
      "waiting_served_ratio": 1.2, "max_waiting_tokens": 7, "max_batch_size": 48,
      "max_concurrent_requests": 64}})"));
  CHECK(result.unknown_flags.empty());
}

TEST_CASE("text-generation-launcher: settings that are variables in a container") {
  const FromResult result = from(
      "docker run --gpus 1 -e MAX_BATCH_SIZE=48 -e WAITING_SERVED_RATIO=0 -e MAX_WAITING_TOKENS=1 "
      "-e ATTENTION=flashdecoding -e PREFILL_CHUNKING=0 -e KV_CACHE_DTYPE=fp8_e4m3fn "
      "-e PREFIX_CACHING=1 ghcr.io/huggingface/text-generation-inference:3.3.4 --model-id m");
  CHECK(sorted(result.scenario.at("engine")) == Sorted::parse(R"({
    "name": "tgi", "version": "3.3.4", "tensor_parallel_size": 1, "max_batch_size": 48,
    "waiting_served_ratio": 0.0, "max_waiting_tokens": 1, "attention": "flashdecoding",
    "enable_chunked_prefill": false, "enable_prefix_caching": true,
    "kv_cache_dtype": "fp8_e4m3"})"));
  CHECK(result.unknown_flags.empty());
  CHECK(any_contains(from("ATTENTION=paged-v3 text-generation-launcher --model-id m").notes,
                     "ATTENTION: the block size of these attention kernels is not modelled"));
}

TEST_CASE("text-generation-launcher: --max-batch-size limits the sequences of a batch") {
  const std::string launch = "text-generation-launcher --model-id llama-3.1-8b --num-shard 1";
  // At most max_concurrent_requests are in the engine: 128 unless given.
  CHECK(resolved(launch).max_num_seqs == 128);
  CHECK(resolved(launch + " --max-batch-size 48").max_num_seqs == 48);
  CHECK(resolved(launch + " --max-batch-size 48 --max-concurrent-requests 32").max_num_seqs == 32);
}

TEST_CASE("what schedules on the command line schedules in the scenario") {
  const SchedulerOptions vllm = scheduler_options(resolved(
      "vllm serve llama-3.1-8b --scheduling-policy priority --long-prefill-token-threshold 512 "
      "--watermark 0.25"));
  CHECK(vllm.own.get<VllmScheduling>().scheduling_policy == "priority");
  CHECK(vllm.long_prefill_token_threshold == 512);
  CHECK(vllm.watermark == 0.25);
  const SchedulerOptions sglang = scheduler_options(
      resolved("sglang serve --model llama-3.1-8b --schedule-policy lpm --enable-mixed-chunk "
               "--schedule-conservativeness 0.5 --disable-overlap-schedule"));
  CHECK(sglang.own.get<SglangScheduling>().schedule_policy == "lpm");
  CHECK(sglang.own.get<SglangScheduling>().enable_mixed_chunk);
  CHECK(sglang.own.get<SglangScheduling>().schedule_conservativeness == 0.5);
  const SchedulerOptions tgi = scheduler_options(
      resolved("PREFILL_CHUNKING=0 text-generation-launcher --model-id llama-3.1-8b --num-shard 1 "
               "--waiting-served-ratio 0.5 --max-waiting-tokens 3"));
  CHECK_FALSE(tgi.enable_chunked_prefill);
  CHECK(tgi.own.get<TgiScheduling>().waiting_served_ratio == 0.5);
  CHECK(tgi.own.get<TgiScheduling>().max_waiting_tokens == 3);
  const TempFile settings("scheduler_config: {capacity_scheduler_policy: MAX_UTILIZATION}\n");
  const SchedulerOptions trtllm = scheduler_options(
      resolved("trtllm-serve llama-3.1-8b --enable_chunked_prefill --config " + settings.path()));
  CHECK(trtllm.enable_chunked_prefill);
  CHECK(trtllm.own.get<TrtllmScheduling>().capacity_scheduler_policy == "MAX_UTILIZATION");
  const SchedulerOptions llamacpp = scheduler_options(
      resolved("llama-server -m llama-3.1-8b -b 256 -np 2 -sps 0.5 --no-cache-prompt"));
  CHECK(llamacpp.max_num_batched_tokens == 256);
}

TEST_CASE("text-generation-launcher without --num-shard takes the devices that it sees") {
  const FromResult seen =
      from("CUDA_VISIBLE_DEVICES=0,1,2,3 text-generation-launcher --model-id m");
  CHECK(seen.scenario.at("engine").at("tensor_parallel_size") == 4);
  const FromResult unseen = from("text-generation-launcher --model-id m");
  CHECK_FALSE(unseen.scenario.at("engine").contains("tensor_parallel_size"));
  CHECK(any_contains(unseen.notes, "set engine.tensor_parallel_size"));
  const FromResult one = from("CUDA_VISIBLE_DEVICES=0,1 text-generation-launcher --sharded false");
  CHECK(one.scenario.at("engine").at("tensor_parallel_size") == 1);
}

TEST_CASE("no table has a flag twice, and every pointer lies below /engine or is the model") {
  REQUIRE(launched_engines().size() >= 6);
  for (const Engine* engine : launched_engines()) {
    INFO(engine->name);
    std::set<std::string_view> names;
    for (const FlagRow& row : engine->launch->rows) {
      CHECK_FALSE((row.names.empty() && row.variable.empty()));
      for (const std::string_view name : split(row.names, '|')) {
        INFO(name);
        CHECK((row.names.empty() || name.starts_with('-')));
        CHECK((row.names.empty() || names.insert(name).second));
      }
      const bool place = row.pointer.empty() || row.pointer == "/model" ||
                         row.pointer == kSettingsFile || row.pointer == kKvTransfer ||
                         row.pointer == kSwitch || row.pointer.starts_with("/engine/");
      CHECK(place);
    }
    CHECK(pointers_from_commands(*engine).size() > 8);
  }
}

}  // namespace headroom::from_engines_test
