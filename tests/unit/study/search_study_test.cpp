// Searches from a study file to rows of the file of results.

#include <catch2/catch.hpp>

#include <algorithm>
#include <string>
#include <vector>

#include "sim/setup/run.hpp"
#include "sim/study/search/finish_searches.hpp"
#include "sim/study/search/search_runner.hpp"
#include "sim/study/sweep/run_row.hpp"
#include "sim/study/sweep/study_runner.hpp"
#include "tests/support/temp_folder.hpp"

namespace headroom::search_study_test {
using Catch::Contains;

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

std::string error_of(const std::string& search, const std::string& more = "") {
  try {
    StudyPlan(study_of(study_text(search, more))).check(Catalog::embedded());
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
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
  CHECK(error_of("[]") == "s.json: /search: value []: expected a list of one or more searches");
  CHECK_THAT(error_of(R"([{"kind": "max_rate"}])"),
             Contains("/search/0/kind") && Contains("max_concurrency"));
  CHECK_THAT(error_of(R"([{"from": 1}])"), Contains("/search/0/kind: missing"));
  CHECK_THAT(error_of(rate(R"(, "limit": {})")), Contains("/search/0/limit") && Contains("limits"));
  CHECK_THAT(error_of(rate(R"(, "limits": {})")), Contains("/search/0/limits"));
  CHECK_THAT(error_of(rate(R"(, "limits": {"p99_tft_ms": 5})")),
             Contains("no metric") && Contains("p99_ttft_ms"));
  CHECK_THAT(error_of(rate(R"(, "limits": {"completed": 5})")), Contains("{\"<=\": number}"));
  CHECK_THAT(error_of(rate(R"(, "limits": {"goodput_share": 0.9})")), Contains("needs an slo"));
  CHECK_THAT(error_of(rate(R"(, "tolerance": 0)")), Contains("/search/0/tolerance"));
  CHECK_THAT(error_of(rate(R"(, "path": "engine.name")")), Contains("a quantity"));
  CHECK_THAT(error_of(rate(R"(, "path": "engine.max_nm_seqs")")), Contains("engine.max_num_seqs"));
  CHECK_THAT(error_of(rate(R"(, "max_replications": 0)")), Contains("an integer from 1"));
  CHECK_THAT(error_of(R"([{"kind": "max_request_rate", "from": 9, "to": 9}])"),
             Contains("empty range"));
  CHECK_THAT(error_of(R"([{"kind": "max_request_rate", "from": 9}])"),
             Contains("/search/0/to: missing"));
  CHECK_THAT(error_of(R"([{"kind": "max_concurrency", "from": 1.5, "to": 9}])"),
             Contains("expected an integer"));
  CHECK_THAT(error_of(R"([{"kind": "pareto", "maximize": ["completed"]}])"),
             Contains("two metrics"));
  CHECK_THAT(error_of(rate(R"(}, {"kind": "max_request_rate", "from": 2, "to": 3)")),
             Contains("two searches are called max_request_rate"));
  CHECK_THAT(error_of(rate(R"(, "path": "engine.max_num_seqs")"), kTwoBatches),
             Contains("is varied by the study"));
  // A value that the scenario refuses, before anything runs.
  CHECK_THAT(error_of(R"([{"kind": "min_gpu_memory_utilization", "from": 0.5, "to": 3}])"),
             Contains("/search") && Contains("gpu_memory_utilization"));
  CHECK_THROWS_WITH(parse_study(parse_json(study_text(kRate), "s.json"), "",
                                {"workload.arrivals.request_rate=5"}),
                    Contains("searches workload.arrivals.request_rate"));
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
