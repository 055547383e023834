// Memory that runs out while the engine runs: from the options of a scenario to its results.

#include <catch2/catch.hpp>
#include <string>

#include "sim/resolve/resolve.hpp"
#include "sim/resolve/run.hpp"
#include "sim/resolve/run_time_memory.hpp"
#include "sim/scenario/options.hpp"
#include "tests/support/about.hpp"

namespace headroom::run_time_failure_test {

namespace {

// 100 requests, one a second.
Scenario scenario(const std::string& device, const std::string& environment,
                  const std::string& engine, const std::string& workload = "") {
  const std::string text = R"({"model": "llama-3.1-8b", "device": ")" + device +
                           R"(", "environment": {)" + environment + R"(}, "engine": {)" + engine +
                           R"(}, "workload": {"arrivals": {"process": "constant", )"
                           R"("request_rate": 1}, "num_requests": 100, "prompt": {"tokens": 64}, )"
                           R"("output": {"tokens": 8})" +
                           workload + "}}";
  return parse_scenario(parse_json(text, "s.json"));
}

RunResult run_of(const Scenario& s) { return run(s, Catalog::embedded()); }

const std::string kVllm = R"("name": "vllm", "max_model_len": 4096, "restart_s": 5)";
const std::string kLimited = R"("engine_host_gib": 3, "memory_limit_gib": 4)";

test::About error_of(const Scenario& s) {
  return test::about([&] { return resolve(s, Catalog::embedded()); });
}

}  // namespace

TEST_CASE("a heap that leaks into a container's limit is killed there, and clients try again") {
  // 1 GiB is left under the limit, and 102400 MiB/h fill it in 36.0 s. 5 s later the engine is
  // back, and lives for 36 s more: it is killed twice in 100 s, or when the next request comes.
  const RunResult result =
      run_of(scenario("h100-sxm", kLimited + R"(, "host_growth_mib_per_hour": 102400)", kVllm,
                      R"(, "retries": {"max_attempts": 5, "delay_s": 2})"));
  REQUIRE(result.started);
  REQUIRE(result.summary.ooms.size() == 2);
  const OomEntry& oom = result.summary.ooms[0];
  CHECK(oom.kind == OomKind::cgroup_kill);
  CHECK(oom.time_ns / kNsPerSecond == 36);
  REQUIRE(oom.shortage);
  CHECK(oom.shortage->free_bytes == ByteCount{1} << 30);
  CHECK(oom.shortage->wanted_bytes > oom.shortage->free_bytes);
  CHECK(result.summary.requests.lost_to_oom >= 10);  // turned away while it was down
  CHECK(result.summary.requests.finished == 100);    // by later attempts
}

TEST_CASE("growth that will end an engine is foretold") {
  const Scenario s = scenario("h100-sxm", "", kVllm + R"(, "memory_growth_mib_per_hour": 1024)");
  Resolved resolved = resolve(s, Catalog::embedded());
  const RunResult result = check(s, Catalog::embedded());
  const auto growth = memory_growth(resolved, result.budget);
  REQUIRE(growth);
  CHECK(growth->kind == OomKind::runtime_device);
  // The whole margin, at a GiB an hour.
  const double hours = gib_from_bytes(result.budget.terms[MemoryPurpose::margin]);
  CHECK(growth->lasts_s == Approx(hours * 3600).epsilon(1e-6));
  CHECK(result.warnings.back().find("h (runtime_device)") != std::string::npos);
}

TEST_CASE("log-probabilities need logits in 16 bit and their log-softmax in 32") {
  ModelSpec model;
  model.vocab = 128256;
  model.dtype = Dtype::bf16;
  CHECK(logprob_bytes_per_token(model) == 128256 * 6);
}

TEST_CASE("options of run-time failures without effect are refused") {
  CHECK(error_of(scenario("h100-sxm", R"("host_growth_mib_per_hour": 1)", kVllm)) ==
        test::no_effect_at("/environment/host_growth_mib_per_hour"));
  CHECK(error_of(scenario("h100-sxm", kLimited + R"(, "host_growth_mib_per_hour": 1)", kVllm)) ==
        test::no_error());
  CHECK(error_of(scenario("h100-sxm", R"("reboot_s": 1)", kVllm)) ==
        test::no_effect_at("/environment/reboot_s"));
  const auto of_engine = [](const std::string& engine, const std::string& workload = "") {
    return test::about([&] { return scenario("h100-sxm", "", engine, workload); });
  };
  CHECK(of_engine(R"("name": "hf", "memory_growth_mib_per_hour": 1)") ==
        test::no_effect_at("/engine/memory_growth_mib_per_hour"));
  CHECK(of_engine(R"("name": "static")", R"(, "prompt_logprobs_share": 0.5)") ==
        test::no_effect_at("/workload/prompt_logprobs_share"));
}

TEST_CASE("the queue of an engine is its own, but that of a static batch") {
  const auto survives = [](const std::string& engine) {
    return replica_options(resolve(scenario("h100-sxm", "", engine), Catalog::embedded()))
        .queue_survives;
  };
  CHECK_FALSE(survives(kVllm));
  CHECK(survives(R"("name": "static", "max_model_len": 4096)"));
  CHECK(survives(kVllm + R"(, "queue_survives": true)"));
}

}  // namespace headroom::run_time_failure_test
