#include "sim/metrics/recorder.hpp"

#include <fmt/format.h>

#include <utility>

#include "sim/kernel/check.hpp"
#include "sim/kernel/likely.hpp"

namespace headroom {

namespace {
constexpr std::size_t kEventsBesideStream = 100'000;
}  // namespace

Recorder::Recorder(RecorderOptions options)
    : requests_(options.stream ? 0 : options.expected_requests),
      stream_(std::move(options.stream)),
      timeline_(options.timeline),
      events_(stream_ ? kEventsBesideStream : SIZE_MAX) {}

void Recorder::hold_on(Track& track, std::uint16_t replica, TickSum instant) {
  HEADROOM_CHECK(instant > track.since, fmt::format("replica {} reports the past", replica));
  track.meters.kv.add_constant(track.state, instant - track.since);
  timeline_.add_constant(replica, track.state, floor_ns(instant));
  track.since = instant;
}

void Recorder::on_steps(const StepRun& run) {
  Track& track = replicas_[run.replica];
  hold_until(track, run.replica, run.begin);
  itl_.add(run);
  if (!run.verified.empty()) [[unlikely]] {
    track.meters.speculation.add_run(run);
  }
  run.steps == 1 ? add_step(track, run) : add_steps(track, run);
}

// Two of three runs at low load: in one piece, and without what only several steps need.
void Recorder::add_step(Track& track, const StepRun& run) {
  const TickSum end = run.begin + run.first_ticks;
  track.meters.cost.add_step(run);
  track.meters.kv.add_constant(*run.state, run.first_ticks);
  track.meters.thrash.add_step(run, floor_ns(end));
  timeline_.add_step(run, floor_ns(end));
  track.state = *run.state;
  track.since = end;
}

// Apart: inlined it would cost runs of one step their registers.
[[gnu::noinline]] void Recorder::add_steps(Track& track, const StepRun& run) {
  const RunView view = view_of(run);
  track.meters.cost.add(view);
  track.meters.kv.add_run(view);
  track.meters.thrash.add_run(view);
  timeline_.add_run(view);
  track.state = *run.state;
  go_to_last_step(view, track.state);
  track.since = view.end;
}

void Recorder::on_request(const RequestRecord& record) {
  totals_.add(record);
  if (rarely(stream_.has_value())) {
    stream_->add(record);
  } else {
    requests_.add(record);
  }
  if (mostly(record.queued_ns >= 0) && mostly(record.finish_ns >= 0)) {
    population_.leave(record.finish_ns);
  }
}

void Recorder::on_event(const EngineEvent& event) {
  events_.add(event);
  switch (event.kind) {
    case EngineEventKind::queued:
      population_.enter(event.time_ns);
      timeline_.change_queue(event.replica, event.time_ns, 1);
      break;
    case EngineEventKind::requeued:  // it has been in the system all the time
    case EngineEventKind::escalated: timeline_.change_queue(event.replica, event.time_ns, 1); break;
    case EngineEventKind::cancelled:
      replicas_[event.replica].meters.thrash.add_event(event);
      if (event.was_waiting) timeline_.change_queue(event.replica, event.time_ns, -1);
      break;
    case EngineEventKind::admitted:
    case EngineEventKind::preempted: replicas_[event.replica].meters.thrash.add_event(event); break;
    case EngineEventKind::oom:
      if (event.state != nullptr) timeline_.add_oom(event.replica, event.time_ns, *event.state);
      break;
    default: break;
  }
}

void Recorder::on_idle(std::uint16_t replica, TickSum instant, const ReplicaState& state) {
  Track& track = replicas_[replica];
  hold_until(track, replica, instant);
  track.state = state;
  timeline_.count_queue(replica);
}

void Recorder::finish(TimeNs end_ns) {
  HEADROOM_CHECK(end_ns_ < 0, "a recorder finishes once");
  HEADROOM_CHECK(requests_.complete(), "a request left no record");
  end_ns_ = end_ns;
  for (std::size_t i = 0; i < replicas_.size(); ++i) {
    const auto number = static_cast<std::uint16_t>(i);
    Track& track = replicas_[number];
    // A step end in the last nanosecond lies after its beginning.
    if (ticks_from_ns(end_ns) > track.since) hold_until(track, number, ticks_from_ns(end_ns));
    timeline_.add_constant(number, track.state, end_ns + 1);
    HEADROOM_CHECK(track.meters.cost.balanced(),
                   fmt::format("cost terms of replica {} do not add up to its busy time", i));
  }
  timeline_.finish();
  population_.advance(end_ns);
  check_littles_law(population_, totals_, end_ns);
}

}  // namespace headroom
