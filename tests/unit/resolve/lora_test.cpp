// LoRA from a scenario: what goes together, what a run says of it, and that traffic stays the same.

#include "sim/resolve/lora.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "sim/resolve/run.hpp"
#include "sim/resolve/workload_factory.hpp"
#include "sim/scenario/options.hpp"
#include "tests/support/about.hpp"

namespace headroom::lora_test {
namespace {

Scenario scenario(const std::string& engine, const std::string& workload = "",
                  const std::string& more = "") {
  return parse_scenario(parse_json(R"({"model": "llama-3.1-8b", "device": "h100-sxm", )" + more +
                                       R"("engine": {)" + engine + R"("max_model_len": 4096},
    "workload": {"arrivals": {"process": "poisson", "request_rate": 20}, "num_requests": 300)" +
                                       workload +
                                       R"(, "prompt": {"tokens": 200}, "output": {"tokens": 50}}})",
                                   "s.json"));
}

RunResult result_of(const Scenario& s) { return run(s, Catalog::embedded()); }

test::About refusal_of(const std::string& engine, const std::string& workload = "") {
  return test::about([&] { return result_of(scenario(engine, workload)); });
}

constexpr const char* kAdapters = R"(, "lora": {"count": 8, "exponent": 1})";

TEST_CASE("options of LoRA that have no effect, or do not go together, are errors") {
  CHECK(refusal_of(R"("max_loras": 2, )") == test::no_effect_at("/engine/max_loras"));
  CHECK(refusal_of("", kAdapters) == test::no_effect_at("/workload/lora/count"));
  CHECK(refusal_of(R"("enable_lora": true, "scheduling_policy": "priority", )") ==
        test::unsupported_at("/engine/scheduling_policy"));
  CHECK(refusal_of(R"("enable_lora": true, "max_lora_rank": 24, )") ==
        test::value_at("/engine/max_lora_rank"));
  CHECK(refusal_of(R"("enable_lora": true, "max_loras": 4, "max_cpu_loras": 2, )") ==
        test::value_at("/engine/max_cpu_loras"));
  CHECK(refusal_of(R"("enable_lora": true, "version": "0.7", )") ==
        test::unsupported_at("/engine/enable_lora"));
  CHECK(refusal_of(R"("enable_lora": true, )", R"(, "lora": {"share": 0.5})") ==
        test::missing_at("/workload/lora/count"));
  CHECK(refusal_of(R"("enable_lora": true, )", R"(, "lora": {"count": 2, "rank": 32})") ==
        test::value_at("/workload/lora/rank"));
  CHECK(refusal_of(R"("enable_lora": true, "max_cpu_loras": 4, )") ==
        test::no_effect_at("/engine/max_cpu_loras"));
  CHECK(refusal_of(R"("enable_lora": true, )", R"(, "lora": {"count": 1, "exponent": 2})") ==
        test::no_effect_at("/workload/lora/exponent"));
  CHECK(
      refusal_of(R"("enable_lora": true, )", R"(, "lora": {"count": 2, "share": 0, "rank": 8})") ==
      test::no_effect_at("/workload/lora/rank"));
  CHECK(refusal_of(R"("kv_offloading_gb_per_s": 20, )") ==
        test::no_effect_at("/engine/kv_offloading_gb_per_s"));
}

TEST_CASE("other engines refuse adapters by the name of the option") {
  for (const char* engine : {"trtllm", "sglang", "tgi", "sarathi", "orca"}) {
    const std::string text = R"({"model": "llama-3.1-8b", "device": "h100-sxm",
        "engine": {"name": ")" +
                             std::string(engine) + R"(", "enable_lora": true}})";
    CHECK(test::about([&] { return parse_scenario(parse_json(text, "s.json")); }) ==
          test::no_effect_at("/engine/enable_lora"));
  }
}

TEST_CASE("with adapters the same requests come at the same times") {
  const auto arrivals = [](const std::string& engine, const std::string& workload) {
    Workload made = make_workload(scenario(engine, workload));
    std::vector<Arrival> all;
    while (made.source->next_time() != kNever) all.push_back(made.source->take());
    return all;
  };
  const std::vector<Arrival> plain = arrivals("", "");
  const std::vector<Arrival> with = arrivals(R"("enable_lora": true, )", kAdapters);
  REQUIRE(plain.size() == with.size());
  std::int64_t first = 0;
  std::int64_t last = 0;
  for (std::size_t i = 0; i < plain.size(); ++i) {
    CHECK(plain[i].time_ns == with[i].time_ns);
    CHECK((plain[i].prompt_tokens == with[i].prompt_tokens && plain[i].adapter == 0));
    REQUIRE((with[i].adapter >= 1 && with[i].adapter <= 8));
    first += with[i].adapter == 1 ? 1 : 0;
    last += with[i].adapter == 8 ? 1 : 0;
  }
  // Zipf 1 over 8: 36.8 % and 4.6 % of 300, give or take four standard deviations.
  CHECK(std::abs(first - 110) < 34);
  CHECK(std::abs(last - 14) < 15);
}

TEST_CASE("requests of one session use one adapter") {
  const std::string sessions = R"(, "sessions": {"turns": {"law": "fixed", "tokens": 3},
      "think_time": {"law": "fixed", "mean_s": 1}}, "lora": {"count": 8, "share": 0.7})";
  Workload made = make_workload(scenario(R"("enable_lora": true, )", sessions));
  std::map<std::uint64_t, std::int32_t> adapter_of;
  std::int64_t without = 0;
  for (std::uint64_t i = 0; made.source->next_time() != kNever; ++i) {
    const Arrival arrival = made.source->take();
    CHECK(adapter_of.emplace(arrival.session, arrival.adapter).first->second == arrival.adapter);
    without += arrival.adapter == 0 ? 1 : 0;
    made.source->on_done(i, Outcome::finished, arrival.time_ns);
  }
  CHECK(without > 40);  // about 90 of 300
}

TEST_CASE("a run with adapters counts them and warns") {
  const RunResult plain = result_of(scenario(""));
  CHECK_FALSE(plain.totals.adapters);
  const RunResult lora = result_of(
      scenario(R"("enable_lora": true, "max_loras": 2, "max_cpu_loras": 4, )", kAdapters));
  REQUIRE(lora.totals.adapters);
  CHECK(lora.totals.adapters->used == 8);
  CHECK(lora.totals.adapters->loads >= lora.totals.adapters->reads);
  CHECK(lora.totals.adapters->reads >= 4);  // four of eight lie on the disk at the start
  CHECK(lora.summary.metrics.mean_ttft_ms > plain.summary.metrics.mean_ttft_ms);
  CHECK(std::ranges::any_of(lora.warnings, [](const std::string& w) {
    return w.find("uncalibrated") != std::string::npos;
  }));
}

TEST_CASE("loads take as long as their bytes and calls") {
  // Llama-3.1-8B, rank 16: 448 matrices x 2 calls x 5 us = 4.48 ms; 83,886,080 bytes over PCIe, and
  // at 2 GB/s from the disk: 41.94 ms.
  Resolved r = resolve_system(scenario(R"("enable_lora": true, )", kAdapters), Catalog::embedded());
  auto slots = adapter_slots(r);
  REQUIRE(slots);
  slots->join(1);  // of 8 adapters only the last is in memory
  const double pcie_ms = 83'886'080.0 / *r.device.pcie_bytes_per_s * 1e3;
  const double ms =
      static_cast<double>(slots->take_load_ticks()) / static_cast<double>(kTicksPerNs) / 1e6;
  CHECK(ms == Approx(4.48 + pcie_ms + 41.943).epsilon(1e-4));
}

TEST_CASE("on unified memory adapters in host memory come out of the pool") {
  const auto pool = [](const std::string& cpu, const std::string& count = "100") {
    const Scenario s = scenario(R"("enable_lora": true, "max_cpu_loras": )" + cpu + ", ",
                                R"(, "lora": {"count": )" + count + "}");
    Scenario unified = s;
    unified.device.name = "gb10";
    return result_of(unified).budget.kv_pool_bytes;
  };
  // 64 more of 83,886,080 bytes: 5 GiB, but for a block of 2 MiB.
  const ByteCount difference = pool("1") - pool("65");
  CHECK(std::abs(difference - bytes_from_gib(5)) <= 2 * 1024 * 1024);
  // There are no more than the workload has.
  CHECK(pool("100000", "8") == pool("8", "8"));
}

TEST_CASE("loads that no step can wait for are refused by the rates behind them") {
  // 83,886,080 bytes at 1 MB/s: 84 s from the disk and as long into the slot; 64 of them take
  // 10,740 s, more than the 4398 of a step.
  const auto slow = [](const std::string& loras) {
    Scenario s =
        scenario(R"("enable_lora": true, "kv_offloading_gb_per_s": 0.001,
                             "max_loras": )" +
                     loras + ", ",
                 R"(, "lora": {"count": 64})", R"("environment": {"storage_gb_per_s": 0.001}, )");
    return resolve(s, Catalog::embedded());
  };
  const test::About refused = test::about([&] { return slow("64"); });
  CHECK(refused == test::conflict_at("/workload/lora/count"));
  CHECK_THAT(refused.complaint.problem, Catch::Contains("environment.storage_gb_per_s"));
  CHECK_NOTHROW(slow("16"));
  CHECK(test::about([] {
          return scenario("", "", R"("environment": {"storage_gb_per_s": 1e-9}, )");
        }) == test::value_at("/environment/storage_gb_per_s"));
}

}  // namespace
}  // namespace headroom::lora_test
