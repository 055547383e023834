// /engine/speculative_config, from the file to the parts of a replica.

#include <catch2/catch.hpp>

#include <algorithm>
#include <string>

#include "sim/resolve/resolve.hpp"
#include "sim/resolve/run.hpp"
#include "sim/resolve/startup_budget.hpp"
#include "sim/scenario/options.hpp"
#include "tests/support/about.hpp"
#include "tests/unit/scenario/value_source.hpp"

namespace headroom::speculation_test {
namespace {

Scenario scenario_of(const std::string& engine) {
  return parse_scenario(
      parse_json(R"({"model": "llama-3.1-8b", "device": "h100-sxm", "engine": )" + engine +
                     R"(, "workload": {"arrivals": {"process": "all_at_once"}, "num_requests": 3,
      "n": 2, "prompt": {"tokens": 64}, "output": {"tokens": 40}}})",
                 "s.json"));
}

Resolved resolved(const std::string& engine) {
  return resolve(scenario_of(engine), Catalog::embedded());
}

test::About refused(const std::string& engine) {
  return test::about([&] { return resolved(engine); });
}

constexpr const char* kEagle3 = R"({"speculative_config": {"method": "eagle3"}})";

}  // namespace

// ENGINES.md 5: 0.7 to 0.85 at the first position, 5 to 10 points less at each further one.
TEST_CASE("a drafter's preset is an estimate that results name", "[speculation]") {
  const Resolved r = resolved(kEagle3);
  const std::vector<double> rates = acceptance_rates(r.scenario.engine.speculative);
  REQUIRE(rates.size() == 3);
  CHECK(rates[0] == Approx(0.775));
  CHECK(rates[2] == Approx(0.625));
  CHECK(scheduler_options(r).speculation.lookahead_tokens == 3);
  CHECK(source_of(r, "/engine/speculative_config/acceptance_rates") ==
        "vllm 0.33: preset of eagle3, an estimate");
  CHECK(source_of(r, "/engine/speculative_config/draft_step_share") ==
        "vllm 0.33: one layer of 32");
  CHECK(std::ranges::any_of(r.warnings, [](const std::string& warning) {
    return warning.find("acceptance rates") != std::string::npos;
  }));
}

TEST_CASE("drafts turn asynchronous scheduling off and say so", "[speculation]") {
  const Resolved r = resolved(kEagle3);
  CHECK(replica_options(r).pipeline_depth == 1);
  CHECK(source_of(r, "/engine/async_scheduling") ==
        "vllm 0.33: off: steps with drafts are modelled only one by one");
  // Commands say it beside drafts, and the engine has both.
  const Resolved given =
      resolved(R"({"async_scheduling": true, "speculative_config": {"method": "eagle3"}})");
  CHECK(replica_options(given).pipeline_depth == 1);
  CHECK(std::ranges::count(
            given.warnings,
            "async_scheduling off: steps with drafts are modelled only one by one") == 1);
}

TEST_CASE("rounds of SGLang follow the release", "[speculation][sglang]") {
  const auto rounds = [](const std::string& version, const std::string& more) {
    return resolved(R"({"name": "sglang", "version": ")" + version +
                    R"(", "speculative_config": {"method": "eagle3")" + more + "}");
  };
  // Llama: 5 steps, topk 4, 8 tokens. Slots: max(5 x 4, 8), twice with the second worker.
  const Resolved tree = rounds("0.5.9", "}");
  CHECK(tree.scenario.engine.speculative.num_speculative_tokens == 5);
  CHECK(tree.rounds.verified_tokens == 8);
  CHECK(tree.rounds.branches == 4);
  CHECK(tree.rounds.slots_ahead == 20);
  CHECK_FALSE(tree.overlaps_host());
  CHECK(rounds("0.5.13", "}").rounds.slots_ahead == 40);
  const Resolved chain = rounds("0.5.15", R"(, "num_speculative_tokens": 3})");
  CHECK(chain.rounds.verified_tokens == 4);
  CHECK(chain.rounds.slots_ahead == 8);
  CHECK(chain.overlaps_host());
  CHECK(replica_options(chain).pipeline_depth == 1);
  CHECK_FALSE(rounds("0.5.15", R"(}, "disable_overlap_schedule": true)").overlaps_host());
  CHECK(rounds("0.5.10", R"(, "num_speculative_tokens": 3}, "enable_spec_v2": true)")
            .rounds.slots_ahead == 8);
  CHECK(source_of(chain, "/engine/max_running_requests") ==
        "sglang 0.5.15: 48 with speculative decoding");
}

TEST_CASE("speculative options that cannot stand together are refused", "[speculation]") {
  const std::string config = "/engine/speculative_config";
  CHECK(refused(R"({"name": "tgi", "speculative_config": {"method": "ngram"}})") ==
        test::no_effect_at(config + "/method"));
  CHECK(refused(R"({"speculative_config": {"acceptance_rate": 0.5}})") ==
        test::no_effect_at(config + "/acceptance_rate"));
  CHECK(
      refused(R"({"scheduling_policy": "priority", "speculative_config": {"method": "ngram"}})") ==
      test::unsupported_at("/engine/scheduling_policy"));
  CHECK(refused(R"({"speculative_config": {"method": "ngram", "num_speculative_tokens": 3,
                                           "acceptance_rates": [0.5]}})") ==
        test::conflict_at(config + "/acceptance_rates"));
  CHECK(refused(R"({"speculative_config": {"method": "ngram", "acceptance_rate": 0.5,
                                           "acceptance_rates": [0.5]}})") ==
        test::conflict_at(config + "/acceptance_rate"));
}

// Only a drafter with weights takes memory: Llama-3.1-8B's EAGLE head is 0.47 GiB, and its layer
// makes a token 132 instead of 128 KiB.
TEST_CASE("the start-up budget holds the drafter's weights and KV", "[speculation]") {
  const auto budget = [](const std::string& method) {
    return budgeted(resolved(R"({"speculative_config": {"method": ")" + method + R"("}})")).budget;
  };
  const MemoryBudget none = budget("ngram");
  const MemoryBudget eagle = budget("eagle");
  CHECK(none.terms[MemoryPurpose::drafter] == 0);
  CHECK(none.layout.bytes_per_token == 128 * 1024);
  CHECK(gib_from_bytes(eagle.terms[MemoryPurpose::drafter]) == Approx(0.47).margin(0.01));
  CHECK(eagle.layout.bytes_per_token == 132 * 1024);
  CHECK(budget("draft_model").terms[MemoryPurpose::drafter] == 0);  // of unknown size
}

TEST_CASE("results say what of a drafter's memory is known", "[speculation]") {
  const auto warns = [](const std::string& engine, const std::string& words) {
    return std::ranges::any_of(resolved(engine).warnings, [&](const std::string& warning) {
      return warning.find(words) != std::string::npos;
    });
  };
  CHECK(warns(kEagle3, "an estimate), but not its activations"));
  CHECK(warns(R"({"speculative_config": {"method": "mtp"}})", "not known to ship"));
  CHECK(warns(R"({"speculative_config": {"method": "draft_model"}})", "set its model"));
  CHECK(warns(R"({"name": "sglang", "speculative_num_draft_tokens": 8, "speculative_config":
                  {"method": "eagle3", "num_speculative_tokens": 3}, "speculative_eagle_topk": 1})",
              "speculative_num_draft_tokens 8 becomes 4"));
  CHECK(warns(R"({"speculative_config": {"method": "draft_model", "model": "qwen3-0.6b"}})",
              "KV of qwen3-0.6b, but not its"));
  CHECK(warns(R"({"name": "static", "scheduler": "vllm", "kv_allocator": "paged",
                  "speculative_config": {"method": "eagle"}})",
              "does not include the drafter's weights"));
}

// As many tokens as without drafts: an n-gram drafter has no KV, and EAGLE's layer is one more of
// those that keep every token. (0.20 and later estimate other graphs with drafts.)
TEST_CASE("drafts leave the windows of a model as they are", "[speculation]") {
  const auto tokens = [](const std::string& engine) {
    return run(parse_scenario(
                   parse_json(R"({"model": "gemma-3-12b", "device": "h100-sxm", "engine": )" +
                                  engine + R"(, "workload": {"num_requests": 3,
        "arrivals": {"process": "all_at_once"}, "prompt": {"tokens": 3000},
        "output": {"tokens": 40}}})",
                              "s.json")),
               Catalog::embedded())
        .pool_tokens;
  };
  const TokenCount none = tokens(R"({"version": "0.19", "max_model_len": 32768})");
  const TokenCount ngram = tokens(R"({"version": "0.19", "max_model_len": 32768,
                 "speculative_config": {"method": "ngram"}})");
  CHECK(ngram == none);
}

// 14 query heads are not divided by 4 ranks; the model it drafts for is.
TEST_CASE("a draft model must be divisible by the ranks of its target", "[speculation]") {
  CHECK(refused(R"({"tensor_parallel_size": 4, "speculative_config":
                    {"method": "draft_model", "model": "qwen2.5-0.5b"}})") ==
        test::value_at("/engine/speculative_config/model"));
}

// 3 prompts, 2 answers each of 40 tokens: all drafts are accepted, so an answer takes its first
// token and ceil(39 / 4) = 10 steps of 3 drafts.
TEST_CASE("a run counts its drafts", "[speculation]") {
  const RunResult result = run(scenario_of(R"({"speculative_config": {
      "method": "mtp", "num_speculative_tokens": 3, "acceptance_rate": 1}})"),
                               Catalog::embedded());
  const SpeculationCounts& counts = result.summary.engine.speculation;
  CHECK(result.summary.requests.finished == 6);
  CHECK(counts.drafts == 60);
  CHECK(counts.draft_tokens == 180);
  CHECK(counts.accepted_per_position == std::vector<std::int64_t>{60, 60, 60});
  CHECK(result.summary.engine.prefix_cache_hits == 3 * 32);  // 64 tokens: 3 blocks, less one
}

}  // namespace headroom::speculation_test
