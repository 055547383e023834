#include "sim/kernel/named_value.hpp"

#include <catch2/catch.hpp>

namespace headroom::named_value_test {
namespace {

enum class Shape { round, square };

Shape shape_of(std::string_view name) {
  return value_named<Shape>(name, {{"round", Shape::round}, {"square", Shape::square}});
}

TEST_CASE("a name stands for the value of its row", "[kernel]") {
  CHECK(shape_of("round") == Shape::round);
  CHECK(shape_of("square") == Shape::square);
}

TEST_CASE("a name without a row is a bug and no default", "[kernel]") {
  CHECK_THROWS_AS(shape_of("oval"), InternalError);
  CHECK_THROWS_AS(shape_of(""), InternalError);
}

}  // namespace
}  // namespace headroom::named_value_test
