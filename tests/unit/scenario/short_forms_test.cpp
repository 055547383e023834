// Values, sections and paths in their short forms.

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "sim/kernel/errors.hpp"
#include "sim/scenario/options.hpp"
#include "sim/scenario/scenario_file.hpp"
#include "sim/scenario/short_paths.hpp"
#include "sim/scenario/short_values.hpp"

namespace headroom::short_forms_test {
namespace {

using Catch::Matchers::Contains;

Scenario parsed(const std::string& text, std::vector<std::string> set = {}) {
  ScenarioFlags flags;
  flags.set = std::move(set);
  return load_scenario({parse_json(text, "s.json"), ""}, "s.json", flags);
}

std::string error_of(const std::string& text, std::vector<std::string> set = {}) {
  try {
    (void)parsed(text, std::move(set));
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("numbers take the suffixes of their unit", "[short_forms]") {
  CHECK(short_number("32k", "tokens", kTokens) == 32'768);
  CHECK(short_number("2k", "requests", kCount) == 2'000);
  CHECK(short_number("1.5 m", "requests", kCount) == 1'500'000);
  CHECK(short_number("10m", "s", kPositive) == 600);
  CHECK(short_number("250ms", "s", kPositive) == 0.25);
  CHECK(short_number("2s", "ms", kPositive) == 2'000);
  CHECK(short_number("2sec", "ms", kPositive) == 2'000);
  CHECK(short_number("5/s", "requests/s", kPositive) == 5);
  CHECK(short_number("30 /min", "requests/s", kPositive) == Approx(0.5));
  CHECK_FALSE(short_number("5/d", "requests/s", kPositive));
  CHECK(short_number("85%", "", kShareAbove0) == 0.85);
  CHECK(short_number("512MiB", "GiB", kPositive) == 0.5);
  CHECK(short_number("1G", "bytes", kBytes) == 1'073'741'824);
  for (const char* wrong : {"", "k", "32", "32x", "85%%", "0x10k", "nan k"}) {
    INFO(wrong);
    CHECK_FALSE(short_number(wrong, "tokens", kTokens));
  }
  CHECK_FALSE(short_number("85%", "tokens", kTokens));
  CHECK_FALSE(short_number("2s", "tokens", kTokens));
}

TEST_CASE("a section may be written as its main value", "[short_forms]") {
  const std::string text = R"({"model": "m", "device": "h100-sxm", "workload": {
    "num_requests": "2k", "prompt": 3000, "output": "1k", "arrivals": 5},
    "engine": {"gpu_memory_utilization": "85%", "max_model_len": "32k"}})";
  const Scenario s = parsed(text);
  CHECK(s.device.name == "h100-sxm");
  CHECK(s.workload.num_requests == 2'000);
  CHECK(s.workload.prompt.tokens == 3'000);
  CHECK(s.workload.output.tokens == 1'024);
  CHECK(s.workload.arrivals.request_rate == 5.0);
  CHECK(s.engine.max_model_len == 32'768);
  CHECK(s.is_given("/workload/prompt/tokens"));
  // Another value of such a section makes a whole one of it.
  const Scenario changed = parsed(text, {"workload.prompt.tokens=500", "engine.max_model_len=8k"});
  CHECK(changed.workload.prompt.tokens == 500);
  CHECK(changed.engine.max_model_len == 8'192);
}

TEST_CASE("a value that is no number of its unit is shown as it was given", "[short_forms]") {
  const std::string error =
      error_of(R"({"engine": {"max_model_len": "32 pages"}, "model": "m", "device": "d"})");
  CHECK_THAT(error, Contains("/engine/max_model_len") && Contains("\"32 pages\"") &&
                        Contains("expected integer"));
  CHECK_THAT(error_of(R"({"engine": {"gpu_memory_utilization": "850%"}})"),
             Contains("\"850%\"") && Contains("<= 1"));
}

TEST_CASE("options are known by the end of their path", "[short_forms]") {
  CHECK(whole_path("max_num_seqs", "--set") == "engine.max_num_seqs");
  CHECK(whole_path("arrivals.request_rate", "--set") == "workload.arrivals.request_rate");
  CHECK(whole_path("rate", "--set") == "workload.arrivals.request_rate");
  CHECK(whole_path("engine.max_num_seqs", "--set") == "engine.max_num_seqs");
  CHECK(whole_path("engine.max_nun_seqs", "--set") == "engine.max_nun_seqs");
  CHECK(whole_path("prompt", "--set") == "workload.prompt");
  CHECK(whole_path("no_such_option", "--set") == "no_such_option");
  CHECK_THROWS_WITH(whole_path("policy", "--set policy=x"), Contains("may be any of"));
  const Scenario s = parsed(R"({"model": "m", "device": "d", "rate": 4, "in": 100, "out": 10})",
                            {"max_num_seqs=64", "users=3"});
  CHECK(s.engine.max_num_seqs == 64);
  CHECK(s.workload.arrivals.request_rate == 4.0);
  CHECK(s.workload.prompt.tokens == 100);
  CHECK(s.workload.closed_loop.users == 3);
  CHECK_THAT(error_of(R"({"rate": 4, "workload": {"arrivals": {"request_rate": 5}}})"),
             Contains("given twice"));
}

}  // namespace headroom::short_forms_test
