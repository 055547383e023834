#include "sim/report/terminal.hpp"

#include <catch2/catch.hpp>

#include <sstream>
#include <string>

#include "sim/setup/scenario_file.hpp"

using namespace headroom;

TEST_CASE("the summary fits 80 columns") {
  for (const std::string name : {"demo", "llama-70b-does-not-fit", "llama-8b-4090-thrash"}) {
    ScenarioFlags flags;
    flags.until_s = 130;
    const RunResult result = run(load_scenario(name, flags), Catalog::embedded());
    std::istringstream lines(terminal_summary(result, "results/" + name));
    for (std::string line; std::getline(lines, line);) {
      INFO(line);
      CHECK(line.size() <= 80);
    }
  }
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
