#pragma once
// Orca (OSDI'22; docs/semantics.md 8, ENGINES.md 3.6): iteration-level scheduling, first come first
// served. A request reserves prompt + max_tokens when it is first scheduled, runs its whole prompt
// in that iteration beside the decodes of the others, and is never evicted.

#include <string>

#include <utility>

#include "scheduler/batching/batch_policy.hpp"
#include "scheduler/batching/request_list.hpp"
#include "sim/serving/batch_scheduler.hpp"
#include "sim/serving/options.hpp"

namespace headroom {

// What an admission sets aside for output (the paper's variants).
struct OrcaScheduling {
  std::string kv_reservation = "max_tokens";

  [[nodiscard]] OutputReservation reservation() const;
};

class OrcaScheduler final : public BatchScheduler {
 public:
  explicit OrcaScheduler(SchedulerOptions options) : options_(std::move(options)) {}

  void enqueue(RequestId id, const Request& request) override;
  void plan(const PlanContext& context, BatchPlan& plan) override;
  [[nodiscard]] bool on_leave(RequestId id) override;
  void on_engine_lost() override;

 private:
  SchedulerOptions options_;
  RequestList waiting_;
  std::int64_t running_ = 0;
};

[[nodiscard]] const BatchPolicy& orca_policy();

}  // namespace headroom
