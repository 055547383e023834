#include "workloads/max_tokens.hpp"

#include <catch2/catch.hpp>

#include "sim/kernel/errors.hpp"

namespace headroom::max_tokens_test {
namespace {

Arrival applied(MaxTokens& rule, std::int32_t output_tokens, std::int32_t class_id = 0) {
  Arrival arrival{.time_ns = 0,
                  .prompt_tokens = 10,
                  .output_tokens = output_tokens,
                  .max_tokens = 0,
                  .class_id = class_id};
  rule.apply(arrival);
  return arrival;
}

std::int32_t times_output(double k, std::int32_t output_tokens) {
  MaxTokens rule({.rule = MaxTokensRule::times_output, .times_output = k});
  const Arrival arrival = applied(rule, output_tokens);
  CHECK(arrival.output_tokens == output_tokens);
  return arrival.max_tokens;
}

}  // namespace

TEST_CASE("by default max_tokens is not declared", "[workloads]") {
  MaxTokens rule({});
  const Arrival arrival = applied(rule, 500);
  CHECK(arrival.max_tokens == 0);
  CHECK(arrival.output_tokens == 500);
}

TEST_CASE("a declared value cuts longer outputs, which are counted", "[workloads]") {
  MaxTokens rule({.rule = MaxTokensRule::value, .value = 100});
  CHECK(applied(rule, 99).output_tokens == 99);
  CHECK(applied(rule, 100).output_tokens == 100);
  CHECK(rule.outputs_cut() == 0);
  const Arrival cut = applied(rule, 101);
  CHECK(cut.output_tokens == 100);
  CHECK(cut.max_tokens == 100);
  CHECK(rule.outputs_cut() == 1);
}

TEST_CASE("times_output is the exact decimal product, rounded up", "[workloads]") {
  CHECK(times_output(1.0, 7) == 7);
  CHECK(times_output(1.5, 7) == 11);   // 10.5
  CHECK(times_output(1.1, 70) == 77);  // in doubles the product is above 77
  CHECK(times_output(1.000001, 1) == 2);
  CHECK(times_output(1e6, 1'000'000) == INT32_MAX);
}

TEST_CASE("per_class declares by class, 0 is not declared", "[workloads]") {
  MaxTokens rule({.rule = MaxTokensRule::per_class, .per_class = {64, 0}});
  CHECK(applied(rule, 100, 0).output_tokens == 64);
  CHECK(applied(rule, 100, 1).max_tokens == 0);
  CHECK_THROWS_MATCHES(rule.check_class(2), ConfigError,
                       Catch::Message("max_tokens: per_class has no value for class 2; it has 2"));
}

TEST_CASE("a value that the row declares is replaced unless it is to be kept", "[workloads]") {
  const auto declared = [](const MaxTokensOptions& options, std::int32_t by_row) {
    MaxTokens rule(options);
    Arrival arrival{.prompt_tokens = 10, .output_tokens = 500, .max_tokens = by_row};
    rule.apply(arrival);
    CHECK(rule.outputs_cut() == (arrival.max_tokens != 0 ? 1 : 0));
    CHECK(arrival.output_tokens == (arrival.max_tokens != 0 ? arrival.max_tokens : 500));
    return arrival.max_tokens;
  };
  MaxTokensOptions value{.rule = MaxTokensRule::value, .value = 100};
  CHECK(declared({}, 70) == 70);
  CHECK(declared(value, 70) == 100);
  value.keep_declared = true;
  CHECK(declared(value, 70) == 70);
  CHECK(declared(value, 0) == 100);
  MaxTokensOptions none{.rule = MaxTokensRule::per_class, .per_class = {0}};
  CHECK(declared(none, 70) == 0);
}

TEST_CASE("max_tokens options out of range are refused", "[workloads]") {
  const auto refuses = [](const MaxTokensOptions& options, const char* message) {
    CHECK_THROWS_MATCHES(MaxTokens(options), ConfigError, Catch::Message(message));
  };
  refuses({.rule = MaxTokensRule::value, .value = 0},
          "max_tokens: value is 0; allowed: 1 .. 2147483647 tokens");
  refuses({.rule = MaxTokensRule::times_output, .times_output = 0.99},
          "max_tokens: times_output is 0.99; allowed: 1 .. 1000000");
  refuses({.rule = MaxTokensRule::per_class}, "max_tokens: per_class has no values");
  refuses({.rule = MaxTokensRule::per_class, .per_class = {5, -1}},
          "max_tokens: a value of per_class is -1; allowed: 0 .. 2147483647 tokens");
}

}  // namespace headroom::max_tokens_test
