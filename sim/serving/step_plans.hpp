#pragma once
// Plans of a replica: the scheduler is asked for the next one, which is validated, priced, applied
// to the requests and put into the pipeline as a step, with as many repetitions as cannot differ
// from it.

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "sim/serving/batch_scheduler.hpp"
#include "sim/serving/drafted_step.hpp"
#include "sim/serving/kv_transfers.hpp"
#include "sim/serving/replica_core.hpp"
#include "sim/serving/replica_exits.hpp"
#include "sim/serving/replica_features.hpp"
#include "sim/serving/replica_reports.hpp"
#include "sim/serving/run_time_memory.hpp"
#include "sim/serving/step_cost.hpp"
#include "sim/serving/step_pipeline.hpp"
#include "sim/serving/step_pricing.hpp"
#include "sim/serving/types.hpp"
#include "sim/serving/window_moves.hpp"

namespace headroom {

class StepPlans {
 public:
  // Other parts of the same replica.
  struct Parts {
    ReplicaCore& core;
    BatchScheduler& scheduler;
    ReplicaReports& reports;
    ReplicaExits& exits;
    DraftedStep& drafted;
    WindowMoves& windows;
    const RunTimeMemory& memory;
  };
  enum class Planned : std::uint8_t {
    step,         // a step was planned
    nothing,      // there is nothing to run
    engine_dies,  // over this plan; `shortage` says of what, if not of the scheduler's word
    batch_dies    // requests fail, and the engine goes on
  };

  StepPlans(const Parts& parts, StepPricing pricing, KvTransfers transfers);

  // One plan.
  [[nodiscard]] Planned plan(TimeNs now_ns);
  [[nodiscard]] const std::optional<MemoryShortage>& shortage() const { return shortage_; }

  // The latest plan, as it was applied.
  [[nodiscard]] const BatchPlan& latest() const { return plan_; }
  void forget_latest() { plan_.clear(); }
  // A request that comes now may enter the step after this one. Not behind cut(): until the next
  // plan there is nothing left to cut.
  [[nodiscard]] bool arrivals_can_join() const { return arrivals_can_join_; }
  void cut_at(TimeNs now_ns) {
    arrivals_can_join_ = false;
    core_.time.cut_at(now_ns);
  }
  // The engine starts, or starts again.
  void start() { pricing_.start(); }
  // It has died: copies that no request waits for any more.
  void forget_copies() { transfers_.forget(core_.kv); }
  // Plans from now on are priced by the slow cost of this number; -1: by the usual one.
  void use_cost(std::int32_t number) { pricing_.use(number); }

  [[nodiscard]] std::uint64_t priced_plans() const { return pricing_.priced_plans(); }
  // Nullptr: nothing of the KV ever leaves the device.
  [[nodiscard]] const KvTierCounts* tier_counts() const { return transfers_.counts(core_.kv); }

 private:
  using Features = ReplicaFeatures;

  void move_kv();
  [[nodiscard]] bool ask_scheduler(TimeNs now_ns);
  void begin_segment(Segment& segment, std::int64_t rows) const;
  void shape_rows(Segment& segment);
  void shape_ranks(bool decodes);
  void check_limits(const StepShape& shape, std::int64_t ranks) const;
  void apply_preemptions(TimeNs now_ns);
  void apply_rejections(TimeNs now_ns);
  void apply_chunks(TimeNs now_ns, Segment& segment);
  [[nodiscard]] TokenCount admit(const Chunk& chunk, TimeNs now_ns);
  void resume(const Chunk& chunk, Segment& segment);
  void start_sampling(RequestId id, StepIndex step, Segment& segment);
  [[nodiscard]] bool lacks_logprob_memory(TimeNs now_ns);
  void price(Segment& segment);
  [[nodiscard]] StepCount repetitions(const StepPrice& price) const;

  ReplicaCore& core_;
  BatchScheduler& scheduler_;
  ReplicaReports& reports_;
  ReplicaExits& exits_;
  DraftedStep& drafted_;
  WindowMoves& windows_;
  const RunTimeMemory& memory_;
  StepPricing pricing_;
  KvTransfers transfers_;
  BatchPlan plan_;                          // the scheduler, in ask_scheduler()
  std::vector<StepShape> rank_shapes_;      // shape_ranks(); of the latest plan, by data rank
  std::optional<MemoryShortage> shortage_;  // lacks_logprob_memory()
  std::uint64_t admissions_ = 0;            // admit()
  bool arrivals_can_join_ = true;           // ask_scheduler(); false: cut_at()
};

}  // namespace headroom
