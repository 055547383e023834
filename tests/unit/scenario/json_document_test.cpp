#include "sim/scenario/json_document.hpp"

#include <catch2/catch.hpp>

#include <string>
#include <vector>

namespace headroom::json_document_test {

namespace {

std::string error_of(const std::string& text) {
  try {
    static_cast<void>(parse_json(text, "s.json"));
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

std::string set_error(const std::string& assignment) {
  JsonDocument document = parse_json(R"({"engine": {"name": "vllm"}})", "s.json");
  try {
    set_value(document, assignment);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("comments are allowed in scenario files") {
  const JsonDocument document = parse_json("// a\n{\"a\": /* b */ 1}", "s.json");
  CHECK(document.root["a"] == 1);
}

TEST_CASE("a duplicate key is an error that names its place") {
  CHECK(error_of(R"({"a": {"b": 1, "b": 2}})") ==
        "s.json: /a/b: duplicate key: each key may appear once");
  // In an array the element's number is part of the place.
  CHECK(error_of(R"({"a": [{"b": 1}, {"b": 1, "b": 2}]})") ==
        "s.json: /a/1/b: duplicate key: each key may appear once");
  CHECK(error_of(R"({"a": 1, "b": {"a": 2}})") == "no error");
}

TEST_CASE("a syntax error names line and column and is one line") {
  const std::string message = error_of("{\n  \"a\": 1,\n  ]\n}");
  CHECK(message.starts_with("s.json:3:3: not valid JSON: "));
  CHECK(message.find('\n') == std::string::npos);
  CHECK(error_of("").starts_with("s.json:1:1: not valid JSON: "));
  CHECK(error_of("{\"a\": NaN}").starts_with("s.json:1:7: not valid JSON: "));
  CHECK(error_of("{\"a\": 1e999}") != "no error");
}

TEST_CASE("nesting deeper than the limit is refused") {
  const std::string deep(kMaxJsonDepth + 1, '[');
  CHECK(error_of(deep) == "s.json: nested deeper than 64 levels");
}

TEST_CASE("a set value is JSON where it is JSON, else text") {
  JsonDocument document = parse_json(R"({"engine": {"name": "vllm"}})", "s.json");
  set_value(document, "engine.max_num_seqs=128");
  set_value(document, "engine.name=orca");
  set_value(document, "run.until_s=2.5");
  CHECK(document.root["engine"]["max_num_seqs"] == 128);
  CHECK(document.root["engine"]["name"] == "orca");
  CHECK(document.root["run"]["until_s"] == 2.5);
  CHECK(origin_of(document, "/engine/name") == "--set engine.name=orca");
  CHECK(origin_of(document, "/model") == "s.json");
}

TEST_CASE("a malformed set is refused") {
  CHECK(set_error("engine") == "--set engine: expected path=value, e.g. engine.max_num_seqs=128");
  CHECK(set_error("engine..x=1") == "--set engine..x=1: empty name in the path");
  JsonDocument document = parse_json(R"({"seed": 1})", "s.json");
  CHECK_THROWS_WITH(set_value(document, "seed.x=1"),
                    "--set seed.x=1: /seed is a value, not a section");
}

TEST_CASE("setting below a text keeps it as the section's name") {
  JsonDocument document = parse_json(R"({"device": "h100-sxm"})", "s.json");
  set_value(document, "device.memory_total_gib=79.1");
  CHECK(document.root["device"]["name"] == "h100-sxm");
  CHECK(document.root["device"]["memory_total_gib"] == 79.1);
}

TEST_CASE("files that cannot be read are refused by name") {
  const auto message = [](const std::string& path) {
    try {
      static_cast<void>(read_json_file(path));
    } catch (const ConfigError& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  CHECK(message("no-such.json") == "no-such.json: cannot read: No such file or directory");
  CHECK(message("/") == "/: cannot read: Is a directory");
}

TEST_CASE("a path is dotted or a JSON pointer, and both set the same place") {
  CHECK(path_keys("a.b", "x") == path_keys("/a/b", "x"));
  CHECK(path_keys("/a~1b/c~0d", "x") == std::vector<std::string>{"a/b", "c~d"});
  CHECK_THROWS_WITH(path_keys("/a//b", "x"), "x: empty name in the path");
  CHECK_THROWS_WITH(path_keys("", "x"), "x: empty name in the path");
  CHECK(pointer_of(path_keys("/a~1b/c", "x")) == "/a~1b/c");
}

TEST_CASE("an element of a list is set by its number") {
  JsonDocument document = parse_json(R"({"classes": [{"share": 1}, {"share": 2}]})", "s.json");
  set_value(document, "classes.1.share=5");
  CHECK(document.root["classes"][0]["share"] == 1);
  CHECK(document.root["classes"][1]["share"] == 5);
  CHECK_THROWS_WITH(
      set_value(document, "classes.2.share=5"),
      "--set classes.2.share=5: /classes is a list of 2: expected a number below that");
  CHECK_THROWS_WITH(set_value(document, "classes.x=5"),
                    "--set classes.x=5: /classes is a list of 2: expected a number below that");
}

}  // namespace headroom::json_document_test
