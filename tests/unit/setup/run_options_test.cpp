// Options of a run that mean nothing, or more than another one allows.

#include <catch2/catch.hpp>
#include <string>

#include "scheduler/batching/static.hpp"
#include "sim/setup/options.hpp"
#include "sim/setup/resolve.hpp"

namespace headroom::run_options_test {
namespace {

Resolved resolved(const std::string& engine) {
  return resolve(parse_scenario(parse_json(
                     R"({"model": "llama-3.1-8b", "device": "h100-sxm", "engine": )" + engine +
                         R"(, "workload": {"arrivals": {"process": "all_at_once"},
      "num_requests": 3, "prompt": {"tokens": 64}, "output": {"tokens": 20}}})",
                     "s.json")),
                 Catalog::embedded());
}

}  // namespace

TEST_CASE("preferred batch sizes are put in order and fit the largest batch", "[resolve]") {
  const Resolved r = resolved(
      R"({"name": "fastertransformer", "max_batch_size": 8, "preferred_batch_size": [8, 4]})");
  CHECK(r.scenario.engine.own.get<StaticScheduling>().preferred_batch_size ==
        std::vector<std::int64_t>{4, 8});
  CHECK_THROWS_WITH(
      resolved(
          R"({"name": "fastertransformer", "max_batch_size": 8, "preferred_batch_size": [9]})"),
      Catch::Contains("/engine/preferred_batch_size") && Catch::Contains("8"));
  CHECK_THROWS_AS(resolved(R"({"name": "vllm", "preferred_batch_size": [4]})"), ConfigError);
}

TEST_CASE("reuse of parts of blocks needs the reuse of blocks", "[resolve]") {
  CHECK_NOTHROW(resolved(R"({"name": "trtllm", "enable_partial_reuse": false})"));
  for (const char* engine :
       {R"({"name": "trtllm", "enable_block_reuse": false, "enable_partial_reuse": true})",
        R"({"name": "trtllm", "enable_partial_reuse": false, "copy_on_partial_reuse": true})",
        R"({"name": "vllm", "enable_partial_reuse": true})"}) {
    CAPTURE(engine);
    CHECK_THROWS_AS(resolved(engine), ConfigError);
  }
}

}  // namespace headroom::run_options_test
