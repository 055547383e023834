// YAML as it is read: sim/scenario/yaml.hpp.

#include <catch2/catch.hpp>
#include <string>

#include "sim/kernel/errors.hpp"
#include "sim/scenario/yaml.hpp"

namespace headroom::yaml_test {
using Catch::Contains;

namespace {

Json yaml(const std::string& text) { return read_yaml(text, "f.yaml"); }

}  // namespace

TEST_CASE("mappings, sequences and scalars, which stay texts") {
  CHECK(yaml("a: 1\nb:\n  c: yes\n  d: 'it''s'\ne:\n") ==
        Json::parse(R"({"a": "1", "b": {"c": "yes", "d": "it's"}, "e": null})"));
  CHECK(yaml("- a\n- b: 1\n  c: 2\n-\n  - d\n- - e\n  - f\n") ==
        Json::parse(R"(["a", {"b": "1", "c": "2"}, ["d"], ["e", "f"]])"));
  // The items of a key may stand at the key's own indent.
  CHECK(yaml("a:\n- x\n- y\nb: z\n") == Json::parse(R"({"a": ["x", "y"], "b": "z"})"));
  CHECK(yaml("---\n# c\na: b # c\n") == Json::parse(R"({"a": "b"})"));
  CHECK(yaml("") == Json(nullptr));
}

TEST_CASE("typed scalars are what JSON reads them as, and quotes make texts") {
  const std::string text =
      "1: 8\na: -0.5\nb: true\nc: \"8\"\nd: 'true'\ne: yes\nf: 1e3\ng: 32k\nh: [1, x, false]\n"
      "i: ~\nj: 007\nk: .5\nl: '{}'\nm: 0x10\n";
  CHECK(read_yaml(text, "f.yaml", YamlScalars::typed) ==
        Json::parse(R"({"1": 8, "a": -0.5, "b": true, "c": "8", "d": "true", "e": "yes",
                        "f": 1000.0, "g": "32k", "h": [1, "x", false], "i": null, "j": "007",
                        "k": ".5", "l": "{}", "m": "0x10"})"));
}

TEST_CASE("a colon or a hash inside a word is text") {
  CHECK(yaml("a: http://x:80/#y\nb: \"# no: comment\"\nc: nginx:latest\n") ==
        Json::parse(R"({"a": "http://x:80/#y", "b": "# no: comment", "c": "nginx:latest"})"));
}

TEST_CASE("flow collections, nested and over several lines") {
  CHECK(yaml("a: [b, \"c, d\", {e: f, g: [h]}]\ni: {}\nj: []\n") ==
        Json::parse(R"({"a": ["b", "c, d", {"e": "f", "g": ["h"]}], "i": {}, "j": []})"));
  CHECK(yaml("a: [b, # first\n    c]\nd: e\n") == Json::parse(R"({"a": ["b", "c"], "d": "e"})"));
}

TEST_CASE("folded, literal and continued plain scalars") {
  CHECK(yaml("a: >\n  x\n  y # z\nb: |-\n  x\n    y\nc: x\n  y\n") ==
        Json::parse(R"({"a": "x y # z", "b": "x\n  y", "c": "x y"})"));
}

TEST_CASE("anchors, aliases and merges") {
  CHECK(yaml("x: &c {p: 1, q: 2}\ny:\n  <<: *c\n  p: 3\nz: *c\n") ==
        Json::parse(R"({"x": {"p": "1", "q": "2"}, "y": {"p": "3", "q": "2"},
                        "z": {"p": "1", "q": "2"}})"));
  // Of several mappings the first that has a key counts.
  CHECK(yaml("a: &a {p: 1}\nb: &b {p: 2, q: 3}\nc:\n  <<: [*a, *b]\n").at("c") ==
        Json::parse(R"({"p": "1", "q": "3"})"));
}

TEST_CASE("aliases of aliases do not fill the memory") {
  std::string text = "a0: &a0 [x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i) {
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int j = 0; j < 8; ++j) text += "*a" + std::to_string(i - 1) + (j < 7 ? ", " : "]\n");
  }
  CHECK_THROWS_WITH(yaml(text), Contains("more than 100000 values with all aliases"));
}

TEST_CASE("what is not read is refused with its line") {
  CHECK_THROWS_WITH(yaml("a: 1\nb: *x\n"), Contains("f.yaml:2: not YAML: the referenced anchor"));
  CHECK_THROWS_WITH(yaml("a: &x [*x]\n"), Contains("f.yaml:1: an alias (*) inside its own"));
  CHECK_THROWS_WITH(yaml("a: &x 1\nb:\n  <<: *x\n"), Contains("f.yaml:3: a merge (<<)"));
  CHECK_THROWS_WITH(yaml("a: !t 1\n"), Contains("f.yaml:1: tag '!t'"));
  CHECK_THROWS_WITH(yaml("? [a]\n: b\n"), Contains("f.yaml:1: a key that is not a string"));
  CHECK_THROWS_WITH(yaml("a: 1\na: 2\n"), "f.yaml:2: duplicate key 'a'");
  CHECK_THROWS_WITH(yaml("a:\n\tb: 1\n"), Contains("f.yaml:2:"));
  CHECK_THROWS_WITH(yaml("a: 1\n---\nb: 2\n"), Contains("f.yaml:2:"));
  CHECK_THROWS_WITH(yaml("a: [b\nc: d\n"),
                    Contains("f.yaml:2: not YAML: end of sequence flow not found"));
  CHECK_THROWS_WITH(yaml("a: 1\n   b: 2\n"), Contains("f.yaml:2:"));
}

TEST_CASE("no nesting is deep enough to end the program") {
  CHECK_THROWS_WITH(yaml("a: " + std::string(100000, '[') + std::string(100000, ']')),
                    Contains("nested too deep"));
  std::string dashes;
  for (int i = 0; i < 100000; ++i) dashes += "- ";
  CHECK_THROWS_WITH(yaml(dashes + "x"), Contains("nested too deep"));
}

}  // namespace headroom::yaml_test
