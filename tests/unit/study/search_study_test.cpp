// Searches from a study file to rows of the file of results.

#include <catch2/catch.hpp>

#include <algorithm>
#include <string>
#include <vector>

#include "sim/resolve/run.hpp"
#include "sim/study/search/finish_searches.hpp"
#include "sim/study/search/search_runner.hpp"
#include "sim/study/sweep/run_row.hpp"
#include "sim/study/sweep/study_runner.hpp"
#include "tests/support/about.hpp"
#include "tests/support/temp_folder.hpp"

namespace headroom::search_study_test {

namespace {

// 16 ms per step and row, 200 requests of 10 to 20 tokens.
std::string study_text(const std::string& search, const std::string& more = "") {
  return R"({"base": {"model": "llama-3.1-8b", "device": "h100-sxm",
      "engine": {"max_model_len": 4096, "max_num_seqs": 4}, "cost": {"level": "affine"},
      "workload": {"arrivals": {"process": "poisson", "request_rate": 1}, "num_requests": 200,
                   "prompt": {"law": "uniform", "min": 1, "max": 200},
                   "output": {"law": "uniform", "min": 10, "max": 20}}},
      "search": )" +
         search + more + "}";
}

Study study_of(const std::string& text) { return parse_study(parse_json(text, "s.json"), "", {}); }

test::About error_of(const std::string& search, const std::string& more = "") {
  return test::about(
      [&] { StudyPlan(study_of(study_text(search, more))).check(Catalog::embedded()); });
}

constexpr const char* kRate = R"([{"name": "rate", "kind": "max_request_rate", "from": 1, "to": 500,
  "tolerance": 0.05, "limits": {"p99_ttft_ms": 400}}])";
constexpr const char* kTwoBatches =
    R"(, "replications": 2, "vary": [{"path": "engine.max_num_seqs", "values": [1, 8]}])";

struct Made {
  SearchState state;
  std::vector<StoredSearch> rows;
  std::vector<StoredProbe> probes;  // of search 0 of point 0
};

Made search_in(const std::string& path, const StudyPlan& plan, std::size_t threads,
               StoreMode mode = StoreMode::create) {
  Made made;
  {
    ResultsStore store(path, mode, facts_of(plan, "test"), parameters_of(plan));
    SearchOptions options;
    options.threads = threads;
    const std::vector<SearchTask> tasks = missing_tasks(tasks_of(plan, {}), store.database());
    made.state = run_searches(plan, Catalog::embedded(), tasks, store, options);
    store.finish();
  }
  const Database database(path, Database::Mode::read_only);
  made.rows = read_search_rows(database);
  made.probes = read_probes(database, 0, 0);
  return made;
}

}  // namespace

TEST_CASE("a search has the defaults of its kind") {
  const Study study = study_of(study_text(
      R"([{"kind": "max_request_rate", "from": 1, "to": 9, "limits": {"goodput_share": 0.9,
           "completed": {">=": 5}}},
          {"kind": "max_concurrency", "from": 1, "to": 64, "no_preemption": true},
          {"kind": "min_gpu_memory_utilization", "from": 0.3, "to": 0.9},
          {"kind": "pareto", "maximize": ["output_throughput"], "minimize": ["p99_tpot_ms"]}])",
      R"(, "replications": 3)"));
  REQUIRE(study.searches.size() == 4);
  const ValueSearch& rate = study.searches[0].value;
  CHECK(study.searches[0].name == "max_request_rate");
  CHECK(rate.path == "workload.arrivals.request_rate");
  CHECK_FALSE(rate.whole);
  CHECK(rate.stationary);
  CHECK(rate.tolerance == 0.01);
  CHECK(rate.max_replications == 12);
  REQUIRE(rate.limits.size() == 2);
  CHECK_FALSE(rate.limits[0].at_most);
  CHECK_FALSE(rate.limits[1].at_most);
  const ValueSearch& users = study.searches[1].value;
  CHECK(users.path == "workload.closed_loop.users");
  CHECK(users.whole);
  CHECK(users.tolerance == 0);
  CHECK(users.each.size() == 3);
  CHECK_FALSE(users.stationary);
  CHECK_FALSE(study.searches[2].value.largest);
  CHECK(study.searches[3].is_front());
  CHECK(study.runs_points());
  CHECK_FALSE(study_of(study_text(kRate)).runs_points());
}

TEST_CASE("mistakes in searches are errors with their place") {
  const auto rate = [](const std::string& more) {
    return R"([{"kind": "max_request_rate", "from": 1, "to": 9)" + more + "}]";
  };
  CHECK(error_of("[]") == test::value_at("/search"));
  CHECK(error_of(R"([{"kind": "max_rate"}])") == test::unknown_at("/search/0/kind"));
  CHECK(error_of(R"([{"from": 1}])") == test::missing_at("/search/0/kind"));
  CHECK(error_of(rate(R"(, "limit": {})")) == test::unknown_at("/search/0/limit"));
  CHECK(error_of(rate(R"(, "limit": {})")).complaint.nearest == "limits");
  CHECK(error_of(rate(R"(, "limits": {})")) == test::value_at("/search/0/limits"));
  const test::About metric = error_of(rate(R"(, "limits": {"p99_tft_ms": 5})"));
  CHECK(metric == test::unknown_at("/search/0/limits/p99_tft_ms"));
  CHECK(metric.complaint.nearest == "p99_ttft_ms");
  CHECK(error_of(rate(R"(, "limits": {"completed": 5})")) ==
        test::value_at("/search/0/limits/completed"));
  CHECK(error_of(rate(R"(, "limits": {"goodput_share": 0.9})")) == test::missing_at("/search"));
  CHECK(error_of(rate(R"(, "tolerance": 0)")) == test::value_at("/search/0/tolerance"));
  CHECK(error_of(rate(R"(, "path": "engine.name")")) == test::value_at("/search/0/path"));
  const test::About path = error_of(rate(R"(, "path": "engine.max_nm_seqs")"));
  CHECK(path == test::unknown_at("/search/0/path"));
  CHECK(path.complaint.nearest == "engine.max_num_seqs");
  CHECK(error_of(rate(R"(, "max_replications": 0)")) ==
        test::value_at("/search/0/max_replications"));
  CHECK(error_of(R"([{"kind": "max_request_rate", "from": 9, "to": 9}])") ==
        test::value_at("/search/0"));
  CHECK(error_of(R"([{"kind": "max_request_rate", "from": 9}])") ==
        test::missing_at("/search/0/to"));
  CHECK(error_of(R"([{"kind": "max_concurrency", "from": 1.5, "to": 9}])") ==
        test::value_at("/search/0/from"));
  CHECK(error_of(R"([{"kind": "pareto", "maximize": ["completed"]}])") ==
        test::value_at("/search/0"));
  CHECK(error_of(rate(R"(}, {"kind": "max_request_rate", "from": 2, "to": 3)")) ==
        test::conflict_at("/search/1/name"));
  CHECK(error_of(rate(R"(, "path": "engine.max_num_seqs")"), kTwoBatches) ==
        test::conflict_at("/search/0/path"));
  // A value that the scenario refuses, before anything runs.
  const test::About beyond =
      error_of(R"([{"kind": "min_gpu_memory_utilization", "from": 0.5, "to": 3}])");
  CHECK(beyond == test::value_at("/engine/gpu_memory_utilization"));
  CHECK(beyond.complaint.origin == "s.json: /search");
  const test::About flag = test::about([] {
    return parse_study(parse_json(study_text(kRate), "s.json"), "",
                       {"workload.arrivals.request_rate=5"});
  });
  CHECK(flag.kind == ErrorKind::no_effect);
  CHECK(flag.complaint.origin == "--set workload.arrivals.request_rate=5");
}

TEST_CASE("what is found and stored does not depend on threads or on an interruption") {
  const TempFolder folder;
  const StudyPlan plan(study_of(study_text(kRate, kTwoBatches)));
  const Made one = search_in(folder.path() + "/one.db", plan, 1);
  const Made four = search_in(folder.path() + "/four.db", plan, 4);
  REQUIRE(one.rows.size() == 2);
  CHECK(one.state.done == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(one.rows[i].status == "found");
    CHECK(one.rows[i].detail == four.rows[i].detail);
    CHECK(one.rows[i].value == four.rows[i].value);
  }
  // More sequences at once, a higher rate.
  CHECK(*one.rows[1].value > *one.rows[0].value);
  REQUIRE(one.probes.size() == four.probes.size());
  for (std::size_t i = 0; i < one.probes.size(); ++i) {
    CHECK(one.probes[i].run.digest == four.probes[i].run.digest);
    CHECK(one.probes[i].run.metrics == four.probes[i].run.metrics);
  }

  // Nothing is done again; a search whose answer is missing uses the runs that are there.
  const Made again = search_in(folder.path() + "/four.db", plan, 2, StoreMode::resume);
  CHECK(again.state.wanted == 0);
  {
    Database database(folder.path() + "/four.db", Database::Mode::existing);
    database.execute(
        "DELETE FROM searches WHERE point = 0;"
        "DELETE FROM probes WHERE point = 0 AND value = (SELECT MAX(value) FROM probes)");
  }
  const Made rest = search_in(folder.path() + "/four.db", plan, 2, StoreMode::resume);
  CHECK(rest.state.wanted == 1);
  CHECK(rest.state.probes == 2);
  CHECK(rest.rows[0].detail == one.rows[0].detail);
}

TEST_CASE("a probe is the run by itself, with the seeds that go on after the study's") {
  const StudyPlan plan(study_of(study_text(kRate, R"(, "seeds": [5, 3])")));
  const ValueSearch& search = plan.study().searches[0].value;
  CHECK(plan.probe(0, search, 2.5, 0).seed == 5);
  CHECK(plan.probe(0, search, 2.5, 1).seed == 3);
  CHECK(plan.probe(0, search, 2.5, 2).seed == 6);
  CHECK(plan.probe(0, search, 2.5, 3).seed == 7);
  CHECK(plan.probe(0, search, 2.5, 0).workload.arrivals.request_rate == 2.5);
  CHECK(plan.runs() == 0);
}

TEST_CASE("a row has no metric that metric_names does not know") {
  const StudyPlan plan(
      study_of(study_text(kRate, R"(, "vary": [{"path": "slo.ttft_ms", "values": [1000]}])")));
  const RunResult result =
      run(plan.probe(0, plan.study().searches[0].value, 5, 0), Catalog::embedded());
  const std::vector<std::string> known = metric_names();
  bool has_goodput = false;
  for (const auto& [name, value] : row_of(result, {}).metrics) {
    CAPTURE(name);
    CHECK(std::ranges::find(known, name) != known.end());
    if (name == "goodput_share") has_goodput = value > 0 && value <= 1;
  }
  CHECK(has_goodput);
}

TEST_CASE("fronts are made of points whose replications all have both metrics") {
  const TempFolder folder;
  const std::string path = folder.path() + "/front.db";
  const StudyPlan plan(study_of(study_text(
      R"([{"kind": "pareto", "maximize": ["output_throughput"], "minimize": ["p99_tpot_ms"]}])",
      R"(, "replications": 2, "vary": [{"path": "engine.max_num_seqs", "values": [1, 2, 3]}])")));
  const auto add = [&](std::int64_t run) {
    StoredRun row;
    row.run = run;
    row.point = run / 2;
    row.replication = run % 2;
    row.done = true;
    row.metrics = {{"output_throughput", static_cast<double>(10 * run)}};
    if (run != 5) row.metrics.emplace_back("p99_tpot_ms", 8.0);
    ResultsStore store(path, StoreMode::resume, facts_of(plan, "test"), parameters_of(plan));
    store.add(row);
    store.finish();
  };
  for (std::int64_t run = 0; run < 5; ++run) add(run);
  CHECK(finish_searches(path).missing == 3);  // not before all runs are there
  add(5);
  CHECK(finish_searches(path).missing == 0);
  const std::vector<StoredSearch> rows =
      read_search_rows(Database(path, Database::Mode::read_only));
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].status == "dominated");
  CHECK(rows[0].detail ==
        R"({"means":{"output_throughput":5.0,"p99_tpot_ms":8.0},"dominated_by":1})");
  CHECK(rows[1].status == "front");
  CHECK(rows[1].value == 25.0);
  CHECK(rows[2].status == "left_out");  // one of its runs has no latency
}

}  // namespace headroom::search_study_test
