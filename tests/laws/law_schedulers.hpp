#pragma once
// Schedulers for the laws: other orders of one slot, and one that loses wake-ups, which is wrong.

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/serving/batch_scheduler.hpp"
#include "tests/laws/law_support.hpp"

namespace headroom::laws {

enum class Order : std::uint8_t { first_come, last_come, shortest_first, longest_first };

// One request at a time, its whole prompt in one step, never interrupted; equals in order of
// arrival. For requests of one output token.
class OneSlot final : public BatchScheduler {
 public:
  explicit OneSlot(Order order) : order_(order) {}
  void enqueue(RequestId id, const Request& request) override;
  void plan(const PlanContext& context, BatchPlan& plan) override;
  [[nodiscard]] bool on_leave(RequestId) override;
  void on_engine_lost() override {}

 private:
  struct Waiting {
    std::int64_t key = 0;  // the smallest goes first
    std::uint64_t index = 0;
    RequestId id = kNoRequest;
  };
  static bool later(const Waiting& a, const Waiting& b);

  Order order_;
  std::vector<Waiting> waiting_;  // a heap
  bool busy_ = false;
};
[[nodiscard]] SchedulerMaker one_slot(Order order);

// vllm, but every tenth time that requests wait and nothing runs, it makes no plan: they stay
// unseen until somebody else arrives.
[[nodiscard]] SchedulerMaker losing_wake_ups();

}  // namespace headroom::laws
