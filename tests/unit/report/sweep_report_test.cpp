#include "sim/report/text/sweep_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "sim/report/text/study_points.hpp"

namespace headroom::sweep_report_test {

namespace {

StoredRun run_of(std::int64_t point, std::int64_t replication, double ttft_ms) {
  StoredRun run;
  run.run = 2 * point + replication;
  run.point = point;
  run.replication = replication;
  run.done = true;
  run.stationary = true;
  run.metrics = {{"p99_ttft_ms", ttft_ms}};
  return run;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("durations are read in the units of their size") {
  CHECK(duration_text(0.4) == "less than 1 s");
  CHECK(duration_text(12.4) == "12 s");
  CHECK(duration_text(200) == "3 min 20 s");
  CHECK(duration_text(3600 * 30 + 60 * 5) == "30 h 5 min");
}

TEST_CASE("a point is a row of means, with what is wrong with some of its runs") {
  std::vector<StoredRun> runs{run_of(0, 0, 100), run_of(0, 1, 300), run_of(1, 0, 7),
                              run_of(1, 1, 0)};
  runs[2].ooms = {{"runtime_device", 3, 0.5}};
  runs[3].stationary = false;
  runs[3].metrics.clear();
  const std::string text = sweep_text({{{0, "engine.max_num_seqs", "8"},
                                        {0, "model", "\"m\""},
                                        {1, "engine.max_num_seqs", "16"},
                                        {1, "model", "\"m\""}},
                                       runs,
                                       {},
                                       {4, 2, 0}},
                                      "x.db");
  INFO(text);
  CHECK(has(text, "max_num_seqs"));
  CHECK_FALSE(has(text, "engine.max_num_seqs"));
  CHECK(has(text, "200"));   // the mean of 100 and 300
  CHECK(has(text, "7.00"));  // of the one run that has it
  CHECK(has(text, "runtime_device 1/2  not stationary 1/2"));
  CHECK(has(text, "4 runs of 2 points in x.db"));
}

TEST_CASE("failed runs are named with their errors") {
  StoredRun failed = run_of(0, 0, 1);
  failed.done = false;
  failed.error = "no such file";
  const std::string text =
      sweep_text({{{0, "model", "\"m\""}}, {failed}, {failed}, {9, 5, 3}}, "x.db");
  CHECK(has(text, "run 0 (point 0) failed: no such file"));
  CHECK(has(text, "... 2 more failed"));
  CHECK(has(text, "... 4 more points"));
  CHECK(has(text, "9 runs of 5 points, 3 failed, in x.db"));
}

TEST_CASE("paths that end alike are headed in full") {
  const std::string text =
      sweep_text({{{0, "workload.prompt.tokens", "1"}, {0, "workload.output.tokens", "2"}},
                  {run_of(0, 0, 1)},
                  {},
                  {1, 1, 0}},
                 "x.db");
  CHECK(has(text, "workload.prompt.tokens"));
  CHECK(has(text, "workload.output.tokens"));
}

TEST_CASE("values of one name are told apart by what differs") {
  const std::string small = R"({"name": "trtllm", "max_num_tokens": 8192, "max_batch_size": 64})";
  const std::string large = R"({"name": "trtllm", "max_num_tokens": 16384, "max_batch_size": 64})";
  const std::string other = R"({"name": "vllm", "max_num_seqs": 8})";
  auto shown = shown_settings({small, large, other, "8", "\"m\""});
  CHECK(shown[small] == "trtllm max_num_tokens 8192");
  CHECK(shown[large] == "trtllm max_num_tokens 16384");
  CHECK(shown[other] == "vllm");
  CHECK(shown["8"] == "8");
  CHECK(shown["\"m\""] == "m");
  const StudyPoints points({{0, "engine", small}, {1, "engine", large}});
  CHECK(points.cells(1)[1] == "trtllm max_num_tokens 16384");
}

TEST_CASE("the first line says how long requests wait where the engine keeps up") {
  const std::vector<StoredParameter> parameters{{0, "workload.arrivals.request_rate", "1"},
                                                {1, "workload.arrivals.request_rate", "2"},
                                                {2, "workload.arrivals.request_rate", "3"}};
  std::vector<StoredRun> runs{run_of(0, 0, 100), run_of(1, 0, 2300), run_of(2, 0, 0)};
  runs[2].stationary = false;
  runs[2].metrics.clear();
  const std::string text = sweep_text({parameters, runs, {}, {3, 3, 0}}, "x.db");
  INFO(text);
  CHECK(text.starts_with("2 of 3 points keep up"));
  CHECK(has(text.substr(0, text.find('\n')), "p99 TTFT is 100 ms to 2.30 s"));
}

TEST_CASE("a point that failed or turned requests away does not keep up") {
  const auto sentence = [](const std::vector<StoredRun>& runs) {
    std::vector<StoredParameter> parameters;
    for (const StoredRun& run : runs) {
      parameters.push_back({run.point, "engine.max_num_seqs", fmt::to_string(run.point)});
    }
    const std::string text =
        sweep_text({parameters, runs, {}, {std::ssize(runs), std::ssize(runs), 0}}, "x.db");
    std::string head = text.substr(0, text.find("point  "));
    std::ranges::replace(head, '\n', ' ');
    return head;
  };
  StoredRun failed = run_of(0, 0, 1);
  failed.done = false;
  failed.stationary.reset();
  failed.metrics.clear();
  StoredRun rejecting = run_of(1, 0, 10);
  rejecting.metrics.emplace_back("rejected", 18);
  StoredRun full = run_of(2, 0, 20);
  full.metrics.emplace_back("max_kv_used_share", 1);
  const std::string one = sentence({failed});
  INFO(one);
  CHECK(has(one, "none of 1 points keep up"));
  CHECK(has(one, "1 failed, the first with max_num_seqs 0"));
  const std::string all = sentence({failed, rejecting, full});
  INFO(all);
  CHECK(has(all, "1 of 3 points keep up"));
  CHECK(has(all, "1 rejects or loses requests, the first with max_num_seqs 1"));
  CHECK(has(all, "1 fills its KV pool, the first with max_num_seqs 2"));
  // Ten requests of 500 tokens: of a pool of 5,000 a tenth may stay free, and no other one fits.
  const auto with_pool = [](double used) {
    StoredRun run = run_of(3, 0, 20);
    run.metrics.insert(run.metrics.end(), {{"max_kv_used_share", used},
                                           {"kv_tokens", 5000},
                                           {"completed", 10},
                                           {"total_input_tokens", 4000},
                                           {"total_output_tokens", 1000}});
    return run;
  };
  CHECK(has(sentence({with_pool(0.9)}), "1 fills its KV pool"));
  CHECK_FALSE(has(sentence({with_pool(0.89)}), "fills its KV pool"));
}

TEST_CASE("a merge says what it has and what is missing") {
  MergeResult result;
  result.facts.name = "curve";
  result.facts.total_runs = 10;
  result.runs = 7;
  result.missing = {1, 2, 9};
  CHECK(merge_text(result, {}, "m.db") ==
        "m.db: 7 of 10 runs of study curve\nmissing    3 runs: 1-2, 9\n");
  result.missing = {};
  CHECK(merge_text(result, {6, 2, 1}, "m.db") ==
        "m.db: 7 of 10 runs of study curve\nmissing    2 of 6 searches\nfailed     1 searches\n");
}

}  // namespace headroom::sweep_report_test
