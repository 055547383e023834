#include "sim/kernel/errors.hpp"

#include <catch2/catch.hpp>

namespace headroom::errors_test {

TEST_CASE("a sentence has only the parts that are there") {
  CHECK(sentence({.problem = "too large"}) == "too large");
  CHECK(sentence({.origin = "s.json",
                  .pointer = "/engine/name",
                  .value = "\"vlm\"",
                  .problem = "one of vllm, tgi",
                  .nearest = "vllm",
                  .context = "in fleet group a"}) ==
        "s.json: /engine/name: value \"vlm\": one of vllm, tgi (nearest: vllm) (in fleet group a)");
}

TEST_CASE("an error gets its place from the part that knows it") {
  const ConfigError inner("data type 'x': one of a, b", ErrorKind::unknown);
  CHECK_FALSE(inner.has_place());
  const ConfigError placed = inner.at("s.json", "/engine/dtype");
  CHECK(placed.complaint().kind == ErrorKind::unknown);
  CHECK(placed.complaint().pointer == "/engine/dtype");
  CHECK(std::string(placed.what()) == "s.json: /engine/dtype: data type 'x': one of a, b");
}

TEST_CASE("an error with a place of its own becomes the problem of the value that led to it") {
  const ConfigError inner(Complaint{.kind = ErrorKind::missing,
                                    .origin = "config.json",
                                    .pointer = "/hidden_size",
                                    .problem = "missing"});
  const ConfigError outer = inner.at("s.json", "/model");
  CHECK(outer.complaint().kind == ErrorKind::missing);
  CHECK(outer.complaint().pointer == "/model");
  CHECK(outer.complaint().problem == "config.json: /hidden_size: missing");
}

TEST_CASE("contexts follow each other") {
  const ConfigError error = ConfigError("wrong").with_context("in group a").with_context("point 3");
  CHECK(std::string(error.what()) == "wrong (in group a) (point 3)");
}

}  // namespace headroom::errors_test
