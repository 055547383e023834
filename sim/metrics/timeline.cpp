#include "sim/metrics/timeline.hpp"

#include <algorithm>

#include "sim/kernel/check.hpp"
#include "sim/kernel/likely.hpp"

namespace headroom {

Timeline::Timeline(const TimelineOptions& options)
    : interval_ns_(options.interval_ns), max_samples_(options.max_samples) {
  HEADROOM_CHECK(interval_ns_ >= 0 && max_samples_ >= 2, "options of a timeline out of range");
}

void Timeline::sample_run(Track& track, const RunView& view) {
  const TimeNs end_ns = floor_ns(view.end);
  while (rarely(track.next_ns < end_ns)) {
    const StepCount ended = steps_ended_by(view.run, track.next_ns);
    sample(track, view.run.replica, state_in_step(view, ended));
  }
}

void Timeline::add_run(const RunView& view) {
  if (rarely(interval_ns_ == 0)) return;
  Track& track = tracks_[view.run.replica];
  track.counted = track.changed;
  sample_run(track, view);
}

void Timeline::add_constant(std::uint16_t replica, const ReplicaState& state, TimeNs until_ns) {
  if (interval_ns_ == 0) return;
  Track& track = tracks_[replica];
  while (track.next_ns < until_ns) sample(track, replica, state);
}

// `next_ns` >= track.next_ns
void Timeline::go_to_sample(Track& track, TimeNs next_ns) {
  track.next_ns = next_ns;
  const std::size_t size = track.later.size();
  while (track.later_head < size && track.later[track.later_head].time_ns <= next_ns) {
    track.by_next += track.later[track.later_head++].requests;
  }
  if (track.later_head < size) return;
  track.later.clear();
  track.later_head = 0;
}

void Timeline::sample(Track& track, std::uint16_t replica, const ReplicaState& state) {
  track.rows.push_back({.time_ns = track.next_ns,
                        .replica = replica,
                        .running = state.running,
                        .waiting = state.waiting + track.by_next - track.counted,
                        .kv = split_of(state)});
  go_to_sample(track, track.next_ns + interval_ns_);
  if (++track.samples >= max_samples_) double_interval();
}

void Timeline::add_oom(std::uint16_t replica, TimeNs time_ns, const ReplicaState& state) {
  if (interval_ns_ == 0) return;
  tracks_[replica].rows.push_back({.time_ns = time_ns,
                                   .replica = replica,
                                   .oom = true,
                                   .running = state.running,
                                   .waiting = state.waiting,
                                   .kv = split_of(state)});
}

void Timeline::finish() {
  for (Track& track : tracks_.all()) {
    if (track.rows.size() == track.samples) continue;
    std::stable_sort(track.rows.begin(), track.rows.end(),
                     [](const TimelineRow& a, const TimelineRow& b) {
                       return a.time_ns != b.time_ns ? a.time_ns < b.time_ns : a.oom && !b.oom;
                     });
  }
}

// Keeps the samples at multiples of twice the interval. Depends on the number of samples alone, so
// a run leaves the same rows however it was cut.
void Timeline::double_interval() {
  HEADROOM_CHECK(interval_ns_ < kNever / 4, "a run too long for its timeline");
  interval_ns_ *= 2;
  for (Track& track : tracks_.all()) {
    const std::size_t dropped = std::erase_if(track.rows, [this](const TimelineRow& row) {
      return !row.oom && row.time_ns % interval_ns_ != 0;
    });
    track.samples -= dropped;
    go_to_sample(track, (track.next_ns + interval_ns_ - 1) / interval_ns_ * interval_ns_);
  }
}

std::span<const TimelineRow> Timeline::rows(std::uint16_t replica) const {
  if (replica >= tracks_.size()) return {};
  return tracks_[replica].rows;
}

std::vector<TimelineRow> Timeline::fleet_rows() const {
  std::vector<TimelineRow> sums;
  for (const Track& track : tracks_.all()) {
    std::size_t i = 0;  // samples are at k * interval, so those of all replicas match by number
    for (const TimelineRow& row : track.rows) {
      if (row.oom) continue;
      if (i == sums.size()) sums.emplace_back().time_ns = row.time_ns;
      TimelineRow& sum = sums[i++];
      sum.running += row.running;
      sum.waiting += row.waiting;
      sum.kv.capacity += row.kv.capacity;
      sum.kv.used += row.kv.used;
      sum.kv.reserved += row.kv.reserved;
      sum.kv.internal += row.kv.internal;
      sum.kv.external += row.kv.external;
      sum.kv.cached += row.kv.cached;
    }
  }
  return sums;
}

}  // namespace headroom
