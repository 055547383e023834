// Defaults and rules of an engine by its release, from the scenario to the parts of a replica.

#include <catch2/catch.hpp>

#include <algorithm>
#include <string>
#include <vector>

#include "hardware/catalog.hpp"
#include "scheduler/batching/sglang.hpp"
#include "scheduler/batching/vllm_batch.hpp"
#include "sim/engines/engines.hpp"
#include "sim/resolve/resolve.hpp"
#include "sim/resolve/startup_budget.hpp"
#include "sim/scenario/options.hpp"
#include "tests/support/about.hpp"
#include "tests/support/sglang_rule_list.hpp"

namespace headroom::engine_releases_test {
namespace {

Resolved resolved(const std::string& model, const std::string& engine,
                  const std::string& level = "auto") {
  const std::string text = R"({"model": ")" + model +
                           R"(", "device": "h200-sxm", "cost": {"level": ")" + level +
                           R"("}, "engine": )" + engine +
                           R"(, "workload": {"arrivals": {"process": "all_at_once"},
      "num_requests": 3, "prompt": {"tokens": 64}, "output": {"tokens": 40}}})";
  return resolve(parse_scenario(parse_json(text, "s.json")), Catalog::embedded());
}

bool warns_of(const Resolved& resolved, const std::string& words) {
  return std::ranges::any_of(resolved.warnings, [&](const std::string& warning) {
    return warning.find(words) != std::string::npos;
  });
}

constexpr const char* kHybrid = "nemotron-3-nano-30b-a3b";

// Of TensorRT-LLM 1.4 there are only candidates.
TEST_CASE("the newest release that is known is modelled by default") {
  for (const Engine* engine : engines()) {
    if (!engine->versioned) continue;
    CAPTURE(engine->name);
    const EngineVersion modelled = engine->release(engine->version);
    CHECK(modelled == (engine->name == "trtllm" ? EngineVersion{1, 3} : engine->newest));
  }
}

TEST_CASE("vLLM caches no prefixes of models with states before 0.28") {
  const auto caches = [](const std::string& model, const std::string& engine) {
    return finds_prefixes(resolved(model, engine));
  };
  CHECK_FALSE(caches(kHybrid, R"({"version": "0.19"})"));
  CHECK(caches(kHybrid, R"({"version": "0.28"})"));
  CHECK(caches(kHybrid, R"({"version": "0.19", "enable_prefix_caching": true})"));
  CHECK(caches("llama-3.1-8b", R"({"version": "0.19"})"));
}

TEST_CASE("with prefix caching a request holds two states") {
  const auto states = [](const std::string& engine) {
    const BudgetedSystem system = budgeted(resolved(kHybrid, engine));
    std::int32_t sum = 0;
    for (const KvGroup& group : system.budget.layout.groups) {
      if (group.kind == KvGroupKind::recurrent) sum += group.states;
    }
    return sum;
  };
  const std::int32_t one = states(R"({"enable_prefix_caching": false})");
  REQUIRE(one > 0);
  CHECK(states(R"({"enable_prefix_caching": true})") == 2 * one);
}

TEST_CASE("SGLang plans no step ahead with the radix cache of recurrent layers up to 0.5.13") {
  const auto overlaps = [](const std::string& model, const std::string& options) {
    return resolved(model, R"({"name": "sglang", )" + options + "}").async_scheduling;
  };
  for (const char* model : {kHybrid, "qwen3-next-80b-a3b"}) {
    CAPTURE(model);
    CHECK(overlaps(model, R"("version": "0.5.5")"));
    CHECK_FALSE(overlaps(model, R"("version": "0.5.6")"));
    CHECK_FALSE(overlaps(model, R"("version": "0.5.13")"));
    CHECK(overlaps(model, R"("version": "0.5.14")"));
    CHECK(overlaps(model, R"("version": "0.5.9", "disable_radix_cache": true)"));
    CHECK(overlaps(model, R"("version": "0.5.9", "disable_overlap_schedule": false)"));
    CHECK(overlaps(model, R"("version": "0.5.9", "mamba_scheduler_strategy": "extra_buffer")"));
    CHECK_FALSE(overlaps(model, R"("mamba_scheduler_strategy": "extra_buffer",
                                   "disable_overlap_schedule": true)"));
    CHECK(overlaps(model, R"("mamba_scheduler_strategy": "auto")"));  // the newest release
    CHECK_FALSE(overlaps(model, R"("mamba_scheduler_strategy": "no_buffer")"));
    CHECK(overlaps(model, R"("mamba_scheduler_strategy": "no_buffer",
                             "disable_radix_cache": true)"));
  }
  CHECK(overlaps("llama-3.1-8b", R"("mamba_scheduler_strategy": "no_buffer")"));
  CHECK(overlaps("llama-3.1-8b", R"("version": "0.5.9")"));
  CHECK(overlaps("kimi-linear-48b-a3b", R"("version": "0.5.9")"));
  CHECK(warns_of(resolved(kHybrid, R"({"name": "sglang", "version": "0.5.9"})"),
                 "with mamba_scheduler_strategy extra_buffer it does"));
}

TEST_CASE("vLLM admits a prompt when its first chunk fits before 0.19") {
  const auto reserves = [](const std::string& engine) {
    const Resolved r = resolved("llama-3.1-8b", engine);
    return scheduler_options(r).own.get<VllmScheduling>().scheduler_reserve_full_isl;
  };
  CHECK_FALSE(reserves(R"({"version": "0.17"})"));
  CHECK(reserves(R"({"version": "0.19"})"));
  CHECK(reserves(R"({"version": "0.17", "scheduler_reserve_full_isl": true})"));
}

TEST_CASE("vLLM cuts the prompt of a request that is alone before 0.31") {
  const auto cuts = [](const std::string& engine) {
    const Resolved r = resolved("llama-3.1-8b", engine);
    return scheduler_options(r).own.get<VllmScheduling>().threshold_cuts_lone_prompts;
  };
  CHECK(cuts(R"({"version": "0.30"})"));
  CHECK_FALSE(cuts(R"({"version": "0.31"})"));
}

TEST_CASE("a draft model takes a token of vLLM's budget for each seat") {
  const auto taken = [](const std::string& method) {
    const Resolved r =
        resolved("llama-3.1-8b", R"({"speculative_config": {"method": ")" + method + R"("}})");
    return scheduler_options(r).speculation.budget_tokens;
  };
  CHECK(taken("draft_model") == 1);
  CHECK(taken("eagle3") == 0);
  CHECK(taken("ngram") == 0);
  CHECK(test::about([] {
          return resolved("llama-3.1-8b", R"({"max_num_batched_tokens": 256, "max_num_seqs": 256,
                                              "speculative_config": {"method": "draft_model"}})");
        }) == test::conflict_at("/engine/max_num_batched_tokens"));
}

TEST_CASE("SGLang leaves room for 20 tokens behind a retraction before 0.5") {
  const auto headroom = [](const std::string& version) {
    const Resolved r = resolved("llama-3.1-8b", R"({"name": "sglang", "mem_fraction_static": 0.8,
                                                    "version": ")" +
                                                    version + R"("})");
    return scheduler_options(r).own.get<SglangScheduling>().retraction_headroom;
  };
  CHECK(headroom("0.4") == kRetractDecodeSteps);
  CHECK(headroom("0.5") == 0);
}

TEST_CASE("SGLang counts as its release does") {
  const auto rules = [](const std::string& version) {
    const Resolved r = resolved("llama-3.1-8b", R"({"name": "sglang", "mem_fraction_static": 0.8,
                                                    "version": ")" +
                                                    version + R"("})");
    return scheduler_options(r).own.get<SglangScheduling>().rules;
  };
  // Rules that differ between two releases that follow each other.
  const auto changed = [&](const std::string& before, const std::string& since) {
    const SglangRules a = rules(before);
    const SglangRules b = rules(since);
    std::vector<std::string> names;
    for (const oracle::SglangRule& rule : oracle::kSglangRules) {
      if (a.*rule.field != b.*rule.field) names.emplace_back(rule.name);
    }
    return names;
  };
  using Names = std::vector<std::string>;
  CHECK(rules("0.5.13") == SglangRules{});
  CHECK(rules("0.5.21") == SglangRules{});
  CHECK(changed("0.5.21", "0.5.22") == Names{"skips_last_step"});
  CHECK(changed("0.5.22", "0.5.23") == Names{"counts_rows", "filters_always", "stops_when_spent"});
  CHECK(changed("0.5.12", "0.5.13") == Names{"limits_pieces"});
  CHECK(changed("0.5.11", "0.5.12") ==
        Names{"counts_rows", "clips_in_pages", "idle_without_queue"});
  CHECK(changed("0.5.10", "0.5.11") == Names{"tests_page"});
  CHECK(changed("0.5.9", "0.5.10") == Names{"adds_page"});
  CHECK(changed("0.5.4", "0.5.9").empty());
  CHECK(changed("0.5.3", "0.5.4") == Names{"expects_rest"});
  CHECK(changed("0.5.1", "0.5.2") == Names{"pieces_leave_output"});
  CHECK(changed("0.4.8", "0.5.1").empty());
  CHECK(changed("0.4.7", "0.4.8") == Names{"counts_pages"});
  CHECK(rules("0.5") == rules("0.5.23"));
}

TEST_CASE("switches of CUDA graphs say so where they leave step times alone") {
  const auto warns = [](const std::string& engine, const std::string& level) {
    return warns_of(resolved("llama-3.1-8b", engine, level), "affects only memory");
  };
  for (const char* engine :
       {R"({"enforce_eager": true})", R"({"name": "sglang", "disable_cuda_graph": true})",
        R"({"name": "sglang", "cuda_graph_max_bs": 32})"}) {
    CHECK(warns(engine, "calibrated"));
    CHECK_FALSE(warns(engine, "kernels"));
    CHECK_FALSE(warns(engine, "auto"));  // kernel times of this device, too
  }
  CHECK_FALSE(warns("{}", "calibrated"));
}

TEST_CASE("what flash attention takes off a step of llama.cpp is said to be left out") {
  const auto warns = [](const std::string& engine) {
    return warns_of(resolved("llama-3.1-8b", engine, "auto"), "without flash attention only");
  };
  CHECK(warns(R"({"name": "llamacpp", "flash_attn": "off"})"));
  CHECK(warns(R"({"name": "ollama", "flash_attention": false})"));
  CHECK_FALSE(warns(R"({"name": "llamacpp", "flash_attn": "on"})"));
  CHECK_FALSE(warns(R"({"name": "llamacpp"})"));
  CHECK_FALSE(warns(R"({"name": "ollama", "version": "0.5"})"));  // off by default
}

}  // namespace
}  // namespace headroom::engine_releases_test
