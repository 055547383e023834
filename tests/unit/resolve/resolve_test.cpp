#include "sim/resolve/resolve.hpp"
#include "scheduler/batching/sglang.hpp"
#include "sim/engines/engines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>

#include "hardware/llm/parameters.hpp"
#include "hardware/llm/quantization_method.hpp"
#include "sim/kernel/seconds.hpp"
#include "sim/resolve/startup_budget.hpp"
#include "sim/scenario/options.hpp"
#include "tests/support/about.hpp"
#include "tests/support/temp_file.hpp"
#include "tests/unit/scenario/value_source.hpp"

namespace headroom::resolve_test {

namespace {

Scenario scenario_of(const std::string& engine, const std::string& model = "llama-3.1-8b",
                     const std::string& device = "h100-sxm") {
  const std::string text = R"({"model": ")" + model + R"(", "device": ")" + device +
                           R"(", "engine": )" + engine + R"(, "workload": {
      "arrivals": {"process": "all_at_once"}, "num_requests": 3,
      "prompt": {"tokens": 8}, "output": {"tokens": 8}}})";
  return parse_scenario(parse_json(text, "s.json"));
}

Resolved resolved(const std::string& engine) {
  return resolve(scenario_of(engine), Catalog::embedded());
}

test::About refused(const std::string& engine) {
  return test::about([&] { return resolved(engine); });
}

}  // namespace

TEST_CASE("vLLM on an H100 has the API server's defaults of large devices") {
  const Resolved r = resolved("{}");
  // ENGINES.md 6.1: at least 70 GiB and no A100: 8192 tokens, 1024 sequences, block 16.
  CHECK(r.max_num_batched_tokens == 8192);
  CHECK(r.max_num_seqs == 1024);
  CHECK(r.block_size == 16);
  CHECK(r.max_model_len == 131072);
  CHECK(source_of(r, "/engine/max_num_seqs") == "vllm 0.33: API server default on h100-sxm");
  CHECK(source_of(r, "/model") == "s.json");
  CHECK(source_of(r, "/engine/watermark") == "vllm 0.33: default of scheduler vllm");
}

TEST_CASE("weights that an engine does not load are said") {
  const auto warns = [](const std::string& engine) {
    return std::ranges::any_of(resolved(engine).warnings, [](const std::string& warning) {
      return warning.find("GGUF files") != std::string::npos;
    });
  };
  CHECK(warns(R"({"name": "llamacpp", "quantization": "awq"})"));
  CHECK_FALSE(warns(R"({"name": "llamacpp", "quantization": "q4_k_m"})"));
  CHECK_FALSE(warns(R"({"name": "llamacpp"})"));
  CHECK(warns(R"({"name": "trtllm", "quantization": "q4_k_m"})"));
  CHECK_FALSE(warns(R"({"name": "trtllm", "quantization": "fp8"})"));
  CHECK_FALSE(warns(R"({"name": "vllm", "quantization": "q4_k_m"})"));  // llama.cpp's, too
}

TEST_CASE("asynchronous scheduling is on from 0.14 and means pipeline depth 2") {
  CHECK(replica_options(resolved(R"({"version": "0.14"})")).pipeline_depth == 2);
  CHECK(replica_options(resolved(R"({"version": "0.13"})")).pipeline_depth == 1);
  CHECK(replica_options(resolved(R"({"async_scheduling": false})")).pipeline_depth == 1);
  CHECK(replica_options(resolved(R"({"name": "orca"})")).pipeline_depth == 1);
}

TEST_CASE("reserving engines reject by prompt and max_tokens together") {
  CHECK_FALSE(admission_limits(resolved("{}"), 100).reserves_max_tokens);
  CHECK(admission_limits(resolved(R"({"name": "orca"})"), 100).reserves_max_tokens);
  CHECK(admission_limits(resolved(R"({"name": "static"})"), 100).reserves_max_tokens);
  CHECK_FALSE(admission_limits(resolved(R"({"name": "static", "kv_allocator": "paged"})"), 100)
                  .reserves_max_tokens);
}

TEST_CASE("static batches answer at their end unless they stream") {
  CHECK(replica_options(resolved(R"({"name": "static"})")).responds_at_end);
  CHECK_FALSE(replica_options(resolved(R"({"name": "static", "stream": true})")).responds_at_end);
}

TEST_CASE("one pool size holds for the three engines") {
  // 8 GiB / (2 * 32 layers * 8 heads * 128 * 2 B = 131,072 B per token) = 65,536 tokens; vLLM's
  // first block of 16 is the null block.
  for (const std::string name : {"vllm", "orca", "static"}) {
    INFO(name);
    for (const std::string size :
         {R"("kv_cache_memory_bytes": 8589934592)", R"("num_gpu_blocks_override": 4096)"}) {
      const auto [r, budget] = budgeted(
          resolved(fmt::format(R"({{"name": "{}", "max_model_len": 16384, {}}})", name, size)));
      REQUIRE_FALSE(budget.failure.has_value());
      CHECK(budget.kv_pool_bytes == 8589934592);
      CHECK(pool_tokens(r, budget) == (name == "vllm" ? 65536 - 16 : 65536));
      CHECK(budget.terms.sum() == budget.capacity_bytes);
    }
  }
}

TEST_CASE("a pool larger than what is free does not start") {
  const MemoryBudget budget =
      budgeted(resolved(R"({"name": "orca", "kv_cache_memory_bytes": 80000000000})")).budget;
  REQUIRE(budget.failure.has_value());
  CHECK(budget.failure->stage == StartupStage::kv_allocation);
}

TEST_CASE("a pool of more bytes than a number holds does not start") {
  // 2e10 blocks of 4096 tokens of 128 KiB are 1.07e19 bytes, more than 2^63.
  for (const std::string engine : {"orca", "vllm", "sarathi", "static"}) {
    Resolved r = resolved(R"({"name": ")" + engine +
                          R"(", "num_gpu_blocks_override": 20000000000, "block_size": 4096})");
    const MemoryBudget budget = budgeted(r).budget;
    REQUIRE(budget.failure.has_value());
    CHECK(budget.failure->stage == StartupStage::kv_allocation);
    CHECK(budget.kv_tokens >= 0);
  }
}

TEST_CASE("a version beyond the newest modelled one is a warning") {
  Resolved r = resolved(R"({"version": "0.40"})");
  r = budgeted(std::move(r)).resolved;
  const bool warned = std::ranges::any_of(r.warnings, [](const std::string& warning) {
    return warning.find("newer than 0.33") != std::string::npos;
  });
  CHECK(warned);
}

TEST_CASE("a release of llama.cpp is the number of a build") {
  const EngineVersion build{0, 6918};
  CHECK(resolved(R"({"name": "llamacpp", "version": "b6918"})").version == build);
  CHECK(resolved(R"({"name": "llamacpp", "version": "0.6918"})").version == build);
  for (const char* wrong : {"b", "b69x8", "b-1", "6918"}) {
    INFO(wrong);
    CHECK(refused(fmt::format(R"({{"name": "llamacpp", "version": "{}"}})", wrong)).pointer ==
          "/engine/version");
  }
  CHECK(refused(R"({"name": "vllm", "version": "b6918"})").pointer == "/engine/version");
}

TEST_CASE("a GGUF file of gpt-oss has the size of its makers' files") {
  // ggml-org/gpt-oss-20b-GGUF, gpt-oss-120b-GGUF: llama-bench shows 11.27 and 59.02 GiB.
  const Catalog catalog = Catalog::embedded();
  const auto gib = [&](const std::string& model) {
    const Resolved r = resolve(scenario_of(R"({"name": "llamacpp"})", model, "gb10"), catalog);
    CHECK(r.model.head_format.dtype == Dtype::q8_0);
    return static_cast<double>(checkpoint_bytes(r.model)) / (1 << 30);
  };
  CHECK(gib("gpt-oss-20b-mxfp4.gguf") == Approx(11.27).epsilon(0.005));
  CHECK(gib("gpt-oss-120b-mxfp4.gguf") == Approx(59.02).epsilon(0.005));
  CHECK(gib("openai/gpt-oss-120b") == Approx(59.02).epsilon(0.005));
  const Resolved other = resolve(scenario_of("{}", "gpt-oss-20b"), catalog);
  CHECK(other.model.head_format.dtype == Dtype::bf16);
}

TEST_CASE("a GGUF file of a format that is not known is refused with those that are") {
  const test::About error = test::about([] {
    return resolve(scenario_of(R"({"name": "llamacpp"})", "Qwen3.6-27B-UD-IQ2_XXS.gguf"),
                   Catalog::embedded());
  });
  CHECK(error == test::unknown_at("/model"));
  CHECK(error.text.find("q3_k_s") != std::string::npos);
}

TEST_CASE("an unknown model or device is refused at its place, with the nearest name") {
  const Catalog catalog = Catalog::embedded();
  const auto error = [&](const std::string& model, const std::string& device) {
    return test::about([&] { return resolve(scenario_of("{}", model, device), catalog); });
  };
  const test::About model = error("llama-3.1-8", "h100-sxm");
  CHECK(model == test::unknown_at("/model"));
  CHECK(model.complaint.nearest == "llama-3.1-8b");
  CHECK(model.text.find("your own: --set model=PATH") != std::string::npos);
  CHECK(error("./mine.gguf", "h100-sxm").text.find("your own: --set model=PATH") !=
        std::string::npos);
  const test::About device = error("llama-3.1-8b", "h100-smx");
  CHECK(device == test::unknown_at("/device/name"));
  CHECK(device.complaint.nearest == "h100-sxm");
}

TEST_CASE("a cache format that the checkpoint declares counts where the engine reads it") {
  const Catalog catalog = Catalog::embedded();
  const auto cache_of = [&](const std::string& engine, const std::string& model) {
    return resolve(scenario_of(engine, model, "b200"), catalog).kv;
  };
  const std::string vllm = R"({"name": "vllm", "version": ")";
  const std::string sglang = R"({"name": "sglang", "version": "0.5.9")";
  // Model Optimizer's file: vLLM since 0.14, SGLang.
  CHECK(cache_of(vllm + R"(0.13"})", "llama-3.3-70b-nvfp4") == Dtype::bf16);
  CHECK(cache_of(vllm + R"(0.14"})", "llama-3.3-70b-nvfp4") == Dtype::fp8);
  CHECK(cache_of(sglang + "}", "llama-3.3-70b-nvfp4") == Dtype::fp8);
  // The scheme of compressed-tensors: vLLM alone, since 0.15.
  CHECK(cache_of(vllm + R"(0.14"})", "laguna-s-2.1-int4") == Dtype::bf16);
  CHECK(cache_of(vllm + R"(0.15"})", "laguna-s-2.1-int4") == Dtype::fp8);
  CHECK(cache_of(vllm + R"(0.25"})", "laguna-s-2.1-int4") == Dtype::fp8);
  CHECK(cache_of(sglang + "}", "laguna-s-2.1-int4") == Dtype::bf16);
  // A checkpoint of NVIDIA's that the catalog does not have.
  CHECK(cache_of(vllm + R"(0.25"})", "nvidia/Qwen3-8B-NVFP4") == Dtype::fp8);
  CHECK(cache_of(vllm + R"(0.25"})", "other/Qwen3-8B-NVFP4") == Dtype::bf16);
  // Unsloth's have scales for the cache, which SGLang does not read.
  CHECK(cache_of(vllm + R"(0.25"})", "unsloth/Qwen3-8B-NVFP4") == Dtype::fp8);
  CHECK(cache_of(sglang + "}", "unsloth/Qwen3-8B-NVFP4") == Dtype::bf16);
}

TEST_CASE("a checkpoint whose method the user contradicts is somebody else's") {
  const Catalog catalog = Catalog::embedded();
  const auto of = [&](const std::string& method) {
    const std::string engine =
        R"({"name": "vllm", "version": "0.25", "quantization": ")" + method + R"("})";
    return resolve(scenario_of(engine, "Qwen3.6-35B-A3B NVFP4", "b200"), catalog);
  };
  // NVIDIA's, with a cache in 8 bits; a base model in NVFP4 with one in 16.
  CHECK(of("modelopt").model.id == "qwen3.6-35b-a3b-nvfp4");
  CHECK(of("modelopt").kv == Dtype::fp8);
  CHECK(of("compressed-tensors").model.id == "qwen3.5-35b-a3b");
  CHECK(of("compressed-tensors").kv == Dtype::bf16);
}

TEST_CASE("a name of Ollama's without a format is 4 bits, and so is its tag for llama.cpp") {
  const Catalog catalog = Catalog::embedded();
  const auto main_of = [&](const std::string& engine, const std::string& model) {
    return main_dtype(
        resolve(scenario_of(R"({"name": ")" + engine + R"("})", model, "rtx4090"), catalog).model);
  };
  CHECK(main_of("ollama", "llama3.1:8b") == Dtype::q4_k_m);
  CHECK(main_of("ollama", "llama3.1:8b-instruct-q8_0") == Dtype::q8_0);
  CHECK(main_of("ollama", "llama3.1:8b-instruct-fp16") == Dtype::bf16);
  CHECK(main_of("ollama", "gpt-oss:20b") == Dtype::mxfp4);  // as its makers publish it
  CHECK(main_of("ollama", "llama-3.1-8b") == Dtype::q4_k_m);
  CHECK(main_of("llamacpp", "llama3.1:8b") == Dtype::q4_k_m);
  CHECK(main_of("llamacpp", "llama-3.1-8b") == Dtype::bf16);
}

TEST_CASE("a quantization method is the checkpoint's own, or an error") {
  const Catalog catalog = Catalog::embedded();
  const auto main_of = [&](const std::string& model, const std::string& method) {
    const std::string engine = R"({"quantization": ")" + method + R"("})";
    return main_dtype(resolve(scenario_of(engine, model, "b200"), catalog).model);
  };
  CHECK(main_of("llama-3.3-70b-nvfp4", "modelopt_fp4") == Dtype::nvfp4);
  CHECK(main_of("llama-3.3-70b-fp8", "modelopt") == Dtype::fp8);
  CHECK(main_of("llama-3.3-70b-fp8-dynamic", "compressed-tensors") == Dtype::fp8);
  CHECK(main_of("deepseek-v4-flash", "deepseek_v4_fp8") == Dtype::mxfp4);
  CHECK(main_of("deepseek-v4-flash", "fp8") == Dtype::mxfp4);  // its experts stay as they are
  CHECK(main_of("llama-3.1-8b", "fp8") == Dtype::fp8);         // at load
  // A name for what the checkpoint is already changes nothing of its parts.
  const auto bytes_of = [&](const char* method) {
    return checkpoint_bytes(loaded_as(catalog.model("nemotron-3-super-120b-a12b-nvfp4"), method));
  };
  CHECK(bytes_of("fp4") == bytes_of("modelopt"));
  const auto refused_with = [&](const char* model, const char* method) {
    return test::about([&] { return main_of(model, method); });
  };
  // A checkpoint that others made of the model.
  CHECK(main_of("llama-3.1-8b", "modelopt_fp4") == Dtype::nvfp4);
  CHECK(refused_with("llama-3.3-70b-fp8", "compressed-tensors") ==
        test::value_at("/engine/quantization"));
  CHECK(refused_with("llama-3.3-70b-fp8", "modelopt_fp4") ==
        test::value_at("/engine/quantization"));
}

TEST_CASE("recurrent layers need vLLM's hybrid KV cache manager") {
  const Scenario scenario =
      scenario_of(R"({"disable_hybrid_kv_cache_manager": true})", "qwen3.5-27b", "h200-sxm");
  CHECK(test::about([&] { return resolve(scenario, Catalog::embedded()); }) ==
        test::conflict_at("/engine/disable_hybrid_kv_cache_manager"));
}

TEST_CASE("figures of the host have no effect on a device with memory of its own") {
  const Catalog catalog = Catalog::embedded();
  const auto error = [&](const std::string& environment, const std::string& device) {
    JsonDocument document =
        parse_json(fmt::format(R"({{"model": "llama-3.1-8b", "device": "{}", "environment": {}}})",
                               device, environment),
                   "s.json");
    return test::about([&] { return resolve_system(parse_scenario(document), catalog); });
  };
  CHECK(error(R"({"processes_gib": 20})", "rtx4090") ==
        test::no_effect_at("/environment/processes_gib"));
  CHECK(error(R"({"page_cache_gib": 20})", "gh200-96") ==
        test::no_effect_at("/environment/page_cache_gib"));
  CHECK(error(R"({"engine_host_gib": 20})", "rtx4090") ==
        test::no_effect_at("/environment/engine_host_gib"));
  CHECK(error(R"({"engine_host_gib": 20, "memory_limit_gib": 64})", "rtx4090") == test::no_error());
  CHECK(error(R"({"tmpfs_gib": 1, "shm_size_gib": 2})", "rtx4090") == test::no_error());
  CHECK(error(R"({"processes_gib": 20})", "gb10") == test::no_error());
}

TEST_CASE("a token budget below the batch size is refused") {
  CHECK(refused(R"({"max_num_seqs": 64, "max_num_batched_tokens": 32})") ==
        test::value_at("/engine/max_num_batched_tokens"));
  CHECK(refused(R"({"enable_chunked_prefill": false, "max_model_len": 4096,
                    "max_num_batched_tokens": 2048})") ==
        test::value_at("/engine/max_num_batched_tokens"));
}

TEST_CASE("a section written as a text is its name") {
  const Resolved r = resolved(R"("orca")");
  CHECK(r.engine->name == "orca");
  CHECK(r.scenario.is_given("/device/name"));
}

TEST_CASE("a length beyond the trained one is refused unless rope is scaled or it is allowed") {
  const std::string beyond = R"({"max_model_len": 200000)";
  CHECK(refused(beyond + "}") == test::value_at("/engine/max_model_len"));
  CHECK(resolved(beyond + R"(, "rope_scaling_factor": 2})").max_model_len == 200000);
  const Resolved allowed = resolved(beyond + R"(, "allow_long_max_model_len": true})");
  CHECK_FALSE(allowed.warnings.empty());
}

TEST_CASE("a rope scaling lengthens the trained length once") {
  const auto with_length = [](const std::string& length) {
    return R"({"rope_scaling_factor": 2, "max_model_len": )" + length + "}";
  };
  // 2 x 131,072 = 262,144.
  CHECK(resolved(with_length("262144")).max_model_len == 262144);
  CHECK(refused(with_length("262145")) == test::value_at("/engine/max_model_len"));
  CHECK(refused(with_length("300000")) == test::value_at("/engine/max_model_len"));
  CHECK(resolved(R"({"rope_scaling_factor": 2})").max_model_len == 262144);
}

TEST_CASE("a length without room for a prompt and an output is refused at its place") {
  const auto with = [](const std::string& engine, const std::string& pointer,
                       const std::string& value) {
    return R"({"name": ")" + engine + R"(", ")" + pointer + R"(": )" + value + "}";
  };
  for (const std::string length : {"0", "1"}) {
    CHECK(refused(with("vllm", "max_model_len", length)) ==
          test::value_at("/engine/max_model_len"));
  }
  for (const std::string engine : {"orca", "static"}) {
    for (const std::string length : {"-1", "0", "1"}) {
      CHECK(refused(with(engine, "max_model_len", length)) ==
            test::value_at("/engine/max_model_len"));
    }
    CHECK(resolved(with(engine, "max_model_len", "2")).max_model_len == 2);
  }
  CHECK(resolved(with("vllm", "max_model_len", "2")).max_model_len == 2);
  CHECK(refused(with("trtllm", "max_seq_len", "1")) == test::value_at("/engine/max_seq_len"));
  CHECK(refused(with("sglang", "context_length", "1")) == test::value_at("/engine/context_length"));
}

TEST_CASE("a length set by a flag is refused at the flag") {
  JsonDocument document =
      parse_json(R"({"model": "llama-3.1-8b", "device": "h100-sxm"})", "s.json");
  set_value(document, "engine.max_model_len=0");
  const test::About error =
      test::about([&] { return resolve_system(parse_scenario(document), Catalog::embedded()); });
  CHECK(error == test::value_at("/engine/max_model_len"));
  CHECK(error.complaint.origin == "--set engine.max_model_len=0");
}

TEST_CASE("a model whose context length holds no request needs a length of its own") {
  const TempFile file(R"({"architectures": ["LlamaForCausalLM"], "torch_dtype": "bfloat16",
      "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
      "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256,
      "max_position_embeddings": 1})");
  const Scenario scenario = scenario_of("{}", file.path());
  CHECK(test::about([&] { return resolve(scenario, Catalog::embedded()); }) ==
        test::value_at("/engine/max_model_len"));
}

TEST_CASE("a length of -1 becomes the longest that fits") {
  Resolved r = resolved(R"({"max_model_len": -1, "kv_cache_memory_bytes": 1073741824})");
  r = budgeted(std::move(r)).resolved;
  CHECK(r.max_model_len == 8192);  // 512 blocks of 16
}

TEST_CASE("an engine's parts may be named one by one, and a release may bring another scheduler") {
  CHECK(resolved(R"({"name": "trtllm"})").scheduler->name == "trtllm");
  CHECK(resolved(R"({"name": "trtllm", "scheduler": "orca"})").scheduler->name == "orca");
  CHECK(resolved(R"({"name": "vllm", "version": "0.8"})").scheduler->name == "vllm");
  const Resolved v0 = resolved(R"({"name": "vllm", "version": "0.7", "max_model_len": 8192})");
  CHECK(v0.scheduler->name == "vllm_v0");
  CHECK(source_of(v0, "/engine/scheduler") == "vllm 0.7: V0 before 0.8");
  // V0 (ENGINES.md 3.2): whole prompts, 1 % watermark, no prefix cache.
  CHECK_FALSE(scheduler_options(v0).enable_chunked_prefill);
  const Resolved long_v0 =
      resolved(R"({"name": "vllm", "version": "0.7", "max_model_len": 32769})");
  CHECK(scheduler_options(long_v0).enable_chunked_prefill);  // above 32k in chunks
  CHECK(scheduler_options(v0).watermark == 0.01);
  CHECK_FALSE(finds_prefixes(v0));
}

TEST_CASE("V0 computes long prompts in chunks on NVIDIA devices alone") {
  const auto v0 = [](std::string_view device, std::string_view version) {
    Scenario s = scenario_of(fmt::format(
        R"({{"name": "vllm", "version": "{}", "scheduler": "vllm_v0", "max_model_len": 131072}})",
        version));
    s.device.name = device;
    return resolve(s, Catalog::embedded());
  };
  const Resolved amd = v0("mi300x", "0.9.1");
  CHECK_FALSE(scheduler_options(amd).enable_chunked_prefill);
  CHECK(amd.max_num_batched_tokens == 131072);  // whole prompts
  CHECK(amd.max_num_seqs == 256);
  const Resolved nvidia = v0("h100-sxm", "0.9.1");
  CHECK(scheduler_options(nvidia).enable_chunked_prefill);
  CHECK(nvidia.max_num_batched_tokens == 2048);
}

TEST_CASE("parts that do not go together are refused") {
  CHECK(refused(R"({"kv_allocator": "contiguous"})") == test::conflict_at("/engine/kv_allocator"));
  CHECK(refused(R"({"kv_allocator": "slots"})") == test::conflict_at("/engine/kv_allocator"));
  CHECK(refused(R"({"scheduler": "llamacpp"})") == test::conflict_at("/engine/scheduler"));
  CHECK(refused(R"({"name": "orca", "kv_placement": "buddy", "kv_compaction": true})") ==
        test::conflict_at("/engine/kv_compaction"));
  CHECK(refused(R"({"kv_placement": "best_fit"})") == test::no_effect_at("/engine/kv_placement"));
}

TEST_CASE("SGLang's chunks are whole pages, and without a radix cache prefixes order nothing") {
  CHECK(refused(R"({"name": "sglang", "page_size": 16, "chunked_prefill_size": 1000})") ==
        test::value_at("/engine/chunked_prefill_size"));
  const Resolved r =
      resolved(R"({"name": "sglang", "schedule_policy": "lpm", "disable_radix_cache": true})");
  CHECK(scheduler_options(r).own.get<SglangScheduling>().schedule_policy == "fcfs");
  CHECK(source_of(r, "/engine/schedule_policy") == "sglang 0.5.23: fcfs without the radix cache");
}

// launcher/src/main.rs, resolve_attention; Llama 3.1 8B has heads of 128, Phi-3
// mini of 96. Before 3.0 the attention is paged here.
TEST_CASE("TGI looks for prefixes by attention and size of the heads") {
  CHECK(finds_prefixes(resolved(R"({"name": "tgi"})")));
  CHECK(finds_prefixes(resolved(R"({"name": "tgi", "attention": "flashdecoding"})")));
  CHECK_FALSE(finds_prefixes(resolved(R"({"name": "tgi", "attention": "paged"})")));
  CHECK_FALSE(finds_prefixes(resolved(R"({"name": "tgi", "version": "2.4"})")));
  CHECK_FALSE(finds_prefixes(resolved(R"({"name": "tgi", "enable_prefix_caching": false})")));
  CHECK_FALSE(finds_prefixes(resolved(R"({"name": "tgi", "kv_allocator": "contiguous"})")));
  CHECK_FALSE(finds_prefixes(resolved(R"({"name": "tgi", "scheduler": "orca"})")));
  CHECK(finds_prefixes(resolved(R"({"name": "vllm", "scheduler": "tgi"})")));
  const Resolved narrow =
      resolve(scenario_of(R"({"name": "tgi"})", "phi-3-mini"), Catalog::embedded());
  CHECK_FALSE(finds_prefixes(narrow));
  CHECK(refused(R"({"name": "tgi", "attention": "paged", "enable_prefix_caching": true})") ==
        test::conflict_at("/engine/enable_prefix_caching"));
}

TEST_CASE("every engine's profile resolves and starts on an idle H100") {
  const Catalog catalog = Catalog::embedded();
  for (const Engine* engine : engines()) {
    INFO(engine->name);
    Resolved r = resolve_system(scenario_of("\"" + std::string(engine->name) + "\""), catalog);
    const MemoryBudget budget = budgeted(r).budget;
    CHECK_FALSE(budget.failure.has_value());
    CHECK(budget.terms.sum() == budget.capacity_bytes);
    CHECK(budget.kv_tokens > 0);
  }
}

TEST_CASE("the format of the KV cache is listed for the engines that take it") {
  const Catalog catalog = Catalog::embedded();
  const auto source = [&](const std::string& engine) {
    return source_of(resolve_system(scenario_of("\"" + engine + "\""), catalog),
                     "/engine/kv_cache_dtype");
  };
  CHECK(source("vllm") == "auto: bf16");
  CHECK(source("llamacpp") == "absent");
  CHECK(source("ollama") == "absent");
}

TEST_CASE("seconds become the nearest nanosecond") {
  CHECK(ns_from_seconds(0) == 0);
  CHECK(ns_from_seconds(1e-9) == 1);
  CHECK(ns_from_seconds(3600.25) == 3'600'250'000'000);
}

TEST_CASE("states of the largest batch that are more than the pool leave requests some of it") {
  Scenario scenario;
  scenario.model = "deepseek-v4-pro";
  scenario.device.name = "b200";
  scenario.engine.tensor_parallel_size = 8;
  scenario.engine.max_model_len = 16'384;
  scenario.engine.max_num_seqs = 1024;
  const auto [resolved, budget] = budgeted(resolve_system(scenario, Catalog::embedded()));
  REQUIRE_FALSE(budget.failure);
  CHECK(budget.layout.state_bytes_per_sequence * 1024 >
        budget.usable_blocks * budget.layout.block_bytes);
  CHECK(pool_tokens(resolved, budget) >= 16'384);
}

}  // namespace headroom::resolve_test
