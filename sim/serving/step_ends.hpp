#pragma once
// Steps of a replica end: the sink is told of runs of equal ones, tokens come out, and at some ends
// requests finish or leave the plans.

#include <cstdint>

#include "sim/kernel/likely.hpp"
#include "sim/serving/drafted_step.hpp"
#include "sim/serving/metrics_sink.hpp"
#include "sim/serving/replica_core.hpp"
#include "sim/serving/replica_exits.hpp"
#include "sim/serving/replica_features.hpp"
#include "sim/serving/replica_reports.hpp"
#include "sim/serving/step_pipeline.hpp"
#include "sim/serving/types.hpp"
#include "sim/serving/window_moves.hpp"

namespace headroom {

class StepEnds {
 public:
  StepEnds(ReplicaCore& core, ReplicaReports& reports, ReplicaExits& exits, DraftedStep& drafted,
           WindowMoves& windows);
  StepEnds(const StepEnds&) = delete;  // its reports point into it
  StepEnds& operator=(const StepEnds&) = delete;

  // Counts the repetitions that a single-stepping engine has planned at step ends up to
  // `completed`.
  void sync(StepIndex completed) {
    const StepIndex target = core_.time.planned_at_end_of(completed);
    if (target > core_.time.applied()) apply_repetitions(target);
  }
  void run_to(StepIndex step);
  // Ends what has ended by now, short of the next step at whose end something is to be done.
  // Whether any could have.
  bool run_short_of_stop(TimeNs now_ns);
  // The same of all that have ended before now: whoever comes now comes behind them.
  void run_before(TimeNs now_ns);

  // The step with the next stop has ended.
  void process_stops() {
    StopQueue& stops = core_.time.stops();
    if (stops.first_decode() <= core_.time.completed_decodes()) {
      process_due_stops();
    } else {
      stops.begin_at(core_.time.completed_decodes());
    }
    if (rarely(core_.sums.ghosts() > 0) && core_.sums.running() == 0) exits_.retire_ghosts();
  }

  // Rows that yielded nothing, because their requests had finished.
  [[nodiscard]] std::int64_t ghost_rows() const { return ghost_rows_; }

 private:
  using Features = ReplicaFeatures;
  // With any of these, gaps between tokens are not simply the step times.
  static constexpr unsigned kShapesGaps =
      Features::api_server | Features::drafts | Features::whole_answers | Features::micro_batches;

  void apply_repetitions(StepIndex target);
  void report_run(Segment& segment, StepCount steps);
  void shape_gaps(const Segment& segment, StepCount steps, TickSum end);
  void yield_first_tokens(const Segment& segment);
  void process_due_stops();

  ReplicaCore& core_;
  ReplicaReports& reports_;
  ReplicaExits& exits_;
  DraftedStep& drafted_;
  WindowMoves& windows_;
  StepRun run_;                  // the latest report; report_run() and shape_gaps()
  ReplicaState reported_;        // its state; report_run()
  std::int64_t ghost_rows_ = 0;  // report_run()
};

}  // namespace headroom
