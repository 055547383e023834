#pragma once
// What the steps of a replica cost: by its cost model or a slower one, and what delays a single
// step besides, copies and a cold start.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "sim/kernel/check.hpp"
#include "sim/kernel/likely.hpp"
#include "sim/kernel/time.hpp"
#include "sim/serving/stage_flow.hpp"
#include "sim/serving/step_cost.hpp"

namespace headroom {

class StepPricing {
 public:
  // `slow_costs`: of a replica that is slow for a while. `cold_step_ticks`: more time of the first
  // step after a start.
  StepPricing(std::unique_ptr<StepCost> cost, std::vector<std::unique_ptr<StepCost>> slow_costs,
              Ticks cold_step_ticks)
      : cost_(std::move(cost)),
        slow_costs_(std::move(slow_costs)),
        current_(cost_.get()),
        cold_step_ticks_(cold_step_ticks) {}

  // From now on slow_costs[number] decides; -1: `cost` again.
  void use(std::int32_t number) {
    current_ = number < 0 ? cost_.get() : slow_costs_[static_cast<std::size_t>(number)].get();
  }
  // The engine starts, or starts again.
  void start() {
    cold_ = true;
    stages_.clear();
  }

  void price(const StepShape& shape, StepPrice& price) {
    current_->price(shape, price);
    ++priced_plans_;
  }
  // Of data ranks of which at least one computes something: all wait for the slowest, for as long
  // as it is that.
  void price_slowest(std::span<const StepShape> ranks, StepPrice& price);
  // The step waits for copies.
  static void add_copies(StepPrice& price, TickSum ticks);
  // For every step, last: one that is the first since a start takes longer.
  void add_cold_start(StepPrice& price) {
    if (rarely(cold_) && cold_step_ticks_ > 0) add_once(price, CostTerm::host, cold_step_ticks_);
    cold_ = false;
  }

  // With pipeline stages, behind all of these: the step is planned at `now`, and the one before it
  // ends at `last_end`. Its price becomes the time between the two ends.
  void enter_stages(const StepShape& shape, TickSum now, TickSum last_end, StepPrice& price) {
    const bool has_stages = current_->split(shape, price, stage_times_);
    HEADROOM_CHECK(has_stages, "micro-batches priced without pipeline stages");
    stages_.enter(stage_times_, now, last_end, price);
  }

  [[nodiscard]] std::uint64_t priced_plans() const { return priced_plans_; }

 private:
  // To one step alone: its plan is not repeated.
  static void add_once(StepPrice& price, CostTerm term, Ticks ticks) {
    price.base += ticks;
    price.base_terms[term] += ticks;
    price.valid_steps = 1;
  }

  std::unique_ptr<StepCost> cost_;
  std::vector<std::unique_ptr<StepCost>> slow_costs_;
  const StepCost* current_;         // one of these; use() writes
  Ticks cold_step_ticks_;           // as constructed
  std::uint64_t priced_plans_ = 0;  // price() counts
  bool cold_ = true;                // no step since a start; start() and add_cold_start() write
  StageTimes stage_times_;          // of the step that enters
  StageFlow stages_;
};

}  // namespace headroom
