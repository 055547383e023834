// What is emitted and read back is the same system: every option of the model, the device, the
// engine and the fleet is equal, or named as one that the form does not say.

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "hardware/catalog.hpp"
#include "sim/deploy/emit.hpp"
#include "sim/engines/engines.hpp"
#include "sim/engines/launch.hpp"
#include "sim/scenario/options.hpp"
#include "sim/scenario/scenario_file.hpp"

namespace headroom::deployment_law_test {
namespace {

const Catalog& catalog() {
  static const Catalog kCatalog = Catalog::embedded();
  return kCatalog;
}

bool has_server_command(const std::string& engine) {
  const Engine* found = find_engine(engine);
  return found != nullptr && found->launch != nullptr && !found->launch->command.empty();
}

std::vector<Scenario> shipped_scenarios() {
  std::vector<Scenario> all;
  for (const EmbeddedFile& file : scenario_files()) {
    std::string name(file.name);
    name = name.substr(0, name.rfind(".json"));
    Scenario scenario = load_scenario(name, {});
    if (has_server_command(scenario.engine.name)) all.push_back(std::move(scenario));
  }
  return all;
}

// Beginnings of what a form may leave out, and nothing else. What clients and clusters decide:
const std::vector<std::string> kNeverSaid{"fleet.router.",
                                          "fleet.faults",
                                          "fleet.routes",
                                          "fleet.admission.",
                                          "fleet.disaggregation.",
                                          "fleet.restarts",
                                          "fleet.cost_per_hour",
                                          "fleet.zones",
                                          "fleet.groups.cost_per_hour",
                                          "fleet.groups.weight",
                                          "fleet.groups.zones",
                                          "fleet.autoscaling.provisioning_s",
                                          "fleet.autoscaling.nodes_ready",
                                          "fleet.autoscaling.pay_idle_nodes",
                                          "fleet.autoscaling.start_s",
                                          "device.memory_total_gib"};
// and what one form has no place for.
const std::map<std::string, std::vector<std::string>> kNotOfForm{
    {"kubernetes", {"fleet.groups.role"}},
    {"helm-values", {"fleet.groups.role"}},
    {"compose", {"fleet.groups.role", "fleet.autoscaling"}},
    {"systemd", {"fleet.groups.role", "fleet.autoscaling", "engine.version"}},
    // Its image has an engine of its own. A connector turns vLLM's hybrid manager off before 0.22.
    {"dynamo", {"fleet.autoscaling", "engine.version", "engine.disable_hybrid_kv_cache_manager"}},
    {"llm-d", {"fleet.autoscaling", "fleet.groups.name", "engine.disable_hybrid_kv_cache_manager"}},
    {"args", {"fleet.", "engine.version", "device"}}};

bool may_lack(const std::string& form, const std::string& option) {
  const auto begins = [&option](const std::string& part) { return option.starts_with(part); };
  const std::string kind = form.ends_with("-args") ? "args" : form;
  return std::ranges::any_of(kNeverSaid, begins) ||
         std::ranges::any_of(kNotOfForm.at(kind), begins);
}

// Forms that hold this scenario at all.
std::vector<std::string> forms_for(const Scenario& scenario) {
  std::vector<std::string> forms;
  for (const std::string& form : deployment_forms()) {
    if (form.ends_with("-args") && form != scenario.engine.name + "-args") continue;
    forms.push_back(form);
  }
  return forms;
}

void check_round_trip(const Scenario& scenario, const std::string& form) {
  const EmittedDeployment emitted = emit_deployment(form, scenario, catalog(), {"a line"});
  CAPTURE(form, scenario.name, emitted.files.front().text);
  const FromResult read = scenario_from_emitted(form, emitted.files);
  CHECK(read.unknown_flags == std::vector<std::string>{});
  for (const std::string& option : differing_options(scenario, read.scenario, catalog())) {
    INFO(option);
    CHECK(std::ranges::count(emitted.not_said, option) == 1);
  }
  for (const std::string& option : emitted.not_said) {
    INFO(option);
    CHECK(may_lack(form, option));
  }
}

Scenario scenario_of(const std::string& engine) {
  const std::string text = fmt::format(
      R"({{"name": "one", "model": "llama-3.1-8b", "device": "h100-sxm", "engine": {}}})", engine);
  return parse_scenario(parse_json(text, "one.json"));
}

}  // namespace

TEST_CASE("every shipped scenario reads back from every form as the same system") {
  const std::vector<Scenario> scenarios = shipped_scenarios();
  REQUIRE(scenarios.size() > 20);
  for (const Scenario& scenario : scenarios) {
    for (const std::string& form : forms_for(scenario)) check_round_trip(scenario, form);
  }
}

TEST_CASE("flags, variables, settings files and switches of every engine read back") {
  for (const char* engine :
       {R"({"name": "vllm", "version": "0.19", "tensor_parallel_size": 2, "max_num_seqs": 96,
            "enable_prefix_caching": false, "kv_cache_dtype": "fp8", "enforce_eager": true,
            "gpu_memory_utilization": 0.85, "estimate_cuda_graphs": true,
            "speculative_config": {"method": "ngram", "num_speculative_tokens": 3}})",
        R"({"name": "sglang", "tensor_parallel_size": 2, "data_parallel_size": 2,
            "chunked_prefill_size": 4096, "max_running_requests": 64, "disable_radix_cache": true,
            "mem_fraction_static": 0.8})",
        R"({"name": "trtllm", "tensor_parallel_size": 2, "max_batch_size": 64,
            "free_gpu_memory_fraction": 0.8, "tokens_per_block": 64, "enable_block_reuse": false,
            "capacity_scheduler_policy": "MAX_UTILIZATION", "kv_cache_dtype": "fp8"})",
        R"({"name": "tgi", "tensor_parallel_size": 2, "max_batch_total_tokens": 80000,
            "enable_prefix_caching": false, "cuda_memory_fraction": 0.9})"}) {
    const Scenario scenario = scenario_of(engine);
    const std::string args = scenario.engine.name + "-args";
    for (const std::string& form : {std::string("kubernetes"), std::string("compose"), args}) {
      check_round_trip(scenario, form);
    }
  }
}

TEST_CASE("a file that says something else reads back as something else") {
  const Scenario scenario = scenario_of(R"({"name": "vllm", "max_num_seqs": 96})");
  EmittedDeployment emitted = emit_deployment("kubernetes", scenario, catalog(), {});
  std::string& text = emitted.files.front().text;
  const std::size_t at = text.find("\"96\"");
  REQUIRE(at != std::string::npos);
  text.replace(at, 4, "\"95\"");
  const Json read = scenario_from_emitted("kubernetes", emitted.files).scenario;
  CHECK(differing_options(scenario, read, catalog()) ==
        std::vector<std::string>{"engine.max_num_seqs"});
}

TEST_CASE("the threshold that was simulated is the one that scales") {
  const Scenario scenario = load_scenario("fleet-autoscaling", {});
  const EmittedDeployment emitted = emit_deployment("kubernetes", scenario, catalog(), {});
  const std::string& text = emitted.files.front().text;
  CHECK(text.find("kind: ScaledObject") != std::string::npos);
  CHECK(text.find("threshold: \"24\"") != std::string::npos);
  CHECK(text.find("minReplicaCount: 2") != std::string::npos);
  CHECK(text.find("maxReplicaCount: 12") != std::string::npos);
  const Json read = scenario_from_emitted("kubernetes", emitted.files).scenario;
  CHECK(read["fleet"]["autoscaling"][0]["metric"] == "in_flight");
  CHECK(read["fleet"]["autoscaling"][0]["target"] == 24);
}

}  // namespace headroom::deployment_law_test
