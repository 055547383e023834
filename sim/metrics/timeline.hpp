#pragma once
// The state of every replica at k * interval (k = 0, 1, ...) and at every run-time OOM. A sample
// at t shows the state after all events <= t; during a step, the state that the plan at its begin
// made.
//
// Waiting requests: a run is reported when it has ended, with `state.waiting` of that moment, so
// what came to the queue or left it after t is taken off; an idle state is reported when it begins,
// so what came or left since is added.

#include <cstddef>
#include <span>
#include <vector>

#include "sim/kernel/likely.hpp"
#include "sim/metrics/kv_meter.hpp"
#include "sim/metrics/per_replica.hpp"

namespace headroom {

struct TimelineOptions {
  TimeNs interval_ns = kNsPerSecond;  // 0: no timeline
  std::size_t max_samples = 200'000;  // per replica; when reached, the interval doubles; >= 2
};

struct TimelineRow {
  TimeNs time_ns = 0;
  std::uint16_t replica = 0;
  bool oom = false;  // written because of an OOM event, not of the interval
  std::int64_t running = 0;
  std::int64_t waiting = 0;
  KvSplit kv = {};
};

class Timeline {
 public:
  explicit Timeline(const TimelineOptions& options);

  // Calls per replica come in order of time, and cover it without gaps from nanosecond 0 on.
  void add_run(const RunView& view);
  // The same of a run of one step, which ends in nanosecond `end_ns`.
  void add_step(const StepRun& run, TimeNs end_ns) {
    if (rarely(interval_ns_ == 0)) return;
    Track& track = tracks_[run.replica];
    track.counted = track.changed;
    if (rarely(track.next_ns < end_ns)) sample_run(track, view_of(run));
  }
  // `state` from the end of what was reported before to nanosecond `until_ns`, exclusive; its
  // `waiting` counts the changes before the last `count_queue` or, if later, the last run's report.
  void add_constant(std::uint16_t replica, const ReplicaState& state, TimeNs until_ns);
  // So many requests came to the queue (or left it, without being admitted, if negative).
  void change_queue(std::uint16_t replica, TimeNs time_ns, std::int64_t requests) {
    if (rarely(interval_ns_ == 0)) return;
    Track& track = tracks_[replica];
    track.changed += requests;
    if (mostly(time_ns <= track.next_ns)) {
      track.by_next += requests;
    } else {
      track.later.push_back({time_ns, requests});
    }
  }
  // The replica is idle: the state from here on counts all changes so far, and no later one.
  void count_queue(std::uint16_t replica) {
    Track& track = tracks_[replica];
    track.counted = track.changed;
  }
  void add_oom(std::uint16_t replica, TimeNs time_ns, const ReplicaState& state);
  // Once, after all calls: brings the OOM rows to their places.
  void finish();

  [[nodiscard]] TimeNs interval_ns() const { return interval_ns_; }  // after doublings
  // After finish(): in order of time; at one time the OOM rows first.
  [[nodiscard]] std::span<const TimelineRow> rows(std::uint16_t replica) const;
  [[nodiscard]] std::size_t replicas() const { return tracks_.size(); }
  // The samples of all replicas added up by time, without the OOM rows.
  [[nodiscard]] std::vector<TimelineRow> fleet_rows() const;

 private:
  struct QueueChange {
    TimeNs time_ns = 0;
    std::int64_t requests = 0;
  };
  struct Track {
    TimeNs next_ns = 0;  // next sample
    // Changes of the queue, added up: all; those up to the next sample; those that `waiting` of the
    // latest state counts.
    std::int64_t changed = 0;
    std::int64_t by_next = 0;
    std::int64_t counted = 0;
    std::vector<QueueChange> later;  // than the next sample, in order, from `later_head` on
    std::size_t later_head = 0;
    std::vector<TimelineRow> rows;
    std::size_t samples = 0;  // rows that are no OOM rows
  };
  void sample_run(Track& track, const RunView& view);
  // Takes the sample at track.next_ns.
  void sample(Track& track, std::uint16_t replica, const ReplicaState& state);
  static void go_to_sample(Track& track, TimeNs next_ns);
  void double_interval();

  TimeNs interval_ns_;
  std::size_t max_samples_;
  PerReplica<Track> tracks_;
};

}  // namespace headroom
