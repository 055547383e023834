#include "sim/report/files/perfetto_log.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/resolve/run.hpp"
#include "sim/scenario/options.hpp"
#include "sim/scenario/scenario_file.hpp"
#include "tests/support/temp_folder.hpp"

namespace headroom::perfetto_log_test {
using nlohmann::json;

namespace {

struct LoggedRun {
  RunResult result;
  json events;
};

LoggedRun logged(const std::string& name, const ScenarioFlags& flags) {
  const TempFolder folder;
  const std::string path = folder.path() + "/log.json";
  PerfettoLog log(path);
  LoggedRun logged;
  RunControl control;
  control.sink = &log;
  logged.result = run(load_scenario(name, flags), Catalog::embedded(), control);
  log.finish(logged.result.summary.end_ns);
  std::ifstream in(path);
  logged.events = json::parse(in)["traceEvents"];
  return logged;
}

// A pool so small that requests are preempted, some unfinished at the end.
ScenarioFlags small_pool() {
  ScenarioFlags flags;
  flags.set = {"workload.num_requests=400", "workload.arrivals.request_rate=40",
               "engine.num_gpu_blocks_override=2000", "output.timeline_interval_s=0.25",
               "engine.max_model_len=16384"};
  flags.until_s = 30;
  return flags;
}

LoggedRun preempting_run() { return logged("demo", small_pool()); }

TimeNs ns_of(const json& microseconds) {
  return static_cast<TimeNs>(std::llround(microseconds.get<double>() * 1000));
}

std::vector<const json*> of_phase(const json& events, const std::string& phase,
                                  const std::string& name = "") {
  std::vector<const json*> found;
  for (const json& event : events) {
    if (event["ph"] == phase && (name.empty() || event["name"] == name)) found.push_back(&event);
  }
  return found;
}

}  // namespace

TEST_CASE("the event log influences nothing") {
  const LoggedRun with = preempting_run();
  REQUIRE(with.result.summary.engine.preemptions > 0);
  REQUIRE(with.result.summary.requests.unfinished > 0);
  const RunResult without = run(load_scenario("demo", small_pool()), Catalog::embedded());
  CHECK(without.digest == with.result.digest);
}

TEST_CASE("slices of requests are balanced and have the times of the request table") {
  const LoggedRun run = preempting_run();
  std::map<std::uint64_t, std::vector<const json*>> by_request;
  for (const json& event : run.events) {
    if (event["ph"] == "b" || event["ph"] == "e") by_request[event["id"]].push_back(&event);
  }
  const auto records = run.result.recorder->records();
  REQUIRE(by_request.size() == records.size());
  std::int64_t preempted = 0;
  for (const RequestRecord& record : records) {
    INFO("request " << record.index);
    std::vector<std::string> open;
    std::map<std::string, std::pair<TimeNs, TimeNs>> slices;
    TimeNs last = 0;
    for (const json* event : by_request[record.index]) {
      const std::string name = (*event)["name"];
      const TimeNs at = ns_of((*event)["ts"]);
      CHECK(at >= last);
      last = at;
      if ((*event)["ph"] == "b") {
        open.push_back(name);
        slices[name].first = at;
        preempted += name == "preempted" ? 1 : 0;
      } else {
        REQUIRE_FALSE(open.empty());
        CHECK(open.back() == name);
        open.pop_back();
        slices[name].second = at;
      }
    }
    CHECK(open.empty());
    const TimeNs end = record.finish_ns < 0 ? run.result.summary.end_ns : record.finish_ns;
    const auto whole = slices["request " + std::to_string(record.index)];
    CHECK(whole == std::pair(record.arrival_ns, end));
    if (record.first_token_ns >= 0) {
      CHECK(slices["queued"] == std::pair(record.queued_ns, record.first_scheduled_ns));
      CHECK(slices["prefill"] == std::pair(record.first_scheduled_ns, record.first_token_ns));
      CHECK(slices["decode"] == std::pair(record.first_token_ns, end));
    }
  }
  CHECK(preempted == run.result.summary.engine.preemptions);
}

TEST_CASE("step slices do not overlap and add up to the steps and the time of the engine") {
  const LoggedRun run = preempting_run();
  std::int64_t steps = 0;
  TimeNs busy_ns = 0;
  TimeNs last_end = 0;
  for (const json* slice : of_phase(run.events, "X")) {
    const TimeNs begin = ns_of((*slice)["ts"]);
    CHECK(begin >= last_end);
    last_end = begin + ns_of((*slice)["dur"]);
    busy_ns += ns_of((*slice)["dur"]);
    steps += (*slice)["args"]["steps"].get<std::int64_t>();
  }
  CHECK(steps == run.result.summary.engine.steps);
  CHECK(static_cast<double>(busy_ns) / 1e9 == Approx(run.result.summary.engine.busy_s));
}

TEST_CASE("counters show what the timeline shows") {
  const LoggedRun run = preempting_run();
  const auto rows = run.result.recorder->timeline().rows(0);
  const std::vector<const json*> counters = of_phase(run.events, "C", "requests");
  REQUIRE(rows.size() > 50);
  std::int64_t waited = 0;
  std::size_t at = 0;
  for (const TimelineRow& row : rows) {
    if (row.oom) continue;
    while (at + 1 < counters.size() && ns_of((*counters[at + 1])["ts"]) <= row.time_ns) ++at;
    INFO("at " << row.time_ns << " ns");
    CHECK((*counters[at])["args"]["running"] == row.running);
    CHECK((*counters[at])["args"]["waiting"] == row.waiting);
    waited += row.waiting;
  }
  CHECK(waited > 0);
}

TEST_CASE("preemptions and rejections are instants") {
  const LoggedRun run = preempting_run();
  CHECK(static_cast<std::int64_t>(of_phase(run.events, "i", "preempted").size()) ==
        run.result.summary.engine.preemptions);
}

TEST_CASE("the log of an engine that did not start is valid and empty") {
  const LoggedRun run = logged("llama-70b-does-not-fit", {});
  CHECK(run.events.empty());
}

}  // namespace headroom::perfetto_log_test
