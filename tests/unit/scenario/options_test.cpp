#include "sim/scenario/options.hpp"

#include "hardware/llm/quantization_method.hpp"
#include "sim/intake/draft.hpp"
#include "sim/intake/from.hpp"
#include "sim/resolve/resolve.hpp"
#include "tests/support/about.hpp"

#include <catch2/catch.hpp>

#include <fstream>
#include <set>
#include <sstream>
#include <string>

namespace headroom::options_test {

namespace {

Scenario parsed(const std::string& text) { return parse_scenario(parse_json(text, "s.json")); }

test::About error_of(const std::string& text) {
  return test::about([&] { return parsed(text); });
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
  const test::About key = error_of(R"({"engine": {"max_num_seq": 1}})");
  CHECK(key == test::unknown_at("/engine/max_num_seq"));
  CHECK(key.complaint.nearest == "max_num_seqs");
  CHECK(error_of(R"({"modle": "x"})").complaint.nearest == "model");
  CHECK(error_of(R"({"zzzzzzzz": 1})") == test::unknown_at("/zzzzzzzz"));
  CHECK(error_of(R"({"zzzzzzzz": 1})").complaint.nearest.empty());
  // A slash in a key is not a path into a section.
  CHECK(error_of(R"({"engine/name": "vllm"})") == test::unknown_at("/engine~1name"));
}

TEST_CASE("the nearest key is one that the law of the section takes") {
  const auto prompt = [](const std::string& law) {
    return error_of(R"({"workload": {"prompt": )" + law + "}}");
  };
  // `values` is one letter off, but belongs to the empirical law.
  for (const char* law : {R"({"law": "fixed", "value": 512})", R"({"value": 512})"}) {
    CHECK(prompt(law) == test::unknown_at("/workload/prompt/value"));
    CHECK(prompt(law).complaint.nearest.empty());
    CHECK_THAT(prompt(law).complaint.problem, Catch::EndsWith("takes tokens"));
  }
  CHECK(prompt(R"({"law": "empirical", "value": [512]})").complaint.nearest == "values");
  CHECK(prompt(R"({"law": "fixed", "token": 512})").complaint.nearest == "tokens");
  CHECK(prompt(R"({"law": 7, "zzzzzzzz": 512})") == test::value_at("/workload/prompt/law"));
}

TEST_CASE("an error is one sentence: who gave the value, its place, what it is and what is wrong") {
  const auto said = [](const std::string& text) {
    return test::about([&] { return resolve(parsed(text), Catalog::embedded()); });
  };
  const auto of_engine = [&](const std::string& engine) {
    return said(R"({"model": "llama-3.1-8b", "device": "h100-sxm", "engine": )" + engine +
                R"(, "workload": {"trace": {"file": "t.csv"}}})");
  };
  CHECK(of_engine(R"({"max_num_seqs": "x"})").text ==
        "s.json: /engine/max_num_seqs: value \"x\": expected integer >= 1 and <= 1000000");
  CHECK(said(R"({"device": "h100-sxm", "workload": {"trace": {"file": "t.csv"}}})").text ==
        "s.json: /model: missing: expected a model from the catalog, or a config.json (--set "
        "model=NAME)");
  CHECK(said(R"({"workload": {"num_requests": 9, "arrivals": 5, "prompt": 8}})").text ==
        R"(s.json: missing: model, device, workload.output; for example {"model": "llama-3.1-8b", )"
        R"("device": "h100-sxm", "workload": {"output": 400}})");
  CHECK(of_engine(R"({"max_num_seq": 1})").text ==
        "s.json: /engine/max_num_seq: unknown key (nearest: max_num_seqs)");
  CHECK(of_engine(R"({"name": "vlm"})").text ==
        "s.json: /engine/name: value \"vlm\": one of vllm, trtllm, sglang, tgi, hf, "
        "fastertransformer, llamacpp, ollama, sarathi, orca, static (nearest: vllm)");
  CHECK(of_engine(R"({"name": "orca", "watermark": 0.1})").text ==
        "s.json: /engine/watermark: value 0.1: has no effect with /engine/scheduler = \"orca\"; "
        "only with vllm or vllm_v0 or sarathi");
  CHECK(of_engine(R"({"num_gpu_blocks_override": 9, "kv_cache_memory_bytes": 9})").text ==
        "s.json: /engine/num_gpu_blocks_override: the KV pool has one size: set this or "
        "kv_cache_memory_bytes, not both");
  CHECK(of_engine(R"({"enable_lora": true, "version": "0.7"})").text ==
        "s.json: /engine/enable_lora: modelled with scheduler vllm only (V1, from 0.8)");
  CHECK(said(R"({"model": "no/such.json", "device": "h100-sxm",
                 "workload": {"trace": {"file": "t.csv"}}})")
            .text ==
        "s.json: /model: no/such.json: no such file or folder (your own: --set model=PATH of a "
        "folder with its config.json, of a config.json or of a GGUF file)");
}

TEST_CASE("wrong types and ranges say what is allowed") {
  CHECK(error_of(R"({"engine": {"max_num_seqs": "x"}})") == test::value_at("/engine/max_num_seqs"));
  CHECK(error_of(R"({"engine": {"max_num_seqs": 0}})") == test::value_at("/engine/max_num_seqs"));
  CHECK(error_of(R"({"engine": {"max_num_seqs": 1.5}})") == test::value_at("/engine/max_num_seqs"));
  CHECK(error_of(R"({"workload": {"arrivals": {"request_rate": -1}}})") ==
        test::value_at("/workload/arrivals/request_rate"));
  CHECK(error_of(R"({"engine": 3})") == test::value_at("/engine"));
  CHECK(error_of(R"({"engine": {"enable_prefix_caching": 1}})") ==
        test::value_at("/engine/enable_prefix_caching"));
  CHECK(error_of(R"({"seed": 99999999999999999999})") == test::value_at("/seed"));
  CHECK(error_of("[]") == test::value_at("/"));
}

TEST_CASE("a number that people write as a float is still an integer") {
  CHECK(parsed(R"({"workload": {"num_requests": 1e6}})").workload.num_requests == 1'000'000);
}

TEST_CASE("a choice is an error with the nearest one") {
  const test::About choice = error_of(R"({"engine": {"name": "vlm"}})");
  CHECK(choice == test::unknown_at("/engine/name"));
  CHECK(choice.complaint.nearest == "vllm");
}

TEST_CASE("an option without effect is an error") {
  CHECK(error_of(R"({"engine": {"name": "orca", "watermark": 0.1}})") ==
        test::no_effect_at("/engine/watermark"));
}

TEST_CASE("the format of the KV cache is an option of the engines that take it") {
  const auto with_fp8 = [](const std::string& engine) {
    return error_of(R"({"engine": {"name": ")" + engine + R"(", "kv_cache_dtype": "fp8"}})");
  };
  for (const std::string engine : {"vllm", "trtllm", "sglang", "tgi", "hf", "orca", "static"}) {
    INFO(engine);
    CHECK(with_fp8(engine) == test::no_error());
  }
  // They have cache_type_k, cache_type_v and kv_cache_type.
  for (const std::string engine : {"llamacpp", "ollama"}) {
    CHECK(with_fp8(engine) == test::no_effect_at("/engine/kv_cache_dtype"));
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
    const test::About about = error_of(document.dump());
    CHECK((about == test::no_error() || about.kind == ErrorKind::no_effect));
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
  for (const Engine* launched : launched_engines()) {
    const std::string engine(launched->name);
    for (const std::string& pointer : pointers_from_commands(*launched)) {
      INFO(engine << " " << pointer);
      const OptionRow* row = find_option(pointer);
      REQUIRE(row != nullptr);
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

TEST_CASE("another engine goes without the release of the one before") {
  const auto version_after = [](std::initializer_list<const char*> assignments) {
    JsonDocument document = parse_json(
        R"({"engine": {"name": "vllm", "version": "0.19", "max_model_len": 4096}})", "s.json");
    for (const char* assignment : assignments) set_option(document, assignment);
    CHECK(document.root.at("engine").at("max_model_len") == 4096);
    return document.root.at("engine").value("version", "");
  };
  CHECK(version_after({"engine.name=sglang"}).empty());
  CHECK(version_after({"engine.name=vllm"}) == "0.19");
  CHECK(version_after({"engine.name=sglang", "engine.version=0.5.9"}) == "0.5.9");
  CHECK(version_after({"engine.version=0.5.9", "engine.name=sglang"}) == "0.5.9");
}

TEST_CASE("a version set by a flag keeps its digits") {
  JsonDocument document = parse_json(R"({"model": "m", "device": "d"})", "s.json");
  set_option(document, "engine.version=0.20");
  CHECK(document.root.at("engine").at("version") == "0.20");
  CHECK(parse_scenario(document).engine.version == "0.20");
  // In a file it must be a text: a number would have lost the last digit.
  CHECK(error_of(R"({"engine": {"version": 0.20}})") == test::value_at("/engine/version"));
}

}  // namespace headroom::options_test
