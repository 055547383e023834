#include "sim/study/sweep/study_runner.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <string>
#include <vector>

#include "sim/scenario/options.hpp"
#include "sim/study/sweep/run_row.hpp"
#include "tests/support/temp_folder.hpp"

namespace headroom::study_runner_test {

namespace {

// 60 requests at 1 to 200 per second; 16 ms per step and row: some points are overloaded.
constexpr const char* kStudy = R"({
  "base": {"model": "llama-3.1-8b", "device": "h100-sxm",
           "engine": {"max_model_len": 4096, "max_num_seqs": 2},
           "cost": {"level": "affine"},
           "workload": {"arrivals": {"process": "poisson", "request_rate": 1}, "num_requests": 60,
                        "prompt": {"law": "uniform", "min": 1, "max": 200},
                        "output": {"law": "uniform", "min": 1, "max": 20}}},
  "vary": [{"path": "workload.arrivals.request_rate", "values": [1, 200]},
           {"path": "engine.max_num_seqs", "values": [1, 4]}],
  "replications": 2})";

StudyPlan plan_of(const std::string& text) {
  return StudyPlan(parse_study(parse_json(text, "s.json"), "", {}));
}

struct Swept {
  SweepState state;
  std::vector<StoredRun> runs;
};

Swept sweep(const StudyPlan& plan, std::size_t threads, const std::atomic<bool>* stop = nullptr) {
  const TempFolder folder;
  const std::string path = folder.path() + "/a.db";
  Swept swept;
  {
    ResultsStore store(path, StoreMode::create, facts_of(plan, "test"), parameters_of(plan));
    SweepOptions options;
    options.threads = threads;
    options.interrupted = stop;
    options.summary = [](const RunResult& result) { return result.digest; };
    swept.state = run_study(plan, Catalog::embedded(), plan.runs_of({}), store, options);
  }
  swept.runs = read_runs(Database(path, Database::Mode::existing));
  return swept;
}

bool has(const StoredRun& run, const std::string& name) {
  return std::ranges::any_of(run.metrics, [&](const auto& one) { return one.first == name; });
}

double metric(const StoredRun& run, const std::string& name) {
  for (const auto& [key, value] : run.metrics) {
    if (key == name) return value;
  }
  FAIL("no metric " << name);
  return 0;
}

}  // namespace

TEST_CASE("what is stored does not depend on the number of threads") {
  const StudyPlan plan = plan_of(kStudy);
  const Swept one = sweep(plan, 1);
  const Swept four = sweep(plan, 4);
  REQUIRE(one.runs.size() == 8);
  REQUIRE(four.runs.size() == 8);
  CHECK(one.state.stored == 8);
  for (std::size_t i = 0; i < one.runs.size(); ++i) {
    CAPTURE(i);
    CHECK(one.runs[i].run == four.runs[i].run);
    CHECK(one.runs[i].digest == four.runs[i].digest);
    CHECK(one.runs[i].metrics == four.runs[i].metrics);
    CHECK(one.runs[i].seed == four.runs[i].seed);
  }
  CHECK(one.runs[0].digest != one.runs[1].digest);  // replications differ
  CHECK(one.runs[0].digest != one.runs[2].digest);  // points differ
}

TEST_CASE("latencies of a run that is not stationary are withheld, its throughput is not") {
  const Swept swept = sweep(plan_of(kStudy), 1);
  const StoredRun& calm = swept.runs.front();  // 1 request/s
  REQUIRE(calm.stationary == true);
  CHECK(metric(calm, "p99_ttft_ms") > 0);
  CHECK(metric(calm, "completed") == 60);
  // 200 requests/s for one row at a time: everything waits behind everything.
  const StoredRun& flooded = swept.runs.at(4);
  REQUIRE(flooded.stationary == false);
  CHECK_FALSE(has(flooded, "p99_ttft_ms"));
  CHECK_FALSE(has(flooded, "median_tpot_ms"));
  CHECK(metric(flooded, "output_throughput") > 0);
  CHECK(metric(flooded, "backlog_slope_low_per_s") > 0);
}

TEST_CASE("a run that throws is a failed row, and the others go on") {
  std::string text = kStudy;
  // A trace that is not there shows only when the run reads it.
  const std::string axis = R"({"path": "engine.max_num_seqs", "values": [1, 4]})";
  text.replace(text.find(axis), axis.size(),
               R"({"path": "workload", "values": [
                    {"arrivals": {"process": "all_at_once"}, "num_requests": 5,
                     "prompt": {"tokens": 9}, "output": {"tokens": 2}},
                    {"trace": {"file": "no-such-trace.csv"}}]})");
  const std::string rates = R"({"path": "workload.arrivals.request_rate", "values": [1, 200]},)";
  text.replace(text.find(rates), rates.size(), "");
  const Swept swept = sweep(plan_of(text), 2);
  REQUIRE(swept.runs.size() == 4);
  CHECK(swept.state.failed == 2);
  CHECK(swept.runs[0].done);
  CHECK(swept.runs[1].done);
  CHECK_FALSE(swept.runs[2].done);
  CHECK(swept.runs[3].error.find("no-such-trace.csv") != std::string::npos);
}

TEST_CASE("a run that does not start has its out-of-memory and throughput 0") {
  const RunResult result =
      run(parse_scenario(parse_json(R"({"model": "llama-3.1-70b", "device": "rtx4090",
            "workload": {"arrivals": {"process": "all_at_once"}, "num_requests": 1,
                         "prompt": {"tokens": 9}, "output": {"tokens": 2}}})",
                                    "s.json")),
          Catalog::embedded());
  const StoredRun row = row_of(result, "{}");
  CHECK(row.done);
  CHECK_FALSE(row.stationary.has_value());
  REQUIRE(row.ooms.size() == 1);
  CHECK(row.ooms[0].kind == "startup");
  CHECK(metric(row, "oom_count") == 1);
  CHECK(metric(row, "output_throughput") == 0);
  CHECK_FALSE(has(row, "p99_ttft_ms"));
}

TEST_CASE("an interrupted study stores whole runs only") {
  const std::atomic<bool> stop{true};
  const Swept swept = sweep(plan_of(kStudy), 2, &stop);
  CHECK(swept.state.stored == static_cast<std::int64_t>(swept.runs.size()));
  CHECK(swept.state.stored < 8);
}

TEST_CASE("runs that are missing are those wanted and not done") {
  const std::vector<std::int64_t> wanted{0, 1, 4, 5};
  const std::vector<std::int64_t> done{1, 2, 5};
  CHECK(missing_runs(wanted, done) == std::vector<std::int64_t>{0, 4});
}

TEST_CASE("an estimate measures runs that are short and scales those that are not") {
  const StudyPlan plan = plan_of(kStudy);
  const auto runs = plan.runs_of({});
  const SweepEstimate whole = estimate(plan, Catalog::embedded(), runs, 60);
  CHECK(whole.sampled == 5);
  CHECK(whole.scaled == 0);
  CHECK(whole.failed == 0);
  CHECK(whole.seconds_per_run > 0);

  std::string text = kStudy;
  const std::string few = R"("num_requests": 60)";
  text.replace(text.find(few), few.size(), R"("num_requests": 10000000)");
  const StudyPlan large = plan_of(text);
  const std::vector<std::int64_t> first{0};
  const SweepEstimate cut = estimate(large, Catalog::embedded(), first, 0.2);
  CHECK(cut.scaled == 1);
  CHECK(cut.seconds_per_run > 1);
}

}  // namespace headroom::study_runner_test
