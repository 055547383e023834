// Section `fleet.disaggregation` and roles of groups: from options to results.

#include <catch2/catch.hpp>
#include <string>

#include "sim/resolve/run.hpp"
#include "sim/scenario/options.hpp"
#include "tests/support/about.hpp"

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

test::About refused(const std::string& fleet, const std::string& more = "") {
  return test::about([&] { return check(with_roles(fleet, more), Catalog::embedded()); });
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
  CHECK(refused(kGroups) == test::missing_at("/fleet/disaggregation/link_gb_per_s"));
  CHECK(refused(R"("replicas": 2,)" + kLink) ==
        test::no_effect_at("/fleet/disaggregation/link_gb_per_s"));
  CHECK(refused(R"("groups": [{"name": "p", "role": "prefill"}],)" + kLink) ==
        test::missing_at("/fleet/groups/0/role"));
  CHECK(refused(R"("groups": [{"name": "p", "role": "prefill"},
                                   {"name": "d", "role": "decode"}, {"name": "b"}],)" +
                kLink) == test::value_at("/fleet/groups/2/role"));
  const test::About misspelt = refused(R"("groups": [{"name": "p", "role": "prefil"}],)" + kLink);
  CHECK(misspelt == test::unknown_at("/fleet/groups/0/role"));
  CHECK(misspelt.complaint.nearest == "prefill");
  for (const std::string rate : {"0", "1e-6", "0.0009"}) {
    CHECK(refused(kGroups + R"(, "disaggregation": {"link_gb_per_s": )" + rate + "}") ==
          test::value_at("/fleet/disaggregation/link_gb_per_s"));
  }
}

TEST_CASE("routers may choose among one prefill or decode replica", "[apart]") {
  CHECK(refused(kGroups +
                R"(, "disaggregation": {"link_gb_per_s": 50, "decode_router": "random"})") ==
        test::no_error());
  CHECK(refused(R"("groups": [{"name": "p", "role": "prefill"},
                              {"name": "d", "role": "decode", "count": 2}],
                   "router": {"policy": "random"},)" +
                kLink) == test::no_error());
}

TEST_CASE("what cannot use another's KV is refused by name", "[apart]") {
  const auto with = [](const std::string& decode) {
    return refused(R"("groups": [{"name": "p", "role": "prefill"},
                                 {"name": "d", "role": "decode", )" +
                   decode + "}]," + kLink);
  };
  for (const auto& [decode, what] : {std::pair{R"("model": "qwen3-14b")", "model"},
                                     {R"("engine": {"kv_cache_dtype": "fp8"})", "bytes of KV"},
                                     {R"("engine": {"block_size": 32})", "engine.block_size"}}) {
    const test::About about = with(decode);
    CHECK(about == test::conflict_at("/fleet/groups/1/role"));
    CHECK_THAT(about.complaint.problem, Catch::Contains(what));
  }
  CHECK(with(R"("engine": "sglang")") == test::unsupported_at("/fleet/groups/1/role"));
  CHECK(refused(kGroups + "," + kLink, R"(, "n": 2)") == test::unsupported_at("/workload/n"));
}

}  // namespace
}  // namespace headroom::fleet_roles_test
