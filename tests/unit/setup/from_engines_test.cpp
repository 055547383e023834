// Command lines of the engines besides vLLM: sim/setup/from/from.hpp and the flags_*.cpp tables.

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <set>
#include <string>

#include "sim/kernel/errors.hpp"
#include "sim/setup/from/flag_table.hpp"
#include "sim/setup/from/from.hpp"
#include "sim/setup/from/values.hpp"
#include "tests/support/temp_file.hpp"

using namespace headroom;
using Names = std::vector<std::string>;

namespace {

using Sorted = nlohmann::json;  // compares objects whatever the order of their keys

Sorted sorted(const Json& json) { return Sorted::parse(json.dump()); }

FromResult from(std::string_view command) { return scenario_from_command(command, "command"); }

bool any_contains(const Names& list, std::string_view part) {
  return std::ranges::any_of(
      list, [part](const std::string& text) { return text.find(part) != std::string::npos; });
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
      "free_gpu_memory_fraction": 0.8}})"));
  CHECK(result.unknown_flags.empty());
  CHECK(any_contains(result.notes, "'mpirun' in front of the engine is not modelled"));
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
    "kv_cache_dtype": "fp8", "tokens_per_block": 64,
    "host_cache_size": 1000})"));
  CHECK(result.unknown_flags == Names{"never_heard_of"});
  CHECK(any_contains(result.notes, "cuda_graph_config.max_batch_size: which CUDA graphs"));
}

TEST_CASE("sglang.launch_server with aliases and switches") {
  const FromResult result = from(
      "python -m sglang.launch_server --model-path deepseek-ai/DeepSeek-R1 --tp 8 --dp-size 2 "
      "--mem-fraction-static 0.85 --chunked-prefill-size -1 --max-running-requests 256 "
      "--max-total-tokens 500000 --context-length 65536 --page-size 64 --cuda-graph-max-bs 128 "
      "--kv-cache-dtype fp8_e4m3 --max-prefill-tokens 8192 --schedule-policy lpm "
      "--disable-radix-cache --cuda-graph-bs 1 2 4 --enable-metrics --port 30000");
  CHECK(sorted(result.scenario) == Sorted::parse(R"({
    "model": "deepseek-ai/DeepSeek-R1",
    "engine": {"name": "sglang", "tensor_parallel_size": 8, "data_parallel_size": 2,
      "mem_fraction_static": 0.85, "chunked_prefill_size": -1, "max_running_requests": 256,
      "max_total_tokens": 500000, "context_length": 65536, "page_size": 64,
      "cuda_graph_max_bs": 128, "kv_cache_dtype": "fp8_e4m3", "max_prefill_tokens": 8192,
      "disable_radix_cache": true}})"));
  CHECK(any_contains(result.notes, "--schedule-policy: the order of waiting requests"));
  CHECK(result.ignored_flags == Names{"--enable-metrics", "--port"});
  CHECK(result.unknown_flags.empty());
  CHECK(from("sglang serve --model a/b").engine == "sglang");
}

TEST_CASE("llama-server: short flags, variables below flags, all layers") {
  const FromResult result = from(
      "LLAMA_ARG_N_PARALLEL=4 LLAMA_ARG_CTX_SIZE=1024 ./build/bin/llama-server "
      "-hf ggml-org/gpt-oss-20b-GGUF:Q4_K_M -c 32768 -ngl all -b 4096 -ub 2048 -ctk q8_0 "
      "-ctv q4_0 -fa --no-mmap --no-kv-unified --jinja -t 16 --temp 0.7");
  CHECK(sorted(result.scenario) == Sorted::parse(R"({
    "model": "ggml-org/gpt-oss-20b-GGUF:Q4_K_M",
    "engine": {"name": "llamacpp", "ctx_size": 32768, "parallel": 4, "n_gpu_layers": 999,
      "ubatch_size": 2048, "cache_type_k": "q8_0", "cache_type_v": "q4_0",
      "flash_attn": "on", "no_mmap": true, "kv_unified": false}})"));
  CHECK(result.unknown_flags.empty());
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
  CHECK(any_contains(result.notes, "no model is named"));
  CHECK(from("ollama run llama3.1:8b").scenario.at("model") == "llama3.1:8b");
}

TEST_CASE("text-generation-launcher: flags and variables of the same name") {
  const FromResult result = from(
      "MAX_TOTAL_TOKENS=4096 text-generation-launcher --model-id mistralai/Mistral-7B-v0.1 "
      "--num-shard 2 --max-input-tokens 3000 --max-total-tokens 8192 "
      "--max-batch-prefill-tokens 4096 --max-batch-total-tokens 100000 --quantize fp8 "
      "--cuda-memory-fraction 0.8 --trust-remote-code -p 8080");
  CHECK(sorted(result.scenario) == Sorted::parse(R"({
    "model": "mistralai/Mistral-7B-v0.1",
    "engine": {"name": "tgi", "tensor_parallel_size": 2, "max_input_tokens": 3000,
      "max_total_tokens": 8192, "max_batch_prefill_tokens": 4096,
      "max_batch_total_tokens": 100000, "quantization": "fp8", "cuda_memory_fraction": 0.8}})"));
  CHECK(result.unknown_flags.empty());
}

TEST_CASE("text-generation-launcher without --num-shard takes the devices that it sees") {
  const FromResult seen =
      from("CUDA_VISIBLE_DEVICES=0,1,2,3 text-generation-launcher --model-id m");
  CHECK(seen.scenario.at("engine").at("tensor_parallel_size") == 4);
  const FromResult unseen = from("text-generation-launcher --model-id m");
  CHECK_FALSE(unseen.scenario.at("engine").contains("tensor_parallel_size"));
  CHECK(any_contains(unseen.notes, "set engine.num_shard"));
  const FromResult one = from("CUDA_VISIBLE_DEVICES=0,1 text-generation-launcher --sharded false");
  CHECK(one.scenario.at("engine").at("tensor_parallel_size") == 1);
}

TEST_CASE("no table has a flag twice, and every pointer lies below /engine or is the model") {
  REQUIRE(all_engine_flags().size() == 6);
  for (const EngineFlags* engine : all_engine_flags()) {
    INFO(engine->engine);
    std::set<std::string_view> names;
    for (const FlagRow& row : engine->rows) {
      CHECK_FALSE((row.names.empty() && row.variable.empty()));
      for (const std::string_view name : split(row.names, '|')) {
        INFO(name);
        CHECK((row.names.empty() || name.starts_with('-')));
        CHECK((row.names.empty() || names.insert(name).second));
      }
      const bool place = row.pointer.empty() || row.pointer == "/model" ||
                         row.pointer == kSettingsFile || row.pointer.starts_with("/engine/");
      CHECK(place);
    }
    CHECK(pointers_from_commands(engine->engine).size() > 8);
  }
}
