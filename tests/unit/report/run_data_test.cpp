#include "sim/report/page/run_data.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>
#include <set>

#include "sim/report/page/request_data.hpp"
#include "sim/report/page/timeline_data.hpp"
#include "tests/unit/report/written_run.hpp"

namespace headroom::run_data_test {

namespace {

double at_level(const Json& latency, const std::string& metric, double level) {
  const auto levels = latency["levels"].get<std::vector<double>>();
  const auto found = std::ranges::find(levels, level);
  return latency[metric]["values"][static_cast<std::size_t>(found - levels.begin())];
}

// One request per millisecond, TTFT 5 ms, 10 ms in all, 3 output tokens.
std::vector<RequestRecord> many_requests(std::size_t count) {
  std::vector<RequestRecord> records(count);
  for (std::size_t i = 0; i < count; ++i) {
    RequestRecord& r = records[i];
    r.index = i;
    r.arrival_ns = static_cast<TimeNs>(i) * 1'000'000;
    r.queued_ns = r.first_scheduled_ns = r.arrival_ns;
    r.first_token_ns = r.arrival_ns + 5'000'000;
    r.finish_ns = r.arrival_ns + 10'000'000;
    r.prompt_tokens = 7;
    r.output_tokens = 3;
    r.outcome = Outcome::finished;
  }
  return records;
}

double total(const Json& values) {
  return std::accumulate(values.begin(), values.end(), 0.0,
                         [](double sum, const Json& one) { return sum + one.get<double>(); });
}

}  // namespace

TEST_CASE("a run is read back as it was written") {
  const WrittenRun written("read-back");
  const RunFiles files = read_run(written.path());
  const auto records = written.result().recorder->records();
  REQUIRE(files.requests.size() == records.size());
  for (std::size_t i = 0; i < records.size(); ++i) {
    CHECK(files.requests[i].arrival_ns == records[i].arrival_ns);
    CHECK(files.requests[i].first_token_ns == records[i].first_token_ns);
    CHECK(files.requests[i].finish_ns == records[i].finish_ns);
    CHECK(files.requests[i].output_tokens == records[i].output_tokens);
    CHECK(files.requests[i].outcome == records[i].outcome);
  }
  CHECK(files.timeline.size() == written.result().recorder->timeline().rows(0).size());
}

TEST_CASE("the page's percentiles are those of summary.json") {
  const WrittenRun written("percentiles");
  const Json data = run_data(read_run(written.path()));
  const Json& metrics = data["summary"]["metrics"];
  for (const std::string of : {"ttft", "tpot", "e2el"}) {
    CHECK(at_level(data["latency"], of + "_ms", 50) == metrics["median_" + of + "_ms"]);
    CHECK(at_level(data["latency"], of + "_ms", 90) == metrics["p90_" + of + "_ms"]);
    CHECK(at_level(data["latency"], of + "_ms", 99) == metrics["p99_" + of + "_ms"]);
  }
  CHECK(data["latency"]["ttft_ms"]["count"] == 40);
}

TEST_CASE("the scenario of a page is what the user gave, and gives the run again") {
  const WrittenRun written("again", R"(, "seed": 7)");
  const Json data = run_data(read_run(written.path()));
  const Json& scenario = data["scenario"];
  CHECK(scenario["seed"] == 7);
  CHECK(scenario["workload"]["arrivals"]["request_rate"] == 20);
  CHECK_FALSE(scenario["engine"].contains("block_size"));
  const RunResult again =
      run(parse_scenario(parse_json(scenario.dump(), "again.json")), Catalog::embedded());
  CHECK(again.digest == written.result().digest);
}

TEST_CASE("few requests are all in the sample, in their order") {
  const Json data = requests_data(many_requests(50), {});
  REQUIRE(data["sample"].size() == 50);
  CHECK(data["sample"][49][0] == 49);
  CHECK(data["sample"][0][5] == 5.0);
  CHECK(data["sample"][0][6] == 2.5);  // 5 ms after the first of 3 tokens
  CHECK(data["sample"][0][7] == 10.0);
}

TEST_CASE("of many requests a fixed number is drawn, the same at every call, and rare ones stay") {
  std::vector<RequestRecord> records = many_requests(20'000);
  for (std::size_t i = 0; i < 3; ++i) records[i * 7000].outcome = Outcome::rejected;
  const Json data = requests_data(records, {});
  CHECK(data["total"] == 20'000);
  REQUIRE(data["sample"].size() == kSampledFinished + 3);
  CHECK(data == requests_data(records, {}));
  std::set<std::uint64_t> drawn;
  std::int64_t rejected = 0;
  for (const Json& row : data["sample"]) {
    drawn.insert(row[0].get<std::uint64_t>());
    rejected += row[9] == "rejected" ? 1 : 0;
  }
  CHECK(drawn.size() == data["sample"].size());
  CHECK(rejected == 3);
  // Spread over the whole run: each quarter has about a quarter of 2,003.
  for (std::uint64_t quarter = 0; quarter < 4; ++quarter) {
    const auto inside =
        std::ranges::count_if(drawn, [&](std::uint64_t index) { return index / 5000 == quarter; });
    CHECK(inside > 400);
    CHECK(inside < 600);
  }
}

TEST_CASE("the client's latency is in TTFT and E2EL, not in TPOT") {
  const Json data = latency_data(many_requests(3), {.request_ns = 2'000'000});
  CHECK(at_level(data, "ttft_ms", 50) == 7.0);
  CHECK(at_level(data, "e2el_ms", 50) == 12.0);
  CHECK(at_level(data, "tpot_ms", 50) == 2.5);
}

TEST_CASE("throughput over time adds up to the run's requests and tokens") {
  const std::vector<RequestRecord> records = many_requests(1000);
  const Json data = throughput_data(records, 1.009);  // the last one finishes at 1.009 s
  const double bin_s = data["bin_s"];
  CHECK(bin_s * kTimeBins == Approx(1.009));
  CHECK(total(data["arrived_per_s"]) * bin_s == Approx(1000));
  CHECK(total(data["finished_per_s"]) * bin_s == Approx(1000));
  CHECK(total(data["output_tokens_per_s"]) * bin_s == Approx(3000));
}

TEST_CASE("a long timeline is thinned without losing its peaks") {
  std::vector<TimelineRow> rows(100'000);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].time_ns = static_cast<TimeNs>(i) * kNsPerSecond;
    rows[i].kv.used = static_cast<TokenCount>(i % 1000);
    rows[i].waiting = 3;
  }
  rows[61'234].kv.used = 5'000'000;
  rows[61'235].waiting = 777;
  const Json data = timeline_data(rows);
  CHECK(data["samples"] == 100'000);
  CHECK(data["rows"].size() <= 2 * kTimelineSlices + 2);
  std::int64_t fullest = 0;
  std::int64_t longest = 0;
  double last = -1;
  for (const Json& row : data["rows"]) {
    CHECK(row[0].get<double>() > last);
    last = row[0];
    longest = std::max(longest, row[2].get<std::int64_t>());
    fullest = std::max(fullest, row[4].get<std::int64_t>());
  }
  CHECK(fullest == 5'000'000);
  CHECK(longest == 777);
  CHECK(last == 99'999);
}

TEST_CASE("replicas are added up, and OOM rows are moments, not samples") {
  std::vector<TimelineRow> rows(3);
  rows[0].running = 2;
  rows[1].replica = 1;
  rows[1].running = 5;
  rows[2].replica = 1;
  rows[2].oom = true;
  rows[2].time_ns = kNsPerSecond / 2;
  const Json data = timeline_data(rows);
  CHECK(data["samples"] == 1);
  CHECK(data["replicas"] == 2);
  CHECK(data["rows"][0][1] == 7);
  CHECK(data["oom"] == Json::parse("[[0.5, 1]]"));
}

TEST_CASE("events are counted by kind and by time, and the first of each kind are listed") {
  std::vector<LoggedEvent> events(150);
  for (LoggedEvent& event : events) {
    event.kind = EngineEventKind::preempted;
    event.time_ns = 100 * kNsPerSecond;  // the end: in the last bin
  }
  events.emplace_back().kind = EngineEventKind::oom;
  const Json data = events_data(events, 100);
  CHECK(data["total"] == 151);
  CHECK(data["counts"]["preempted"] == 150);
  CHECK(data["bins"]["preempted"].back() == 150);
  CHECK(data["bins"]["oom"].front() == 1);
  CHECK(data["rows"].size() == 101);
}

}  // namespace headroom::run_data_test
