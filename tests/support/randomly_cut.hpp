#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

#include "sim/serving/batch_scheduler.hpp"

namespace headroom::test {

// Shortens the scheduler's steady runs at random, to prove that a cut changes nothing.
class RandomlyCut final : public BatchScheduler {
 public:
  RandomlyCut(std::unique_ptr<BatchScheduler> inner, std::uint64_t seed)
      : inner_(std::move(inner)), state_(seed) {}
  void enqueue(RequestId id, const Request& request) override { inner_->enqueue(id, request); }
  void enqueue_arrived(RequestId id, const Request& request) override {
    inner_->enqueue_arrived(id, request);
  }
  [[nodiscard]] std::uint16_t choose_rank(TimeNs now_ns) override {
    return inner_->choose_rank(now_ns);
  }
  void plan(const PlanContext& context, BatchPlan& plan) override {
    inner_->plan(context, plan);
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    plan.steady_steps =
        std::min<StepCount>(plan.steady_steps, 1 + static_cast<StepCount>(state_ >> 61U));
  }
  [[nodiscard]] bool on_leave(RequestId id) override { return inner_->on_leave(id); }
  void on_engine_lost() override { inner_->on_engine_lost(); }

 private:
  std::unique_ptr<BatchScheduler> inner_;
  std::uint64_t state_;
};

}  // namespace headroom::test
