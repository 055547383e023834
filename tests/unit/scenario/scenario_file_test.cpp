#include "sim/scenario/scenario_file.hpp"

#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>
#include <string>

#include "sim/resolve/resolve.hpp"
#include "tests/support/about.hpp"

namespace headroom::scenario_file_test {

TEST_CASE("every embedded scenario is valid") {
  REQUIRE(scenario_files().size() >= 10);
  for (const EmbeddedFile& file : scenario_files()) {
    const std::string name = std::filesystem::path(file.name).stem().string();
    INFO(name);
    const Scenario scenario = load_scenario(name, {});
    CHECK_NOTHROW(validate(scenario));
    CHECK(scenario.name == name);
    CHECK_FALSE(scenario.description.empty());
  }
}

TEST_CASE("an unknown scenario is refused with the nearest name") {
  const test::About unknown = test::about([] { return load_scenario("demoo", {}); });
  CHECK(unknown.kind == ErrorKind::unreadable);
  CHECK(unknown.complaint.origin == "demoo");
  CHECK(unknown.complaint.nearest == "demo");
}

TEST_CASE("a trace flag replaces the generated workload") {
  ScenarioFlags flags;
  flags.trace = "mine.csv";
  const Scenario scenario = load_scenario("demo", flags);
  CHECK(scenario.workload.trace.file == "mine.csv");
  CHECK_FALSE(scenario.workload.num_requests.has_value());
  CHECK_NOTHROW(validate(scenario));
  // What clients declare is no part of the trace: the scenario's rule stays.
  CHECK(scenario.workload.max_tokens.value == 2048);
}

TEST_CASE("flags are who set their values") {
  ScenarioFlags flags;
  flags.until_s = 5;
  flags.single_step = true;
  flags.set = {"engine.max_num_seqs=8"};
  const Scenario scenario = load_scenario("demo", flags);
  CHECK(scenario.run.until_s == 5.0);
  CHECK(scenario.run.single_step);
  CHECK(scenario.given.at("/run/until_s") == "--until 5");
  CHECK(scenario.given.at("/engine/max_num_seqs") == "--set engine.max_num_seqs=8");
}

}  // namespace headroom::scenario_file_test
