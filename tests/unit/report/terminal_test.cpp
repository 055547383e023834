#include "sim/report/text/terminal.hpp"

#include <catch2/catch.hpp>

#include <sstream>
#include <string>

#include "sim/scenario/scenario_file.hpp"

namespace headroom::terminal_test {

TEST_CASE("the summary fits 80 columns") {
  for (const std::string name : {"demo", "llama-70b-does-not-fit", "llama-8b-4090-thrash"}) {
    ScenarioFlags flags;
    flags.until_s = 130;
    const Catalog catalog = Catalog::embedded();
    const RunResult result = run(load_scenario(name, flags), catalog);
    std::istringstream lines(
        terminal_summary(result, judge_run(result, catalog), "results/" + name));
    for (std::string line; std::getline(lines, line);) {
      INFO(line);
      CHECK(line.size() <= 80);
    }
  }
}

TEST_CASE("the accuracy says how measured runs differ from simulated ones") {
  const auto accuracy = [](std::string_view situation, std::int64_t runs,
                           std::vector<ErrorRange> ranges) {
    return accuracy_text({situation, runs, std::move(ranges)});
  };
  CHECK(accuracy("other model", 10, {{"mean_ttft_ms", -0.231, 0.11}}) ==
        "measured mean TTFT was 23 % lower to 11 % higher than simulated (10 runs of other "
        "models)");
  CHECK(accuracy("same model", 1, {{"mean_ttft_ms", 0.05, 0.12}, {"mean_tpot_ms", -0.07, -0.02}}) ==
        "measured mean TTFT was 5 to 12 % higher than simulated, mean TPOT 2 to 7 % lower (1 run "
        "of this model)");
  CHECK(accuracy("same model", 2, {{"output_throughput", 0.001, 0.002}}) ==
        "measured output throughput was 0 % higher than simulated (2 runs of this model)");
  CHECK(accuracy("uncalibrated", 0, {{"decode_step", -0.3, 0.2}}) ==
        "not measured; with constants fitted on other devices, the time of a decode step would be "
        "30 % lower to 20 % higher than simulated");
}

TEST_CASE("the KV pool says what a device and what the host holds") {
  constexpr ByteCount kGib = ByteCount{1} << 30;
  MemoryBudget budget;
  budget.kv_pool_bytes = 8 * kGib;
  budget.terms.bytes[static_cast<std::size_t>(MemoryPurpose::kv_pool)] = 9 * kGib;
  CHECK(kv_place_text(budget, "per device") == "8.00 GiB per device");
  budget.host_kv_bytes = 2 * kGib;
  CHECK(kv_place_text(budget, "per device") == "8.00 GiB per device and 2.00 GiB in host memory");
  budget.terms = {};
  CHECK(kv_place_text(budget, "per device") == "2.00 GiB in host memory");
}

TEST_CASE("units are those a person would choose") {
  CHECK(human_bytes(std::int64_t{3} << 30) == "3.00 GiB");
  CHECK(human_bytes(std::int64_t{5} << 20) == "5.0 MiB");
  CHECK(human_bytes(12) == "12 B");
  CHECK(human_count(999) == "999");
  CHECK(human_count(1234567) == "1,234,567");
  CHECK(human_count(-1234) == "-1,234");
  CHECK(human_ms(1.234) == "1.23 ms");
  CHECK(human_ms(12.34) == "12.3 ms");
  CHECK(human_ms(1234) == "1.23 s");
}

}  // namespace headroom::terminal_test
