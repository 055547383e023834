#include "sim/options/origins.hpp"

#include <catch2/catch.hpp>
#include <string>

#include "tests/support/about.hpp"

namespace headroom::origins_test {
namespace {

Origins origins() {
  Origins given;
  given.file = "s.json";
  given.given["/engine/max_num_seqs"] = "--set engine.max_num_seqs=4";
  given.given["/workload/trace/file"] = "--trace t.csv";
  given.given["/workload/traces"] = "s.json";
  return given;
}

}  // namespace

TEST_CASE("a value is known by who gave it, a section by the first value in it") {
  CHECK(origins().origin("/engine/max_num_seqs") == "--set engine.max_num_seqs=4");
  CHECK(origins().origin("/engine/block_size") == "s.json");
  CHECK(origins().origin("/workload/trace") == "--trace t.csv");
  CHECK(origins().given_below("/workload/trace") == "/workload/trace/file");
  CHECK(origins().given_below("/work").empty());
}

TEST_CASE("a refusal says who gave the value, where it stands and why") {
  const Origins given = origins();
  const test::About refused =
      test::about([&]() -> int { given.refuse("/workload/trace", "no such thing"); });
  CHECK(refused == test::conflict_at("/workload/trace"));
  CHECK(refused.text == "--trace t.csv: /workload/trace: no such thing");
  const test::About value =
      test::about([&]() -> int { given.refuse_value("/engine/max_num_seqs", "4", "expected 5"); });
  CHECK(value == test::value_at("/engine/max_num_seqs"));
  CHECK(value.text == "--set engine.max_num_seqs=4: /engine/max_num_seqs: value 4: expected 5");
  const test::About unused =
      test::about([&]() -> int { given.refuse_unused("/workload/traces", ": why"); });
  CHECK(unused == test::no_effect_at("/workload/traces"));
  CHECK(unused.text == "s.json: /workload/traces: has no effect: why");
  const test::About missing =
      test::about([&]() -> int { given.refuse_missing("/model", "a model"); });
  CHECK(missing == test::missing_at("/model"));
  CHECK(missing.text == "s.json: /model: missing: expected a model");
}

}  // namespace headroom::origins_test
