#include "sim/report/text/cascade_report.hpp"
#include "sim/report/json/fleet_json.hpp"

#include <catch2/catch.hpp>
#include <string>

#include "sim/report/text/fleet_report.hpp"
#include "tests/unit/report/written_run.hpp"

namespace headroom::cascade_report_test {

TEST_CASE("results of a cascade say what was kept, what went on, and what that cost") {
  const WrittenRun run("cascade", R"(, "fleet": {
      "groups": [{"name": "a", "cost_per_hour": 3}, {"name": "b", "cost_per_hour": 9}],
      "routes": [{"name": "first", "groups": ["a"], "share": 1, "escalates_to": "second",
                  "escalates_share": 0.5},
                 {"name": "second", "groups": ["b"]}]})");
  const RunResult& result = run.result();
  const auto json = fleet_json(result);
  const auto& first = json.at("routes").at("first");
  const auto& second = json.at("routes").at("second");
  CHECK(first.at("arrived") == 40);
  const std::int64_t escalated = first.at("escalated");
  CHECK(escalated > 8);
  CHECK(escalated < 32);
  CHECK(first.at("kept") == 40 - escalated);
  CHECK(first.at("left").at("finished") == first.at("kept"));
  CHECK(second.at("from_other_routes") == escalated);
  CHECK(second.at("left").at("finished") == escalated);
  CHECK(json.at("not_kept").at("answers") == escalated);
  CHECK(json.at("not_kept").at("output_tokens") == first.at("wasted_output_tokens"));
  // A price of kept tokens: those of the summary.
  const std::int64_t kept = first.at("kept_output_tokens").get<std::int64_t>() +
                            second.at("kept_output_tokens").get<std::int64_t>();
  CHECK(kept == result.summary.metrics.total_output_tokens);
  const double cost = json.at("cost");
  CHECK(json.at("cost_per_million_output_tokens").get<double>() ==
        Approx(cost / (static_cast<double>(kept) / 1e6)));
  CHECK(first.at("mean_tpot_ms") == 0.0);
  CHECK(second.at("mean_tpot_ms") > 0.0);

  const auto lines = route_lines(result);
  REQUIRE(lines.size() == 3);
  CHECK(lines[0].first == "route");
  CHECK(lines[0].second == "first: " + std::to_string(40 - escalated) +
                               " of 40 requests finished here, " + std::to_string(escalated) +
                               " went on to second");
  CHECK(lines[2].first == "not kept");
}

}  // namespace headroom::cascade_report_test
