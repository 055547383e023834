#include "sim/serving/stage_flow.hpp"

#include <catch2/catch.hpp>

namespace headroom::stage_flow_test {
namespace {

// 10 to prepare, four stages of 100, 30 of them for hand-overs.
StageTimes four_stages() { return {{100, 100, 100, 100}, 10, 30, 0}; }

StepPrice alone(const StageTimes& times, Ticks copies = 0) {
  StepPrice price;
  price.base_terms[CostTerm::step_overhead] = times.prepare;
  price.base_terms[CostTerm::communication] = times.hand_over_in_all;
  price.base_terms[CostTerm::transfer] = copies;
  for (const Ticks busy : times.busy) price.base_terms[CostTerm::linear_memory] += busy;
  price.base = price.base_terms.sum();
  return price;
}

// Steps planned one behind the other.
class Line {
 public:
  // Returns when it leaves the last stage.
  TickSum plan(const StageTimes& times, TickSum now, Ticks copies = 0) {
    price = alone(times, copies);
    const TickSum before = std::max(exit_, now);
    flow.enter(times, now, before, price);
    CHECK(price.base_terms.sum() == price.base);
    CHECK(price.slope == 0);
    exit_ = before + price.base;
    return exit_;
  }

  StageFlow flow;
  StepPrice price;

 private:
  TickSum exit_ = 0;
};

TEST_CASE("a micro-batch alone takes the way through all stages", "[stage_flow]") {
  Line line;
  CHECK(line.plan(four_stages(), 1000) == 1440);
  CHECK(line.price.base_terms[CostTerm::linear_memory] == 400);
  CHECK(line.price.base_terms[CostTerm::pipeline] == 0);
  CHECK(line.plan(four_stages(), 1440) == 1880);
  CHECK(line.plan(four_stages(), 3000) == 3440);
}

// The second one is ready for the first stage at 110 + 10 and has it until 220. The other stages
// have prepared it by then.
TEST_CASE("the next micro-batch enters a stage time later", "[stage_flow]") {
  Line line;
  CHECK(line.plan(four_stages(), 0) == 440);
  CHECK(line.plan(four_stages(), 0) == 550);
  CHECK(line.price.base == 110);
  CHECK(line.price.base_terms[CostTerm::linear_memory] == 400 * 110 / 440);
  CHECK(line.plan(four_stages(), 0) == 660);
  CHECK(line.plan(four_stages(), 440) == 880);  // the first stage has been free since 330
}

// 20 through the stages in 4 x 5: in the last one it waits for the long one to leave at 430.
TEST_CASE("no micro-batch overtakes another one, nor does a long one delay those before",
          "[stage_flow]") {
  const StageTimes brief{{5, 5, 5, 5}, 0, 0, 0};
  Line line;
  CHECK(line.plan(brief, 0) == 20);
  CHECK(line.plan({{100, 100, 100, 100}, 0, 0, 0}, 0) == 405);
  CHECK(line.plan(brief, 0) == 410);
}

TEST_CASE("the slowest stage sets the pace", "[stage_flow]") {
  const StageTimes times{{10, 70, 10, 10}, 0, 0, 0};
  Line line;
  CHECK(line.plan(times, 0) == 100);
  CHECK(line.plan(times, 0) == 170);
  CHECK(line.plan(times, 0) == 240);
}

TEST_CASE("copies delay the first stage, and the host plans one step after another",
          "[stage_flow]") {
  Line line;
  CHECK(line.plan(four_stages(), 0, 25) == 465);
  StageTimes by_host = four_stages();
  by_host.host = 300;
  Line other;
  CHECK(other.plan(by_host, 0) == 440);
  CHECK(other.plan(by_host, 0) == 740);
  CHECK(other.price.base == 300);
}

TEST_CASE("what was in the stages may be lost", "[stage_flow]") {
  Line line;
  CHECK(line.plan(four_stages(), 0) == 440);
  line.flow.clear();
  CHECK(line.plan(four_stages(), 441) == 881);
}

}  // namespace
}  // namespace headroom::stage_flow_test
