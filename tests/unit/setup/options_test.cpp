#include "sim/setup/options.hpp"

#include "hardware/llm/quantization_method.hpp"
#include "sim/setup/from/from.hpp"

#include <catch2/catch.hpp>

#include <fstream>
#include <set>
#include <sstream>
#include <string>

namespace headroom::options_test {

namespace {

Scenario parsed(const std::string& text) { return parse_scenario(parse_json(text, "s.json")); }

std::string error_of(const std::string& text) {
  try {
    static_cast<void>(parsed(text));
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("values are read into their fields, with who gave them") {
  const Scenario s = parsed(R"({"seed": 7, "engine": {"max_num_seqs": 64, "watermark": 0.01}})");
  CHECK(s.seed == 7);
  CHECK(s.engine.max_num_seqs == 64);
  CHECK(s.engine.watermark == 0.01);
  CHECK(s.given.at("/engine/max_num_seqs") == "s.json");
  CHECK_FALSE(s.is_given("/engine/block_size"));
}

TEST_CASE("an unknown key is an error with the nearest known one") {
  CHECK(error_of(R"({"engine": {"max_num_seq": 1}})") ==
        "s.json: /engine/max_num_seq: unknown key (nearest: max_num_seqs)");
  CHECK(error_of(R"({"modle": "x"})") == "s.json: /modle: unknown key (nearest: model)");
  CHECK(error_of(R"({"zzzzzzzz": 1})") == "s.json: /zzzzzzzz: unknown key");
  // A slash in a key is not a path into a section.
  CHECK(error_of(R"({"engine/name": "vllm"})").starts_with("s.json: /engine~1name: unknown key"));
}

TEST_CASE("the nearest key is one that the law of the section takes") {
  const auto prompt = [](const std::string& law) {
    return error_of(R"({"workload": {"prompt": )" + law + "}}");
  };
  // `values` is one letter off, but belongs to the empirical law.
  CHECK(prompt(R"({"law": "fixed", "value": 512})") ==
        "s.json: /workload/prompt/value: unknown key: law \"fixed\" takes tokens");
  CHECK(prompt(R"({"value": 512})").ends_with("unknown key: law \"fixed\" takes tokens"));
  CHECK(prompt(R"({"law": "empirical", "value": [512]})") ==
        "s.json: /workload/prompt/value: unknown key (nearest: values)");
  CHECK(prompt(R"({"law": "fixed", "token": 512})") ==
        "s.json: /workload/prompt/token: unknown key (nearest: tokens)");
  CHECK(prompt(R"({"law": 7, "zzzzzzzz": 512})") ==
        "s.json: /workload/prompt/law: value 7: expected one of fixed, uniform, normal, lognormal, "
        "gamma, "
        "exponential, geometric, zipf, empirical");
}

TEST_CASE("wrong types and ranges say what is allowed") {
  CHECK(error_of(R"({"engine": {"max_num_seqs": "x"}})") ==
        "s.json: /engine/max_num_seqs: value \"x\": expected integer >= 1 and <= 1000000");
  CHECK(error_of(R"({"engine": {"max_num_seqs": 0}})") ==
        "s.json: /engine/max_num_seqs: value 0: expected integer >= 1 and <= 1000000");
  CHECK(error_of(R"({"engine": {"max_num_seqs": 1.5}})") ==
        "s.json: /engine/max_num_seqs: value 1.5: expected integer >= 1 and <= 1000000");
  CHECK(error_of(R"({"workload": {"arrivals": {"request_rate": -1}}})") ==
        "s.json: /workload/arrivals/request_rate: value -1: expected number > 0 and <= 1000000000");
  CHECK(error_of(R"({"engine": 3})") == "s.json: /engine: value 3: expected an object");
  CHECK(error_of(R"({"engine": {"enable_prefix_caching": 1}})") ==
        "s.json: /engine/enable_prefix_caching: value 1: expected true or false");
  CHECK(error_of(R"({"seed": 99999999999999999999})") != "no error");
  CHECK(error_of("[]") == "s.json: /: value []: expected an object");
}

TEST_CASE("a number that people write as a float is still an integer") {
  CHECK(parsed(R"({"workload": {"num_requests": 1e6}})").workload.num_requests == 1'000'000);
}

TEST_CASE("a choice is an error with the nearest one") {
  CHECK(error_of(R"({"engine": {"name": "vlm"}})") ==
        "s.json: /engine/name: value \"vlm\": one of vllm, trtllm, sglang, tgi, hf, "
        "fastertransformer, llamacpp, ollama, sarathi, orca, static (nearest: vllm)");
}

TEST_CASE("an option without effect is an error") {
  CHECK(error_of(R"({"engine": {"name": "orca", "watermark": 0.1}})") ==
        "s.json: /engine/watermark: value 0.1: has no effect with /engine/scheduler = "
        "\"orca\"; only with vllm or vllm_v0 or sarathi");
}

TEST_CASE("the format of the KV cache is an option of the engines that take it") {
  const auto with_fp8 = [](const std::string& engine) {
    return error_of(R"({"engine": {"name": ")" + engine + R"(", "kv_cache_dtype": "fp8"}})");
  };
  for (const std::string engine : {"vllm", "trtllm", "sglang", "tgi", "hf", "orca", "static"}) {
    INFO(engine);
    CHECK(with_fp8(engine) == "no error");
  }
  // They have cache_type_k, cache_type_v and kv_cache_type.
  for (const std::string engine : {"llamacpp", "ollama"}) {
    CHECK(with_fp8(engine).starts_with(
        "s.json: /engine/kv_cache_dtype: value \"fp8\": has no effect with /engine/name = \"" +
        engine + "\"; only with vllm or trtllm or "));
  }
}

TEST_CASE("null leaves an optional to its rule") {
  CHECK_FALSE(parsed(R"({"engine": {"max_num_seqs": null}})").engine.max_num_seqs.has_value());
}

TEST_CASE("every row has its own place, a meaning, and a legal default") {
  std::set<std::string_view> places;
  for (const OptionRow& row : all_options()) {
    INFO(row.pointer);
    CHECK(places.insert(row.pointer).second);
    CHECK_FALSE(row.doc.empty());
    const Json value = value_of(row, Scenario{});
    if (value.is_null() || value == "" || value == Json::array()) continue;
    // Written down and read again, the default is accepted.
    Json document = Json::object();
    document[Json::json_pointer(std::string(row.pointer))] = value;
    const std::string message = error_of(document.dump());
    const bool accepted =
        message == "no error" || message.find("has no effect") != std::string::npos;
    CHECK(accepted);
  }
}

TEST_CASE("the published schema is the one of the option tables") {
  std::ifstream file(HEADROOM_SOURCE_DIR "/scenarios/scenario.schema.json");
  std::stringstream committed;
  committed << file.rdbuf();
  // Refresh with: headroom list schema > scenarios/scenario.schema.json
  CHECK(committed.str() == scenario_schema().dump(2) + "\n");
}

TEST_CASE("every option that a command line can set is in the table, for its engine") {
  for (const std::string engine : {"vllm", "trtllm", "sglang", "tgi", "llamacpp", "ollama"}) {
    for (const std::string& pointer : pointers_from_commands(engine)) {
      INFO(engine << " " << pointer);
      const auto& rows = all_options();
      const auto row = std::ranges::find(rows, pointer, &OptionRow::pointer);
      REQUIRE(row != rows.end());
      const std::string only(row->only_with);
      const bool fits = only.empty() || !only.starts_with("/engine/name=") ||
                        ("|" + only.substr(13) + "|").find("|" + engine + "|") != std::string::npos;
      CHECK(fits);
    }
  }
}

TEST_CASE("every quantization that an option names can be loaded") {
  const auto& rows = all_options();
  const auto row = std::ranges::find(rows, "/engine/quantization", &OptionRow::pointer);
  REQUIRE(row != rows.end());
  for (const std::string& name : choices_of(*row)) {
    INFO(name);
    CHECK((name == "auto" || is_checkpoint_method(name) || is_quantised(parse_dtype(name))));
  }
}

TEST_CASE("what a flag sets for a text stays as written, in lists and sections, too") {
  JsonDocument document = parse_json(
      R"({"workload": {"classes": [{}]}, "fleet": {"groups": [{}], "routes": [{}]}})", "s.json");
  for (const char* assignment :
       {"device=4090", "fleet.groups.0.engine.version=0.20", "workload.classes.0.name=1e3",
        "fleet.routes.0.name=007", "model=true", "engine.version=\"0.10\""}) {
    set_option(document, assignment);
  }
  CHECK(document.root.at("device") == "4090");
  CHECK(document.root.at("fleet").at("groups").at(0).at("engine").at("version") == "0.20");
  CHECK(document.root.at("workload").at("classes").at(0).at("name") == "1e3");
  CHECK(document.root.at("fleet").at("routes").at(0).at("name") == "007");
  CHECK(document.root.at("model") == "true");
  CHECK(document.root.at("engine").at("version") == "0.10");
  set_option(document, "seed=7");
  CHECK(document.root.at("seed") == 7);
  set_option(document, "engine.version=null");
  CHECK(document.root.at("engine").at("version").is_null());
}

TEST_CASE("a version set by a flag keeps its digits") {
  JsonDocument document = parse_json(R"({"model": "m", "device": "d"})", "s.json");
  set_option(document, "engine.version=0.20");
  CHECK(document.root.at("engine").at("version") == "0.20");
  CHECK(parse_scenario(document).engine.version == "0.20");
  // In a file it must be a text: a number would have lost the last digit.
  CHECK(error_of(R"({"engine": {"version": 0.20}})") ==
        "s.json: /engine/version: value 0.2: expected text");
}

}  // namespace headroom::options_test
