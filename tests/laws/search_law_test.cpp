// Searches of studies find the edges that closed forms know: VERIFICATION V3, C7 and C8, and the
// whole contexts in a pool.

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <string>

#include "sim/study/search/search_runner.hpp"
#include "sim/study/sweep/study_runner.hpp"
#include "tests/support/temp_folder.hpp"

namespace headroom::laws::search_law_test {
namespace {

StoredSearch searched(const std::string& study) {
  const TempFolder folder;
  const std::string path = folder.path() + "/law.db";
  const StudyPlan plan(parse_study(parse_json(study, "law.json"), "", {}));
  ResultsStore store(path, StoreMode::create, facts_of(plan, "law"), parameters_of(plan));
  SearchOptions options;
  options.threads = 2;
  static_cast<void>(run_searches(plan, Catalog::embedded(), tasks_of(plan, {}), store, options));
  const std::vector<StoredSearch> rows = read_search_rows(store.database());
  REQUIRE(rows.size() == 1);
  INFO(rows[0].detail);
  CHECK(rows[0].status == "found");
  REQUIRE(rows[0].value);
  return rows[0];
}

// A step of a + b per decoding sequence + c per prompt token; Poisson traffic of one kind.
struct Affine {
  double step_us = 10'000;
  double decode_us = 250;
  double prompt_us = 250;
  int prompt = 1;
  int output = 200;
  int max_num_seqs = 1024;
};

double largest_rate(const Affine& e, const std::string& search) {
  const std::string study = fmt::format(
      R"({{"base": {{"model": "llama-3.1-8b", "device": "h100-sxm",
        "engine": {{"name": "vllm", "version": "0.19", "max_model_len": 4096,
                    "max_num_seqs": {}, "max_num_batched_tokens": 8192,
                    "num_gpu_blocks_override": 20000}},
        "cost": {{"level": "affine", "affine": {{"step_us": {}, "decode_token_us": {},
                 "prompt_token_us": {}, "context_token_us": 0}}}},
        "workload": {{"arrivals": {{"process": "poisson", "request_rate": 1}},
          "num_requests": 20000, "prompt": {{"law": "fixed", "tokens": {}}},
          "output": {{"law": "fixed", "tokens": {}}}}}}},
      "replications": 4, "search": [{{"kind": "max_request_rate", {}}}]}})",
      e.max_num_seqs, e.step_us, e.decode_us, e.prompt_us, e.prompt, e.output, search);
  return *searched(study).value;
}

// C7: T = L (a + b) / (1 - rate L b), so T <= 4100 ms up to 10 requests/s. A run is longer by about
// a mean step (20 ms: .5 % of T, and at half load as much of the rate), and a rate passes only when
// its whole interval does: the answer lies a little below.
double c7_rate(const Affine& e) {
  return largest_rate(e, R"("from": 2, "to": 18, "limits": {"mean_e2el_ms": 4100})");
}

TEST_CASE("law C7: the largest rate within a limit on latency is that of the closed form") {
  const double rate = c7_rate({});
  CHECK(rate > 9.6);
  CHECK(rate < 10.05);
}

TEST_CASE("law C7 refuses the rate of slower steps") {
  Affine slower;
  slower.decode_us *= 1.05;
  slower.prompt_us *= 1.05;
  slower.step_us *= 1.05;
  CHECK(c7_rate(slower) < 9.6);
}

// C8 with a cap of 16: each request costs c P for its prompt, b for each of its 199 decode
// steps, and a 16th of 200 base steps: 20 + 49.75 + 125 = 194.75 ms, so the engine is full at 5.135
// requests/s. Beyond it the backlog grows with the run, which the label sees from a few percent on.
double c8_rate(const Affine& e) { return largest_rate(e, R"("from": 2, "to": 12)"); }
constexpr Affine kC8{.prompt_us = 20, .prompt = 1000, .max_num_seqs = 16};

TEST_CASE("law C8: the largest rate that is stationary is that at which all steps are full") {
  const double rate = c8_rate(kC8);
  CHECK(rate > 0.97 * 5.135);
  CHECK(rate < 1.03 * 5.135);
}

TEST_CASE("law C8 refuses a cheaper prompt") {
  Affine cheaper = kC8;
  cheaper.prompt_us = 5;  // 179.75 ms: 5.563 requests/s
  CHECK(c8_rate(cheaper) > 1.03 * 5.135);
}

// Users whose requests grow in step, from half a context each: nobody waits to be let in while the
// pool holds half a context more for each, so that it is the whole contexts that must fit.
double most_users(int blocks, int context) {
  const std::string study = fmt::format(
      R"({{"base": {{"model": "llama-3.1-8b", "device": "h100-sxm",
        "engine": {{"name": "vllm", "version": "0.19", "max_model_len": {1},
                    "max_num_seqs": 256, "num_gpu_blocks_override": {0}}},
        "cost": {{"level": "affine"}},
        "workload": {{"closed_loop": {{"users": 1, "think_time": {{"law": "fixed", "mean_s": 0}}}},
          "duration_s": 60, "prompt": {{"law": "fixed", "tokens": {2}}},
          "output": {{"law": "fixed", "tokens": {2}}}}}}},
      "search": [{{"kind": "max_concurrency", "from": 1, "to": 128, "no_preemption": true}}]}})",
      blocks, context, context / 2);
  return *searched(study).value;
}

TEST_CASE("law: users that fit without preemption are the whole contexts in the pool") {
  for (const int context : {256, 512, 1024}) {
    for (const int users : {2, 7, 20}) {
      CAPTURE(context, users);
      const int blocks = users * context / 16 + 1;  // one is the null block
      CHECK(most_users(blocks, context) == users);
      CHECK(most_users(blocks - 1, context) == users - 1);
    }
  }
}

}  // namespace
}  // namespace headroom::laws::search_law_test
