// Options of a run that mean nothing, or more than another one allows.

#include <catch2/catch.hpp>
#include <string>

#include "scheduler/batching/static.hpp"
#include "sim/resolve/resolve.hpp"
#include "sim/scenario/options.hpp"
#include "tests/support/about.hpp"

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

test::About refused(const std::string& engine) {
  return test::about([&] { return resolved(engine); });
}

}  // namespace

TEST_CASE("preferred batch sizes are put in order and fit the largest batch", "[resolve]") {
  const Resolved r = resolved(
      R"({"name": "fastertransformer", "max_batch_size": 8, "preferred_batch_size": [8, 4]})");
  CHECK(r.scenario.engine.own.get<StaticScheduling>().preferred_batch_size ==
        std::vector<std::int64_t>{4, 8});
  CHECK(refused(R"({"name": "fastertransformer", "max_batch_size": 8,
                    "preferred_batch_size": [9]})") ==
        test::value_at("/engine/preferred_batch_size"));
  CHECK(refused(R"({"name": "vllm", "preferred_batch_size": [4]})") ==
        test::no_effect_at("/engine/preferred_batch_size"));
}

TEST_CASE("reuse of parts of blocks needs the reuse of blocks", "[resolve]") {
  CHECK_NOTHROW(resolved(R"({"name": "trtllm", "enable_partial_reuse": false})"));
  CHECK(refused(R"({"name": "trtllm", "enable_block_reuse": false,
                    "enable_partial_reuse": true})") ==
        test::no_effect_at("/engine/enable_partial_reuse"));
  CHECK(refused(R"({"name": "trtllm", "enable_partial_reuse": false,
                    "copy_on_partial_reuse": true})") ==
        test::no_effect_at("/engine/copy_on_partial_reuse"));
  CHECK(refused(R"({"name": "vllm", "enable_partial_reuse": true})") ==
        test::no_effect_at("/engine/enable_partial_reuse"));
}

}  // namespace headroom::run_options_test
