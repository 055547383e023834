#include "sim/serving/step_pricing.hpp"

#include <catch2/catch.hpp>

#include "sim/kernel/errors.hpp"

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

}  // namespace
}  // namespace headroom::step_pricing_test
