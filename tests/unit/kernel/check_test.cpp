#include "sim/kernel/check.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <thread>
#include <type_traits>

#include "sim/kernel/errors.hpp"

namespace headroom::check_test {
namespace {

// Both programs catch the base: exit code 2.
static_assert(std::is_base_of_v<UserError, ConfigError> && std::is_base_of_v<UserError, DataError>);
static_assert(!std::is_base_of_v<UserError, InternalError>);

std::string message_of_failure() {
  try {
    HEADROOM_CHECK(2 + 2 == 5, "arithmetic is broken");
  } catch (const InternalError& error) {
    return error.what();
  }
  return "";
}

TEST_CASE("a check that holds does nothing and does not evaluate its detail", "[check]") {
  int evaluated = 0;
  const auto detail = [&evaluated] { return std::to_string(++evaluated); };
  HEADROOM_CHECK(true, detail());
  CHECK(evaluated == 0);
}

TEST_CASE("a failed check names condition, detail, place and how to reproduce it", "[check]") {
  run_position() = {.now_ns = 1234567, .event = 89, .seed = 4242};
  const std::string message = message_of_failure();
  run_position() = {};
  CHECK_THAT(message, Catch::Contains("2 + 2 == 5"));
  CHECK_THAT(message, Catch::Contains("arithmetic is broken"));
  CHECK_THAT(message, Catch::Contains("failed at tests/unit/kernel/check_test.cpp:"));
  CHECK_THAT(message, Catch::Contains("time 1234567 ns, event 89, seed 4242"));
}

TEST_CASE("each thread has a run position of its own", "[check]") {
  run_position().event = 7;
  std::uint64_t seen_by_other = 99;
  std::thread other([&seen_by_other] { seen_by_other = run_position().event; });
  other.join();
  run_position() = {};
  CHECK(seen_by_other == 0);
}

}  // namespace
}  // namespace headroom::check_test
