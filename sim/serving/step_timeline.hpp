#pragma once
// The position of a replica in time: which steps are decided, which have ended, and when it must be
// called next. Knows neither requests nor memory.
//
// Invariants:
// 1. completed() <= applied() <= planned(). Steps up to applied() are counted in the sums and the
// KV
//    pool. Those up to planned() are decided, but the last segment's repetitions are only counted
//    when time reaches the instant at which a single-stepping engine would plan them.
// 2. Steps in which the decoding sequences take part are decode steps and have numbers of their own
//    (`*_decodes()`): a sequence's tokens are counted in those.
// 3. clock() is the end of step completed(), or later while nothing is in flight.
// 4. The steps in `segments()` are completed() + 1 .. planned(), in order.
// 5. An engine with pipeline stages runs a micro-batch in each step, as many of them at once as it
//    has stages, and plans every step by itself. Each micro-batch has decode steps and stops of its
//    own: functions that name none are about the one that was chosen last.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/kernel/likely.hpp"
#include "sim/kernel/time.hpp"
#include "sim/serving/step_pipeline.hpp"
#include "sim/serving/stop_queue.hpp"
#include "sim/serving/types.hpp"

namespace headroom {

class StepTimeline {
 public:
  // `depth`: steps that are planned ahead, 1 or 2. `is_read_between_stops`: ended steps are also
  // read at instants other than those of next_stop_ns(). `micro_batches`: at once; more than one
  // only with depth 1.
  StepTimeline(std::int32_t depth, bool is_read_between_stops, std::int32_t micro_batches = 1);

  [[nodiscard]] TickSum clock() const { return clock_; }
  [[nodiscard]] StepIndex completed() const { return completed_; }
  [[nodiscard]] StepIndex applied() const { return applied_; }
  [[nodiscard]] StepIndex planned() const { return planned_; }
  [[nodiscard]] StepIndex completed_decodes() const { return completed_decodes_; }
  [[nodiscard]] StepIndex applied_decodes() const { return applied_decodes_; }
  [[nodiscard]] StepIndex planned_decodes() const { return planned_decodes_; }
  [[nodiscard]] std::int32_t depth() const { return depth_; }  // of a row

  // The micro-batch that is looked at, and how far another one is.
  [[nodiscard]] std::int32_t micro_batch() const { return micro_batch_; }
  [[nodiscard]] bool has_micro_batches() const { return !others_.empty(); }
  // Of those that are not in flight: the one whose step has ended last.
  [[nodiscard]] std::int32_t next_micro_batch() const {
    HEADROOM_CHECK(!free_.empty(), "all micro-batches are in flight");
    return free_.back();
  }
  void choose(std::int32_t micro_batch) {
    if (rarely(micro_batch != micro_batch_)) change_to(micro_batch);
  }
  [[nodiscard]] StepIndex completed_decodes(std::int32_t micro_batch) const {
    return mostly(micro_batch == micro_batch_) ? completed_decodes_ : other(micro_batch).completed;
  }
  [[nodiscard]] StepIndex applied_decodes(std::int32_t micro_batch) const {
    return mostly(micro_batch == micro_batch_) ? applied_decodes_ : other(micro_batch).applied;
  }
  [[nodiscard]] StepIndex planned_decodes(std::int32_t micro_batch) const {
    return mostly(micro_batch == micro_batch_) ? planned_decodes_ : other(micro_batch).planned;
  }
  // The last step in flight that yields tokens of that micro-batch; there is one.
  [[nodiscard]] StepIndex next_yield(std::int32_t micro_batch) const;
  // As of the stops: a request may change its micro-batch, so that its epoch is the same in all.
  void begin_epoch(RequestId id) {
    stops_.begin_epoch(id);
    if (rarely(!others_.empty())) begin_epoch_in_others(id);
  }
  void track(RequestId id) {
    stops_.track(id);
    for (MicroBatch& other : others_) other.stops.track(id);
  }

  [[nodiscard]] bool idle() const { return segments_.empty(); }  // nothing is in flight
  [[nodiscard]] const StepPipeline& segments() const { return segments_; }
  [[nodiscard]] StepPipeline& segments() { return segments_; }
  [[nodiscard]] const StopQueue& stops() const { return stops_; }
  [[nodiscard]] StopQueue& stops() { return stops_; }

  // When the replica wants to be called next; kNever: not for this.
  [[nodiscard]] TimeNs next_stop_ns() const { return next_stop_ns_; }
  [[nodiscard]] TimeNs next_plan_ns() const { return next_plan_ns_; }
  [[nodiscard]] StepIndex next_stop_step() const { return next_stop_step_; }
  // Plan again when this step has ended.
  [[nodiscard]] StepIndex plan_due() const { return plan_due_; }

  // --- steps are planned ------------------------------------------------------------------------

  // Before the first of a row of plans at `now_ns`.
  void begin_planning(TimeNs now_ns) {
    next_plan_ns_ = kNever;
    if (rarely(idle())) wait_until(now_ns);
  }
  // Whether one more step fits into the pipeline.
  [[nodiscard]] bool has_room() const { return planned_ - completed_ < ahead_; }
  // The segment to fill; it counts once `push` is called.
  [[nodiscard]] Segment& begin_segment(bool decodes) {
    Segment& segment = segments_.next();
    segment.first = planned_ + 1;
    segment.done = 0;
    segment.decodes = decodes;
    segment.micro_batch = micro_batch_;
    return segment;
  }
  // `segment` runs `steps` times; the first of these is applied.
  void push(Segment& segment, StepCount steps) {
    segment.steps = steps;
    applied_ = planned_ + 1;
    planned_ += steps;
    if (mostly(segment.decodes)) {
      applied_decodes_ = planned_decodes_ + 1;
      planned_decodes_ += steps;
    }
    segments_.push();
    if (rarely(!free_.empty())) free_.pop_back();
  }
  // Behind the last plan.
  void end_planning() { plan_due_ = std::max(planned_ - ahead_, completed_) + 1; }

  // Plans at `now_ns`, before anything else happens.
  void plan_at(TimeNs now_ns) { next_plan_ns_ = now_ns; }
  void plan_instead_of_stop(TimeNs now_ns) {
    next_plan_ns_ = now_ns;
    next_stop_ns_ = kNever;
  }

  // --- time passes ------------------------------------------------------------------------------

  // The last step that a single-stepping engine has planned at the end of step `completed`.
  [[nodiscard]] StepIndex planned_at_end_of(StepIndex completed) const {
    return std::min(completed + ahead_, planned_);
  }
  // Counts `steps` more repetitions of the last segment; they are decode steps.
  void apply(StepCount steps) {
    applied_ += steps;
    applied_decodes_ += steps;
  }
  // The next `steps` steps, all of the first segment, have ended, `duration` ticks later.
  void end_steps(Segment& segment, StepCount steps, TickSum duration) {
    if (mostly(segment.decodes)) completed_decodes_ += steps;
    clock_ += duration;
    completed_ += steps;
    segment.done += steps;
    if (rarely(!others_.empty())) free_.push_back(segment.micro_batch);
  }
  // Nothing happens until `now_ns`.
  void wait_until(TimeNs now_ns) { clock_ = std::max(clock_, ticks_from_ns(now_ns)); }

  // Nothing is in flight from `now_ns` on: what was planned is forgotten.
  void forget_all();
  void rest_until(TimeNs now_ns) {
    next_stop_ns_ = kNever;
    wait_until(now_ns);
  }

  // --- plans are cut short ----------------------------------------------------------------------

  // The repetitions of the last segment were planned on the assumption that nothing changes. Keeps
  // those that a single-stepping engine would have planned before `now_ns`, and plans again at the
  // first instant after.
  void cut_at(TimeNs now_ns);
  // The same for the first instant of whole steps at `time_ns` or later.
  void plan_again_by(TimeNs time_ns) {
    static_cast<void>(plan_again_after(first_end_from(ticks_from_ns(time_ns)).step));
  }

  // --- step ends --------------------------------------------------------------------------------

  // Finds the next step end at which a plan is due, a request stops, or, if requested, a first
  // token is produced.
  void schedule_next_stop(bool for_first_tokens) {
    if (idle()) {
      next_stop_ns_ = kNever;
    } else if (plan_due_ == completed_ + 1) {  // nothing can come before
      next_stop_step_ = plan_due_;
      next_stop_ns_ = floor_ns(clock_ + segments_.front().next_ticks());
    } else {
      schedule_later_stop(for_first_tokens);
    }
  }
  // How often a step could be planned now before a request finishes or leaves the plans.
  [[nodiscard]] StepCount steps_to_next_stop() {
    if (stops_.empty()) return kManySteps / 2;
    return stops_.first_decode() + depth_ - 1 - planned_decodes_;
  }
  // When the next step ends that has not been counted as ended; kNever: nothing is in flight.
  [[nodiscard]] TimeNs next_step_end_ns() const {
    return idle() ? kNever : floor_ns(clock_ + segments_[0].next_ticks());
  }
  // The last step whose end falls in a nanosecond <= now_ns.
  [[nodiscard]] StepIndex ended_by(TimeNs now_ns) const;
  // The last step that has ended before `now_ns`, short of the next stop.
  [[nodiscard]] StepIndex ended_before(TimeNs now_ns) const {
    const StepIndex next = first_end_from(ticks_from_ns(now_ns)).step;
    return std::min({next, next_stop_step_ - 1, ended_by(now_ns)});
  }
  // When the step that is planned next begins.
  [[nodiscard]] TickSum end_of_plans() const;

 private:
  // What each micro-batch has for itself.
  struct MicroBatch {
    StepIndex completed = 0;  // decode steps, as below
    StepIndex applied = 0;
    StepIndex planned = 0;
    StopQueue stops;
  };
  [[nodiscard]] const MicroBatch& other(std::int32_t micro_batch) const {
    return others_[static_cast<std::size_t>(micro_batch)];
  }
  void change_to(std::int32_t micro_batch);
  void free_micro_batches();
  void begin_epoch_in_others(RequestId id);
  void exchange(MicroBatch& with);

  struct StepEnd {
    StepIndex step = 0;
    TickSum instant = 0;
  };
  [[nodiscard]] StepEnd first_end_from(TickSum target) const;
  [[nodiscard]] bool plan_again_after(StepIndex step);
  void schedule_later_stop(bool for_first_tokens);
  [[nodiscard]] TickSum end_of_step(StepIndex step) const;
  [[nodiscard]] StepIndex step_of(const Stop& stop) const;
  [[nodiscard]] StepIndex next_first_token() const;

  TickSum clock_ = 0;
  StepIndex completed_ = 0;
  StepIndex applied_ = 0;
  StepIndex planned_ = 0;
  StepIndex completed_decodes_ = 0;
  StepIndex applied_decodes_ = 0;
  StepIndex planned_decodes_ = 0;
  StepIndex plan_due_ = 0;
  StepIndex next_stop_step_ = 0;  // as long as next_stop_ns_ is not kNever
  TimeNs next_stop_ns_ = kNever;
  TimeNs next_plan_ns_ = kNever;
  std::int32_t depth_;
  std::int32_t ahead_;  // steps in flight at most: depth_ of each micro-batch
  std::int32_t micro_batch_ = 0;
  bool read_between_stops_;
  StepPipeline segments_;
  StopQueue stops_;
  // By micro-batch, that of micro_batch_ left out; empty without pipeline stages.
  std::vector<MicroBatch> others_;
  std::vector<std::int32_t> free_;  // micro-batches that are not in flight
};

}  // namespace headroom
