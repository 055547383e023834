// emit_deployment: what is refused, and YAML that says what it should.

#include <catch2/catch.hpp>
#include <string>

#include "hardware/catalog.hpp"
#include "sim/deploy/emit.hpp"
#include "sim/deploy/yaml_text.hpp"
#include "sim/intake/serve_command.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/scenario/scenario_file.hpp"
#include "sim/scenario/yaml.hpp"

namespace headroom::emit_test {
namespace {

EmittedDeployment emit(const char* form, const char* scenario) {
  return emit_deployment(form, load_scenario(scenario, {}), Catalog::embedded(), {});
}

}  // namespace

TEST_CASE("a form that does not exist is refused with the nearest one") {
  CHECK_THROWS_WITH(emit("kubernets", "demo"), Catch::Contains("nearest: kubernetes"));
  CHECK_THROWS_WITH(emit("sglang-args", "demo"), Catch::Contains("use vllm-args"));
}

TEST_CASE("the checkpoint that the user named is deployed, not another one of its shape") {
  for (const char* name :
       {"Qwen/Qwen3-32B-AWQ", "RedHatAI/Meta-Llama-3.1-8B-Instruct-FP8",
        "meta-llama/Llama-3.1-8B-Instruct", "mistralai/Mistral-Small-3.2-24B-Instruct-2506"}) {
    Scenario scenario = load_scenario("demo", {});
    scenario.model = name;
    for (const char* form : {"vllm-args", "kubernetes", "compose"}) {
      const EmittedDeployment emitted = emit_deployment(form, scenario, Catalog::embedded(), {});
      std::vector<DeploymentText> files(emitted.files.begin(), emitted.files.end());
      CHECK(scenario_from_emitted(form, files).scenario["model"] == name);
    }
  }
  const Catalog catalog = Catalog::embedded();
  CHECK(launched_model("llama-3.1-8b", catalog) == "meta-llama/Llama-3.1-8B");
  CHECK(launched_model("Qwen3-32B-AWQ", catalog) == "Qwen3-32B-AWQ");
  CHECK(launched_model("llama-3.1-8b-instruct", catalog) == "meta-llama/Llama-3.1-8B-Instruct");
  Scenario tagged = load_scenario("demo", {});
  tagged.model = "llama3.1:8b";  // no repository
  const EmittedDeployment emitted = emit_deployment("compose", tagged, catalog, {});
  const std::vector<DeploymentText> files(emitted.files.begin(), emitted.files.end());
  const Json model = scenario_from_emitted("compose", files).scenario["model"];
  CHECK(model.get<std::string>().find("meta-llama/") == 0);
}

TEST_CASE("an engine without a server command is refused") {
  CHECK_THROWS_WITH(emit("kubernetes", "azure-code-orca"), Catch::Contains("orca"));
}

TEST_CASE("containers are written for devices of NVIDIA alone") {
  Scenario scenario = load_scenario("demo", {});
  scenario.device.name = "mi300x";
  const auto emit_on_amd = [&](const char* form) {
    return emit_deployment(form, scenario, Catalog::embedded(), {});
  };
  for (const char* form : {"kubernetes", "helm-values", "compose", "dynamo", "llm-d"}) {
    CHECK_THROWS_WITH(emit_on_amd(form), Catch::Contains("not for mi300x (amd)"));
  }
  CHECK(emit_on_amd("systemd").files.front().text.find("vllm serve") != std::string::npos);
}

TEST_CASE("a start-up probe waits for the simulated start") {
  // 15 s for the process and 16.06 GB of weights at 2 GB/s: 23.0 s; three times that, and 160.6 s
  // to download them at 0.1 GB/s, every 10 s.
  const std::string text = emit("kubernetes", "demo").files.front().text;
  const std::size_t at = text.find("startupProbe:");
  REQUIRE(at != std::string::npos);
  CHECK(text.find("failureThreshold: 23", at) < text.find("readinessProbe:", at));
}

TEST_CASE("texts that YAML would read as something else are in quotes") {
  const Json value = {{"on", "off"},
                      {"number", "8"},
                      {"flag", "--max-num-seqs"},
                      {"document", "---"},
                      {"negative", "-1"},
                      {"colon", "a: b"},
                      {"ends", "a:"},
                      {"comment", "a #b"},
                      {"quote", "it's \"so\""},
                      {"lines", "a\nb\n"},
                      {"empty", ""},
                      {"list", {1, 0.5, true, nullptr, "x"}},
                      {"none", Json::array()},
                      {"nothing", Json::object()},
                      {"json", R"({"a":"b"})"}};
  Json read = read_yaml(yaml_text(value), "text", YamlScalars::typed);
  CHECK(read["lines"] == "a\nb");  // what ends a block text is no part of it
  read["lines"] = value["lines"];
  CHECK(read == value);
}

}  // namespace headroom::emit_test
