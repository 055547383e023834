// Section `fleet.disaggregation` and roles of groups: from options to results.

#include <catch2/catch.hpp>
#include <string>

#include "sim/setup/options.hpp"
#include "sim/setup/run.hpp"

namespace headroom::fleet_roles_test {
namespace {

const std::string kGroups =
    R"("groups": [{"name": "p", "role": "prefill", "count": 2}, {"name": "d", "role": "decode"}])";
const std::string kLink = R"("disaggregation": {"link_gb_per_s": 50})";

Scenario with_roles(const std::string& fleet, const std::string& more = "") {
  return parse_scenario(parse_json(
      R"({"model": "llama-3.1-8b", "device": "h100-sxm",
          "engine": {"name": "vllm", "max_model_len": 4096, "max_num_seqs": 64},
          "workload": {"arrivals": {"process": "constant", "request_rate": 20},
                       "num_requests": 100, "prompt": {"tokens": 1000}, "output": {"tokens": 50})" +
          more + R"(}, "fleet": {)" + fleet + "}}",
      "s.json"));
}

std::string refused(const std::string& fleet, const std::string& more = "") {
  try {
    static_cast<void>(check(with_roles(fleet, more), Catalog::embedded()));
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

// 1000 tokens are 63 blocks of 16, at 131,072 bytes a token (32 layers, 8 heads of 128, K and V).
TEST_CASE("prompts move from groups that prefill to those that decode", "[apart]") {
  const RunResult result = run(with_roles(kGroups + "," + kLink), Catalog::embedded());
  REQUIRE(result.totals.transfers);
  CHECK(result.summary.requests.finished == 100);
  CHECK(result.totals.transfers->transfers == 100);
  CHECK(result.totals.transfers->bytes == 100 * 63 * 16 * 131'072LL);
  CHECK(result.totals.replicas[2].of(Outcome::finished) == 100);
  for (const RequestRecord& record : result.recorder->records()) CHECK(record.replica == 2);
}

TEST_CASE("roles and their section belong together", "[apart]") {
  CHECK_THAT(refused(kGroups), Catch::Contains("link_gb_per_s: missing"));
  CHECK_THAT(refused(R"("replicas": 2,)" + kLink),
             Catch::Contains("/fleet/disaggregation/link_gb_per_s: has no effect without groups"));
  CHECK_THAT(refused(R"("groups": [{"name": "p", "role": "prefill"}],)" + kLink),
             Catch::Contains("no group has role decode"));
  CHECK_THAT(refused(R"("groups": [{"name": "p", "role": "prefill"},
                                   {"name": "d", "role": "decode"}, {"name": "b"}],)" +
                     kLink),
             Catch::Contains("/fleet/groups/2/role: value \"both\""));
  CHECK_THAT(refused(R"("groups": [{"name": "p", "role": "prefil"}],)" + kLink),
             Catch::Contains("prefill"));
  for (const std::string rate : {"0", "1e-6", "0.0009"}) {
    CHECK_THAT(refused(kGroups + R"(, "disaggregation": {"link_gb_per_s": )" + rate + "}"),
               Catch::Contains("/fleet/disaggregation/link_gb_per_s: value ") &&
                   Catch::Contains("number >= 0.001"));
  }
}

TEST_CASE("routers may choose among one prefill or decode replica", "[apart]") {
  CHECK(refused(kGroups +
                R"(, "disaggregation": {"link_gb_per_s": 50, "decode_router": "random"})") ==
        "no error");
  CHECK(refused(R"("groups": [{"name": "p", "role": "prefill"},
                              {"name": "d", "role": "decode", "count": 2}],
                   "router": {"policy": "random"},)" +
                kLink) == "no error");
}

TEST_CASE("what cannot use another's KV is refused by name", "[apart]") {
  const auto with = [](const std::string& decode) {
    return refused(R"("groups": [{"name": "p", "role": "prefill"},
                                 {"name": "d", "role": "decode", )" +
                   decode + "}]," + kLink);
  };
  CHECK_THAT(with(R"("model": "qwen3-14b")"), Catch::Contains("d cannot use the KV of p: model"));
  CHECK_THAT(with(R"("engine": {"kv_cache_dtype": "fp8"})"),
             Catch::Contains("bytes of KV per token"));
  CHECK_THAT(with(R"("engine": {"block_size": 32})"), Catch::Contains("engine.block_size 32, not"));
  CHECK_THAT(with(R"("engine": "sglang")"), Catch::Contains("not modelled for scheduler sglang"));
  CHECK_THAT(refused(kGroups + "," + kLink, R"(, "n": 2)"), Catch::Contains("/workload/n"));
}

}  // namespace
}  // namespace headroom::fleet_roles_test
