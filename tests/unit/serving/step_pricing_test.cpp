#include "sim/serving/step_pricing.hpp"

#include <catch2/catch.hpp>

#include "sim/kernel/check.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/kernel/random.hpp"

namespace headroom::step_pricing_test {
namespace {

// Every step costs the same, however often it is repeated.
class FixedCost final : public StepCost {
 public:
  explicit FixedCost(Ticks ticks) : ticks_(ticks) {}
  void price(const StepShape&, StepPrice& price) const override {
    price = {};
    price.base = price.base_terms[CostTerm::linear_memory] = ticks_;
  }

 private:
  Ticks ticks_;
};

StepPricing pricing(Ticks cold_step_ticks) {
  std::vector<std::unique_ptr<StepCost>> slow;
  slow.push_back(std::make_unique<FixedCost>(300));
  return {std::make_unique<FixedCost>(100), std::move(slow), cold_step_ticks};
}

TEST_CASE("a replica is priced by a slower cost model for a while", "[step_pricing]") {
  StepPricing steps = pricing(0);
  StepPrice price;
  steps.price({}, price);
  CHECK(price.base == 100);
  steps.use(0);
  steps.price({}, price);
  CHECK(price.base == 300);
  steps.use(-1);
  steps.price({}, price);
  CHECK(price.base == 100);
  CHECK(steps.priced_plans() == 3);
}

TEST_CASE("the first step after each start takes longer and is not repeated", "[step_pricing]") {
  StepPricing steps = pricing(7);
  StepPrice price;
  for (const bool is_cold : {true, false, true}) {
    if (is_cold) steps.start();
    steps.price({}, price);
    steps.add_cold_start(price);
    CHECK(price.base == (is_cold ? 107 : 100));
    CHECK(price.valid_steps == (is_cold ? 1 : kManySteps));
    CHECK(price.base_terms.sum() == price.base);
  }
}

TEST_CASE("a step that waits for copies is not repeated, nor does it wait for ever",
          "[step_pricing]") {
  StepPrice price;
  pricing(0).price({}, price);
  StepPricing::add_copies(price, 50);
  CHECK(price.base == 150);
  CHECK(price.base_terms[CostTerm::transfer] == 50);
  CHECK(price.valid_steps == 1);
  CHECK_THROWS_AS(StepPricing::add_copies(price, kMaxStepTicks), ConfigError);
}

// 10 ticks a row and one for each token of its context; 100 for a prompt token.
class RowCost final : public StepCost {
 public:
  void price(const StepShape& shape, StepPrice& price) const override {
    price = {};
    price.base = 10 * shape.decode_rows + shape.decode_context + 100 * shape.chunk_tokens;
    price.slope = shape.decode_rows;
    price.base_terms[CostTerm::linear_compute] = price.base;
    price.slope_terms.attention_decode = price.slope;
  }
};

StepShape rows_of(std::int64_t rows, TokenCount context) {
  return {.decode_rows = rows, .decode_context = context, .sampled_rows = rows};
}

StepPrice slowest_of(const std::vector<StepShape>& ranks) {
  StepPricing steps(std::make_unique<RowCost>(), {}, 0);
  StepPrice price;
  steps.price_slowest(ranks, price);
  CHECK(steps.priced_plans() == 1);
  CHECK(price.base_terms.sum() == price.base);
  CHECK(price.slope_terms.sum() == price.slope);
  return price;
}

TEST_CASE("data ranks take as long as the slowest, until another one overtakes it",
          "[step_pricing]") {
  // 1 row of 200 tokens: 210, 211, ...; 4 rows of 158 in all: 198, 202, 206, 210, 214: they tie in
  // step 4, from which on the second one is the slowest. Idle ranks do not count.
  const StepShape one = rows_of(1, 200);
  const StepShape four = rows_of(4, 158);
  for (const auto& ranks : {std::vector{one, {}, four}, std::vector{four, one, {}}}) {
    const StepPrice price = slowest_of(ranks);
    CHECK(price.base == 210);
    CHECK(price.slope == 1);
    CHECK(price.valid_steps == 4);
  }
  const StepPrice tie = slowest_of({rows_of(1, 204), rows_of(4, 174)});
  CHECK(tie.base == 214);
  CHECK(tie.slope == 4);
  CHECK(tie.valid_steps == kManySteps);
  CHECK_THROWS_AS(slowest_of({{}, {}}), InternalError);
}

// Cut anywhere, a run of steps costs the same: of many ranks the slowest changes several times.
TEST_CASE("prices of data ranks may be cut at any step", "[step_pricing]") {
  RandomStream random(5, "ranks");
  for (int i = 0; i < 500; ++i) {
    std::vector<StepShape> ranks;
    for (int rank = 0; rank < 5; ++rank) {
      const std::int64_t rows = random.uniform_int(0, 9);
      ranks.push_back(rows_of(rows, rows * random.uniform_int(1, 200)));
    }
    ranks.push_back(rows_of(1, 1));
    for (int cut = 0; cut < 20; ++cut) {
      const StepPrice price = slowest_of(ranks);
      const StepCount steps = std::min<StepCount>(price.valid_steps, 40);
      for (StepCount step = 0; step < steps; ++step) {
        const StepPrice again = slowest_of(ranks);
        REQUIRE(again.base == price.base + step * price.slope);
        REQUIRE(again.slope == price.slope);
        REQUIRE(again.base_terms[CostTerm::linear_compute] == again.base);
        for (StepShape& rank : ranks) rank.decode_context += rank.decode_rows;
      }
    }
  }
}

}  // namespace
}  // namespace headroom::step_pricing_test
