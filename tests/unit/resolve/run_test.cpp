#include "sim/resolve/run.hpp"

#include <algorithm>
#include <catch2/catch.hpp>

#include <string>
#include <vector>

#include "sim/scenario/options.hpp"
#include "sim/scenario/scenario_file.hpp"

namespace headroom::run_test {

namespace {

// One request of 100 prompt and 5 output tokens, priced 10 ms + 0.1 ms per prompt token + 1 ms per
// row.
std::string lone_request(const std::string& engine) {
  return R"({"model": "llama-3.1-8b", "device": "h100-sxm",
    "engine": {"max_model_len": 4096, )" +
         engine + R"(},
    "cost": {"level": "affine", "affine": {"step_us": 10000, "prompt_token_us": 100,
                                           "decode_token_us": 1000}},
    "workload": {"arrivals": {"process": "all_at_once"}, "num_requests": 1,
                 "prompt": {"tokens": 100}, "output": {"tokens": 5}}})";
}

RunResult result_of(const std::string& text) {
  return run(parse_scenario(parse_json(text, "s.json")), Catalog::embedded());
}

}  // namespace

TEST_CASE("a lone request takes its prefill and its decodes") {
  const RunResult result = result_of(lone_request(R"("async_scheduling": false)"));
  REQUIRE(result.started);
  REQUIRE(result.recorder->records().size() == 1);
  const RequestRecord& record = result.recorder->records()[0];
  CHECK(record.outcome == Outcome::finished);
  CHECK(record.first_token_ns == 20'000'000);              // 10 + 100 * 0.1 ms
  CHECK(record.finish_ns == 20'000'000 + 4 * 11'000'000);  // 4 decode steps of 10 + 1 ms
  CHECK(result.stop == StopReason::drained);
  CHECK(result.cost.calibration == "affine");
}

TEST_CASE("a static batch answers at its end") {
  const RunResult result = result_of(lone_request(R"("name": "static")"));
  REQUIRE(result.started);
  const RequestRecord& record = result.recorder->records()[0];
  CHECK(record.first_token_ns == record.finish_ns);
  CHECK(record.finish_ns == 64'000'000);
}

TEST_CASE("layers in host memory are read at its rate") {
  const auto run_with = [](const char* layers, const char* environment) {
    return result_of(R"({"model": "llama-3.1-8b", "device": "rtx4090",
      "engine": {"name": "llamacpp", "ctx_size": 4096, "n_gpu_layers": )" +
                     std::string(layers) + "}," + environment + R"(
      "workload": {"arrivals": {"process": "all_at_once"}, "num_requests": 1,
                   "prompt": {"tokens": 100}, "output": {"tokens": 11}}})");
  };
  const auto last_token_s = [&](const char* layers, const char* environment) {
    const RunResult result = run_with(layers, environment);
    REQUIRE(result.started);
    const RequestRecord& record = result.recorder->records()[0];
    return static_cast<double>(record.finish_ns - record.first_token_ns) / 1e9;
  };
  // 15.0 GB of layers and output for each of ten tokens, at 50 GB/s, and no calibration reads them
  // faster.
  const double on_host = last_token_s("0", "");
  CHECK(on_host > 10 * 15.0 / 50);
  CHECK(on_host < 1.5 * 10 * 15.0 / 50);
  const double at_twice = last_token_s("0", R"("environment": {"host_read_gb_per_s": 100},)");
  CHECK(at_twice == Approx(on_host / 2).epsilon(0.05));
  const double on_device = last_token_s("99", "");
  CHECK(on_device < on_host / 10);
  const double half = last_token_s("17", "");
  CHECK(half == Approx((on_host + on_device) / 2).epsilon(0.1));
  // A search over systems may leave nothing on the host: that is said, and is no error.
  const RunResult none = run_with("99", R"("environment": {"host_read_gb_per_s": 100},)");
  CHECK(std::ranges::count(none.warnings,
                           "environment.host_read_gb_per_s has no effect: all layers are on the "
                           "device") == 1);
}

TEST_CASE("of experts in host memory a step reads those that its tokens reach") {
  const auto token_s = [](const char* layers, const char* rate) {
    const RunResult result =
        result_of(R"({"model": "gpt-oss-20b", "device": "rtx4090",
      "engine": {"name": "llamacpp", "ctx_size": 4096, "quantization": "mxfp4", "n_cpu_moe": )" +
                  std::string(layers) + R"(}, "environment": {"host_read_gb_per_s": )" + rate +
                  R"(},
      "workload": {"arrivals": {"process": "all_at_once"}, "num_requests": 1,
                   "prompt": {"tokens": 100}, "output": {"tokens": 11}}})");
    REQUIRE(result.started);
    const RequestRecord& record = result.recorder->records()[0];
    return static_cast<double>(record.finish_ns - record.first_token_ns) / 1e10;
  };
  // 24 layers with 3 x 2880 x 2880 weights of 17/32 bytes in each expert, 4 of 32 for a token:
  // 1.27 GB, 25.4 ms at 50 GB/s and half of that at 100.
  const double expert_s = 24 * 4 * 3 * 2880.0 * 2880 * 17 / 32 / 50e9;
  const double on_device = token_s("0", "50");
  const double all = token_s("24", "50");
  CHECK(all - on_device == Approx(expert_s).epsilon(0.1));
  CHECK(token_s("24", "100") - on_device == Approx(expert_s / 2).epsilon(0.2));
  CHECK(token_s("12", "50") == Approx((all + on_device) / 2).epsilon(0.05));
}

TEST_CASE("a model that does not fit is a result with nothing arrived") {
  const RunResult result = run(load_scenario("llama-70b-does-not-fit", {}), Catalog::embedded());
  CHECK_FALSE(result.started);
  REQUIRE(result.budget.failure.has_value());
  CHECK(result.budget.failure->stage == StartupStage::weights);
  CHECK(result.summary.requests.arrived == 0);
  CHECK(result.workload.requests == 1000);
}

TEST_CASE("a run that is ended early says so") {
  ScenarioFlags flags;
  flags.until_s = 10;
  const RunResult result = run(load_scenario("demo", flags), Catalog::embedded());
  CHECK(result.stop == StopReason::until);
  CHECK(result.summary.requests.unfinished > 0);
  REQUIRE_FALSE(result.warnings.empty());
  CHECK(result.warnings.back().starts_with("the run ended early (until): "));
}

TEST_CASE("single steps and jumps give the same results") {
  ScenarioFlags flags;
  flags.set = {"workload.num_requests=300"};
  const RunResult jumped = run(load_scenario("demo", flags), Catalog::embedded());
  flags.single_step = true;
  const RunResult stepped = run(load_scenario("demo", flags), Catalog::embedded());
  CHECK(jumped.digest == stepped.digest);
  flags.set.emplace_back("seed=2");
  CHECK(run(load_scenario("demo", flags), Catalog::embedded()).digest != jumped.digest);
}

TEST_CASE("a pool that takes blocks as they were released: jumps and single steps are the same") {
  ScenarioFlags flags;
  flags.set = {"engine.version=0.11"};
  flags.until_s = 300;
  const RunResult jumped = run(load_scenario("chat-sessions", flags), Catalog::embedded());
  CHECK(jumped.summary.memory.mean_cached > 0);
  flags.single_step = true;
  CHECK(run(load_scenario("chat-sessions", flags), Catalog::embedded()).digest == jumped.digest);
}

// A state of qwen3.5-27b makes its blocks 784 tokens long, which 8192 is no multiple of.
TEST_CASE("SGLang's chunks are whole pages of the pool") {
  const RunResult result = result_of(R"({"model": "qwen3.5-27b", "device": "h200-sxm",
    "engine": {"name": "vllm", "scheduler": "sglang", "max_model_len": 20000,
               "tensor_parallel_size": 2}, "cost": {"level": "affine"},
    "workload": {"arrivals": {"process": "all_at_once"}, "num_requests": 2,
                 "prompt": {"tokens": 9000}, "output": {"tokens": 5}}})");
  REQUIRE(result.started);
  CHECK(result.summary.requests.finished == 2);
}

TEST_CASE("the first step of an engine may be cold, in jumps as in single steps") {
  ScenarioFlags flags;
  flags.set = {"workload.num_requests=50"};
  const auto first_ttft_ms = [&] {
    const RunResult result = run(load_scenario("demo", flags), Catalog::embedded());
    const RequestRecord& record = result.recorder->records().front();
    return static_cast<double>(record.first_token_ns - record.arrival_ns) / 1e6;
  };
  const double warm = first_ttft_ms();
  flags.set.emplace_back("cost.cold_step_ms=150");
  CHECK(first_ttft_ms() == Approx(warm + 150));
  const std::string jumped = run(load_scenario("demo", flags), Catalog::embedded()).digest;
  flags.single_step = true;
  CHECK(run(load_scenario("demo", flags), Catalog::embedded()).digest == jumped);
}

TEST_CASE("an engine without constants of its own says whose it is priced with") {
  ScenarioFlags flags;
  flags.set = {"workload.num_requests=10", "engine.name=orca", "engine.version=null"};
  const RunResult result = run(load_scenario("demo", flags), Catalog::embedded());
  REQUIRE_FALSE(result.warnings.empty());
  CHECK(result.warnings.front() ==
        "engine orca has no measured constants: step times are those of synchronous vllm");
}

namespace {

// Of two turns of a conversation that begin alike.
std::vector<std::string> notes_on_windows(const std::string& engine, const std::string& model) {
  const std::string text = R"({"model": ")" + model + R"(", "device": "h200-sxm",
    "engine": {)" + engine +
                           R"(}, "cost": {"level": "spec"},
    "workload": {"arrivals": {"process": "all_at_once"}, "num_requests": 2,
                 "system_prompts": {"count": 1, "tokens": {"law": "fixed", "tokens": 64}},
                 "prompt": {"tokens": 100}, "output": {"tokens": 5}}})";
  std::vector<std::string> notes;
  for (const std::string& warning : result_of(text).warnings) {
    if (warning.find("has windowed layers") != std::string::npos) notes.emplace_back("prefix");
    if (warning.find("layers of different kinds") != std::string::npos)
      notes.emplace_back("memory");
  }
  return notes;
}

}  // namespace

// 700 blocks of 16 hold 11,200 tokens. A window of 4,096 with chunks of 2,048 takes at most
// ceil((4095 + 2048) / 16) + 1 = 385 of them, whatever the length of a prompt.
TEST_CASE("a model whose layers all have one window serves prompts above its pool") {
  const RunResult result = result_of(R"({"model": "mistral-7b-v0.1", "device": "h100-sxm",
      "engine": {"name": "vllm", "version": "0.19", "num_gpu_blocks_override": 700,
                 "max_num_batched_tokens": 2048},
      "workload": {"num_requests": 4, "prompt": {"law": "fixed", "tokens": 16000},
                   "output": {"law": "fixed", "tokens": 40},
                   "arrivals": {"process": "all_at_once"}}})");
  CHECK(result.summary.requests.finished == 4);
  CHECK(result.summary.requests.rejected == 0);
}

TEST_CASE("a run says what it leaves out of the windows of a model") {
  using Notes = std::vector<std::string>;
  CHECK(notes_on_windows(R"("name": "vllm")", "gpt-oss-20b") == Notes{});
  // Before 0.22 the engine, too, keeps every token then.
  CHECK(notes_on_windows(R"("name": "vllm", "version": "0.21", "kv_offloading_size_gib": 1)",
                         "gpt-oss-20b") == Notes{});
  CHECK(notes_on_windows(R"("name": "vllm", "version": "0.22", "kv_offloading_size_gib": 1)",
                         "gpt-oss-20b") == Notes{"memory"});
  CHECK(notes_on_windows(R"("name": "sglang")", "gpt-oss-20b") == Notes{"prefix"});
  CHECK(notes_on_windows(R"("name": "sglang", "disable_radix_cache": true)", "gpt-oss-20b") ==
        Notes{});
  CHECK(notes_on_windows(R"("name": "sglang")", "gemma-3-12b") == Notes{});  // one pool
  CHECK(notes_on_windows(R"("name": "llamacpp")", "gpt-oss-20b") == Notes{"prefix"});
  CHECK(notes_on_windows(R"("name": "llamacpp", "swa_full": true)", "gpt-oss-20b") == Notes{});
  CHECK(notes_on_windows(R"("name": "trtllm")", "gpt-oss-20b") == Notes{});
  CHECK(notes_on_windows(R"("name": "vllm")", "llama-3.1-8b") == Notes{});
}

}  // namespace headroom::run_test
