// Command lines of vLLM: sim/intake/from.hpp with the table sim/engines/vllm/launch.cpp.

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>

#include "sim/intake/from.hpp"
#include "tests/support/about.hpp"
#include "tests/support/temp_file.hpp"

namespace headroom::from_vllm_test {
using Catch::Contains;
using Names = std::vector<std::string>;

namespace {

using Sorted = nlohmann::json;  // compares objects whatever the order of their keys

Sorted sorted(const Json& json) { return Sorted::parse(json.dump()); }

FromResult from(std::string_view command) { return scenario_from_command(command, "command"); }

Json engine_of(std::string_view command) { return from(command).scenario.at("engine"); }

bool any_contains(const Names& list, std::string_view part) {
  return std::ranges::any_of(
      list, [part](const std::string& text) { return text.find(part) != std::string::npos; });
}

}  // namespace

TEST_CASE("vllm serve: every flag that matters becomes the option of the same name") {
  const FromResult result = from(
      "vllm serve meta-llama/Llama-3.1-70B-Instruct --tensor-parallel-size 4 "
      "--pipeline-parallel-size 2 --data-parallel-size 1 --enable-expert-parallel "
      "--dtype bfloat16 --quantization fp8 --kv-cache-dtype fp8 --gpu-memory-utilization 0.85 "
      "--max-model-len 32768 --max-num-seqs 128 --max-num-batched-tokens 8192 --block-size 32 "
      "--no-enable-prefix-caching --enable-chunked-prefill --async-scheduling "
      "--num-gpu-blocks-override 5000 --kv-cache-memory-bytes 8589934592 --enforce-eager "
      "--scheduling-policy priority --long-prefill-token-threshold 2k --watermark 0.05 "
      "--disable-hybrid-kv-cache-manager --host 0.0.0.0 --port 8000");
  CHECK(result.engine == "vllm");
  CHECK(sorted(result.scenario) == Sorted::parse(R"({
    "model": "meta-llama/Llama-3.1-70B-Instruct",
    "engine": {
      "name": "vllm", "tensor_parallel_size": 4, "pipeline_parallel_size": 2,
      "data_parallel_size": 1, "enable_expert_parallel": true, "dtype": "bfloat16",
      "quantization": "fp8", "kv_cache_dtype": "fp8", "gpu_memory_utilization": 0.85,
      "max_model_len": 32768, "max_num_seqs": 128, "max_num_batched_tokens": 8192,
      "block_size": 32, "enable_prefix_caching": false, "enable_chunked_prefill": true,
      "async_scheduling": true, "num_gpu_blocks_override": 5000,
      "kv_cache_memory_bytes": 8589934592, "enforce_eager": true,
      "scheduling_policy": "priority", "long_prefill_token_threshold": 2000, "watermark": 0.05,
      "disable_hybrid_kv_cache_manager": true}})"));
  CHECK_FALSE(any_contains(result.notes, "--"));
  CHECK(result.unknown_flags.empty());
  CHECK(result.ignored_flags == Names{"--host", "--port"});
}

TEST_CASE("a flag means the same in every spelling") {
  const Sorted expected = Sorted::parse(R"({"name": "vllm", "tensor_parallel_size": 2})");
  for (const std::string flag :
       {"--tensor-parallel-size 2", "--tensor-parallel-size=2", "--tensor_parallel_size 2", "-tp 2",
        "-tp=2", "-tp2", "--tensor-parallel 2"}) {
    INFO(flag);
    CHECK(sorted(engine_of("vllm serve m " + flag)) == expected);
  }
  CHECK(any_contains(from("vllm serve m --tensor-parallel 2").notes,
                     "--tensor-parallel is read as --tensor-parallel-size"));
}

TEST_CASE("an abbreviation that fits several flags is unknown") {
  // --max-num-seqs and --max-num-batched-tokens both begin so.
  CHECK(from("vllm serve m --max-num 5").unknown_flags == Names{"--max-num"});
}

TEST_CASE("the order of the flags does not change a byte of the scenario") {
  CHECK(from("vllm serve m -tp 2 --max-num-seqs 8").scenario.dump() ==
        from("vllm serve --max-num-seqs 8 m -tp 2").scenario.dump());
}

TEST_CASE("vLLM's variables that are options") {
  CHECK(sorted(engine_of("VLLM_ALLOW_LONG_MAX_MODEL_LEN=1 "
                         "VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS=0 vllm serve m")) ==
        Sorted::parse(R"({"name": "vllm", "allow_long_max_model_len": true,
                        "estimate_cuda_graphs": false})"));
}

TEST_CASE("a policy that is none of the option's choices is a note, whatever came before it") {
  const FromResult result =
      from("vllm serve m --scheduling-policy priority --scheduling-policy mine");
  CHECK(sorted(result.scenario.at("engine")) == Sorted::parse(R"({"name": "vllm"})"));
  CHECK(any_contains(result.notes, "--scheduling-policy: this order of waiting requests"));
  CHECK_FALSE(any_contains(result.notes, "mine"));
}

TEST_CASE("options of another scheduler than the release's are left out with a note") {
  // V1's scheduler came with 0.8; the watermark is V0's, too.
  const std::string flags =
      " --model m --scheduling-policy priority --long-prefill-token-threshold 512 "
      "--watermark 0.02";
  const FromResult old = from("docker run vllm/vllm-openai:v0.7.3" + flags);
  CHECK(sorted(old.scenario.at("engine")) ==
        Sorted::parse(R"({"name": "vllm", "version": "0.7.3", "watermark": 0.02})"));
  CHECK(
      any_contains(old.notes,
                   "engine.scheduling_policy is left out: it has no effect in this release, which "
                   "has scheduler vllm_v0"));
  CHECK(any_contains(old.notes, "engine.long_prefill_token_threshold is left out"));
  const FromResult v1 = from("docker run vllm/vllm-openai:v0.8.0" + flags);
  CHECK(v1.scenario.at("engine").at("scheduling_policy") == "priority");
}

TEST_CASE("VLLM_USE_V1 chooses the engine where a release has both") {
  const auto engine = [](const std::string& value, const std::string& release) {
    return from("docker run -e VLLM_USE_V1=" + value + " vllm/vllm-openai:v" + release +
                " --model m");
  };
  CHECK(engine("0", "0.9.1").scenario.at("engine").at("scheduler") == "vllm_v0");
  CHECK_FALSE(engine("1", "0.9.1").scenario.at("engine").contains("scheduler"));
  const FromResult gone = engine("0", "0.11.0");
  CHECK_FALSE(gone.scenario.at("engine").contains("scheduler"));
  CHECK(any_contains(gone.notes, "VLLM_USE_V1: vLLM 0.11 is modelled with V1 alone"));
  CHECK(
      any_contains(engine("1", "0.7.3").notes, "VLLM_USE_V1: vLLM 0.7 is modelled with V0 alone"));
}

TEST_CASE("lengths may have vLLM's suffixes, and auto leaves the choice to the engine") {
  CHECK(engine_of("vllm serve m --max-model-len 32k").at("max_model_len") == 32000);
  CHECK(engine_of("vllm serve m --max-model-len 1M").at("max_model_len") == 1048576);
  for (const std::string automatic : {"-1", "auto"}) {
    const FromResult result = from("vllm serve m --max-model-len " + automatic);
    CHECK_FALSE(result.scenario.at("engine").contains("max_model_len"));
    CHECK(any_contains(result.notes, "--max-model-len " + automatic + ": the engine chooses"));
  }
}

TEST_CASE("the last of two equal flags counts, and half is float16") {
  CHECK(engine_of("vllm serve m --max-num-seqs 8 --max-num-seqs 9").at("max_num_seqs") == 9);
  CHECK(engine_of("vllm serve m --dtype half").at("dtype") == "float16");
}

TEST_CASE("the module form and a continued line with comments are understood") {
  const FromResult result = from(
      "# my server\nexport CUDA_VISIBLE_DEVICES=0,1\n"
      "VLLM_LOGGING_LEVEL=INFO HF_TOKEN=hf_secret python3 -u -m "
      "vllm.entrypoints.openai.api_server \\\n"
      "  --model Qwen/Qwen3-8B \\\n  --api-key sk-secret # key\n");
  CHECK(result.scenario.at("model") == "Qwen/Qwen3-8B");
  CHECK(result.unknown_flags.empty());
  CHECK(result.ignored_flags ==
        Names{"CUDA_VISIBLE_DEVICES", "HF_TOKEN", "VLLM_LOGGING_LEVEL", "--api-key"});
}

TEST_CASE("no list and no option holds a key or a token") {
  const FromResult result = from(
      "HF_TOKEN=secret1 VLLM_NEW=secret2 vllm serve m --api-key secret3 --new-key=secret4 "
      "--other-new secret5");
  CHECK(result.unknown_flags == Names{"VLLM_NEW", "--new-key", "--other-new"});
  std::string all = result.scenario.dump();
  for (const Names* list : {&result.unknown_flags, &result.ignored_flags, &result.notes}) {
    for (const std::string& text : *list) all += text;
  }
  CHECK(all.find("secret") == std::string::npos);
}

TEST_CASE("an unknown switch in front of the model does not swallow it") {
  const FromResult result = from("vllm serve --brand-new meta-llama/Llama-3.1-8B --port 1");
  CHECK(result.scenario.at("model") == "meta-llama/Llama-3.1-8B");
  CHECK(result.unknown_flags == Names{"--brand-new"});
}

TEST_CASE("a server without images does not measure them") {
  const auto profiling = [](const std::string& flags) {
    const FromResult result = from("vllm serve m " + flags);
    return result.scenario.at("engine").value("mm_profiling", "auto");
  };
  CHECK(profiling("") == "auto");
  CHECK(profiling("--skip-mm-profiling") == "skip");
  CHECK(profiling("--language-model-only") == "text_only");
  CHECK(profiling("--limit-mm-per-prompt '{\"image\": 0, \"video\": 0}'") == "text_only");
}

TEST_CASE("what a scenario cannot express is a note that names the flag") {
  const FromResult result = from(
      "vllm serve m --speculative-config '{\"method\": \"medusa\"}' --lora-modules a=b "
      "--compilation-config.cudagraph_mode FULL -O3 --limit-mm-per-prompt '{\"image\": 2}' "
      "--no-enable-dbo --served-model-name a b");
  CHECK(any_contains(result.notes,
                     "--speculative-config.method: this drafter is not modelled (ngram, eagle, "
                     "eagle3, mtp, dflash and draft_model are), so the scenario has no drafts"));
  CHECK_FALSE(result.scenario.at("engine").contains("speculative_config"));
  CHECK(any_contains(result.notes, "--lora-modules: "));
  CHECK(result.scenario.at("engine").at("cudagraph_mode") == "FULL");
  CHECK(any_contains(result.notes, "-O3: "));
  CHECK(any_contains(result.notes, "--limit-mm-per-prompt.image: "));
  // Switched off is as good as not there.
  CHECK(result.ignored_flags == Names{"--no-enable-dbo", "--served-model-name"});
  CHECK(result.unknown_flags.empty());
}

TEST_CASE("speculative decoding becomes the options of the same names") {
  const Json ngram = engine_of(
      "vllm serve m --speculative-config '{\"method\": \"ngram\", \"num_speculative_tokens\": 4, "
      "\"prompt_lookup_max\": 3}'");
  CHECK(sorted(ngram.at("speculative_config")) ==
        Sorted::parse(R"({"method": "ngram", "num_speculative_tokens": 4})"));
  const FromResult eagle = from(
      "vllm serve m -sc.method eagle3 --speculative-config.num_speculative_tokens 3 "
      "--speculative-config.model a/b --speculative_config.draft_tensor_parallel_size 1");
  CHECK(sorted(eagle.scenario.at("engine").at("speculative_config")) ==
        Sorted::parse(R"({"method": "eagle3", "num_speculative_tokens": 3})"));
  CHECK(any_contains(eagle.notes, "the drafter of eagle3 is modelled as one layer"));
  CHECK(any_contains(eagle.notes, "draft_tensor_parallel_size: this drafter setting"));
  const auto method = [](const std::string& json) {
    return engine_of("vllm serve m --speculative-config '" + json + "'")
        .value("speculative_config", Json::object());
  };
  CHECK(method(R"({"method": "deepseek_mtp"})").at("method") == "mtp");
  // vLLM infers the method from the drafter's name.
  CHECK(sorted(method(R"({"model": "Qwen/Qwen3-0.6B", "num_speculative_tokens": 5})")) ==
        Sorted::parse(R"({"model": "Qwen/Qwen3-0.6B", "num_speculative_tokens": 5,
                          "method": "draft_model"})"));
  CHECK(method(R"({"model": "yuhuili/EAGLE3-LLaMA3.1-8B"})").at("method") == "eagle3");
  CHECK(method(R"({"method": "suffix", "num_speculative_tokens": 5})").empty());
  CHECK(method(R"({"num_speculative_tokens": 5})").empty());
  CHECK(from("vllm serve m --speculative-config '$SPEC'").unknown_flags ==
        Names{"--speculative-config (no JSON object)"});
  const TempFile settings("model: m\nspeculative-config:\n  method: ngram\n");
  CHECK(engine_of("vllm serve --config " + settings.path()).at("speculative_config").at("method") ==
        "ngram");
}

TEST_CASE("a quantization that is not modelled leaves the checkpoint's formats") {
  for (const std::string name : {"modelopt_fp4", "compressed-tensors", "deepseek_v4_fp8", "awq"}) {
    CHECK(engine_of("vllm serve m -q " + name).at("quantization") == name);
  }
  const FromResult hqq = from("vllm serve m --quantization hqq");
  CHECK_FALSE(hqq.scenario.at("engine").contains("quantization"));
  CHECK(any_contains(hqq.notes, "--quantization: this quantization is not modelled"));
}

TEST_CASE("a KV connector turns the hybrid KV cache manager off, as the release does") {
  const auto off = [](const std::string& version, const std::string& flags) {
    const std::string image =
        version.empty() ? "vllm serve" : "docker run vllm/vllm-openai:v" + version;
    const Json engine = engine_of(image + " --model m " + flags);
    return engine.value("disable_hybrid_kv_cache_manager", false);
  };
  const std::string nixl = R"(--kv-transfer-config '{"kv_connector": "NixlConnector"}')";
  const std::string lmcache = "--kv-transfer-config.kv_connector LMCacheConnectorV1";
  CHECK_FALSE(off("", ""));
  CHECK_FALSE(off("", nixl));
  CHECK(off("0.19.0", nixl));
  CHECK(off("0.11.0", nixl + " --no-disable-hybrid-kv-cache-manager"));
  CHECK_FALSE(off("0.19.0", nixl + " --no-disable-hybrid-kv-cache-manager"));
  CHECK(off("0.21.0", lmcache));
  CHECK(off("0.22.1", lmcache));
  CHECK_FALSE(off("0.22.1", nixl));
  const Names notes = from("docker run vllm/vllm-openai:v0.19.0 --model m " + nixl).notes;
  CHECK(any_contains(notes, "--kv-transfer-config: moving KV cache between engines"));
  CHECK(any_contains(notes, "vLLM 0.19 turns off its hybrid KV cache manager"));
}

TEST_CASE("a release that the user names decides what flags mean") {
  const FromResult result = scenario_from_command(
      "docker run vllm/vllm-openai:v0.19.0 --model m --kv-transfer-config.kv_connector Nixl",
      "command", "0.24");
  CHECK(result.scenario.at("engine").at("version") == "0.24");
  CHECK_FALSE(result.scenario.at("engine").contains("disable_hybrid_kv_cache_manager"));
  CHECK(any_contains(result.notes, "vLLM 0.24 keeps its hybrid KV cache manager"));
  CHECK_FALSE(any_contains(result.notes, "release is not named"));
}

TEST_CASE("a command without a release says which one is modelled") {
  CHECK(any_contains(from("vllm serve m").notes,
                     "the engine's release is not named: vllm 0.33 is modelled; set"));
}

TEST_CASE("a note stays on one line, whatever the command holds") {
  for (const std::string& note : from("vllm serve $(cat \\\n model) -tp 2").notes) {
    CHECK(note.find('\n') == std::string::npos);
  }
  CHECK(any_contains(from("vllm serve $(cat\nmodel)").notes, "$(cat model) has no value here"));
}

TEST_CASE("more devices in use than visible is noted") {
  CHECK(any_contains(from("CUDA_VISIBLE_DEVICES=0,1 vllm serve m -tp 2 -dp 2").notes,
                     "CUDA_VISIBLE_DEVICES gives 2 device(s), the flags use 4"));
  CHECK_FALSE(any_contains(from("CUDA_VISIBLE_DEVICES=0,1 vllm serve m -tp 2").notes, "device"));
}

TEST_CASE("a settings file stands below the command line, a missing one is reported") {
  const TempFile settings(
      "model: a/b\nmax-num-seqs: 64\nblock_size: 32\n"
      "enable-prefix-caching: false\nnew-thing: 1\n");
  const FromResult result = from("vllm serve --max-num-seqs 8 --config " + settings.path());
  CHECK(result.scenario.at("model") == "a/b");
  CHECK(sorted(result.scenario.at("engine")) ==
        Sorted::parse(R"({"name": "vllm", "max_num_seqs": 8, "block_size": 32,
                        "enable_prefix_caching": false})"));
  CHECK(result.unknown_flags == Names{"new-thing"});
  CHECK(any_contains(from("vllm serve m --config nowhere.yaml").unknown_flags,
                     "--config nowhere.yaml: file not found"));
}

TEST_CASE("options of LoRA adapters are kept where these are on") {
  const FromResult read =
      scenario_from_command("vllm serve a/b --enable-lora --max-loras 4 --max-lora-rank 32", "c");
  CHECK(read.scenario["engine"]["max_loras"] == 4);
  CHECK(read.scenario["engine"]["max_lora_rank"] == 32);
}

TEST_CASE("wrong values and missing ones are errors that name the flag") {
  const auto refused = [](std::string_view command) {
    return test::about([&] { return from(command); });
  };
  CHECK(refused("vllm serve m --max-num-seqs many") == test::value_at("--max-num-seqs"));
  CHECK(refused("vllm serve m --gpu-memory-utilization=0,9") ==
        test::value_at("--gpu-memory-utilization"));
  CHECK(refused("vllm serve m --max-num-seqs --port 1") == test::missing_at("--max-num-seqs"));
  CHECK(refused("vllm serve m --enforce-eager=maybe") == test::value_at("--enforce-eager"));
}

TEST_CASE("of several servers in one text the first is read, and the others are named") {
  const FromResult result = from(
      "vllm serve a/b --tensor-parallel-size 2 &\n"
      "vllm serve c/d --api-key secret --port 8001\nnvidia-smi\n");
  CHECK(result.scenario.at("model") == "a/b");
  CHECK(any_contains(result.notes, "starts several servers, and the first one is read"));
  CHECK(any_contains(result.notes, "vllm serve c/d ..."));
  CHECK(any_contains(result.notes, "another command in the text is ignored: nvidia-smi ..."));
  CHECK_FALSE(any_contains(result.notes, "secret"));
  const FromResult pasted = from("vllm serve a/b\n" + std::string(300'000, '['));
  CHECK(any_contains(pasted.notes, "is ignored: a word of 300000 characters ..."));
}

TEST_CASE("a command that starts no engine is refused with those that are understood") {
  for (const std::string command :
       {"", "echo hello", "vllm bench serve --model m", "python x.py"}) {
    INFO(command);
    CHECK_THROWS_WITH(from(command), Contains("no command that starts a known engine") &&
                                         Contains("vllm serve MODEL"));
  }
}

TEST_CASE("a mistyped flag or value: the nearest one is named") {
  const FromResult result =
      from("vllm serve m --max-modl-len 8192 --quantization awqq --brand-new-key 1");
  CHECK(result.unknown_flags == Names{"--max-modl-len", "--brand-new-key"});
  CHECK(any_contains(result.notes,
                     "--max-modl-len is unknown; the nearest known flag is --max-model-len"));
  CHECK_FALSE(any_contains(result.notes, "--brand-new-key"));
  CHECK(any_contains(result.notes, "'awqq' is not one of the known values; the nearest is awq"));
  CHECK_FALSE(any_contains(from("vllm serve m --quantization hqq-xyz").notes, "nearest"));
}

TEST_CASE("more devices by the flags than the process may use: it would not start") {
  const FromResult result = from("CUDA_VISIBLE_DEVICES=0,1 vllm serve m -tp 4");
  REQUIRE(result.refusals.size() == 1);
  CHECK(result.refusals.front() ==
        "CUDA_VISIBLE_DEVICES gives 2 device(s), the flags use 4: the engine will not start");
  CHECK(any_contains(result.notes, "the engine will not start"));
  CHECK(from("CUDA_VISIBLE_DEVICES=0,1 vllm serve m -tp 2").refusals.empty());
  // Others may be on other machines.
  for (const char* flags : {"--nnodes 2", "--distributed-executor-backend ray"}) {
    INFO(flags);
    CHECK(
        from(std::string("CUDA_VISIBLE_DEVICES=0,1 vllm serve m -tp 4 ") + flags).refusals.empty());
  }
}

}  // namespace headroom::from_vllm_test
