#include "sim/metrics/thrash_meter.hpp"

#include <algorithm>
#include <iterator>

namespace headroom {

// Time goes forward, except that a run is reported when it has ended: its windows may lie before
// that of an event in between.
ThrashWindow& ThrashMeter::find_window(TimeNs t) {
  const std::int64_t number = t / kThrashWindowNs;
  auto place = windows_.end();
  while (place != windows_.begin() && std::prev(place)->number >= number) --place;
  if (place == windows_.end() || place->number != number) {
    place = windows_.insert(place, {.number = number});
    last_begin_ns_ = windows_.back().number * kThrashWindowNs;
    last_end_ns_ = last_begin_ns_ + kThrashWindowNs;
  }
  return *place;
}

void ThrashMeter::add_run(const RunView& view) {
  const StepRun& run = view.run;
  const TokenCount sampled = sampled_in(run);
  if (sampled == 0) return;
  const TimeNs end_ns = floor_ns(view.end);
  if (floor_ns(run.begin) >= last_begin_ns_ && end_ns < last_end_ns_) {
    windows_.back().sampled_tokens += run.steps * sampled;
    return;
  }
  StepCount done = 0;
  while (done < run.steps) {
    const TimeNs next_end_ns = floor_ns(run.begin + ticks_of(run, done + 1));
    ThrashWindow& window = window_at(next_end_ns);
    const TimeNs last_ns = (window.number + 1) * kThrashWindowNs - 1;
    const bool all = end_ns <= last_ns;
    const StepCount ended = all ? run.steps : steps_ended_by(run, last_ns);
    window.sampled_tokens += (ended - done) * sampled;
    done = ended;
  }
}

void ThrashMeter::add_to_dropped(const EngineEvent& event) {
  if (event.kind == EngineEventKind::preempted) {
    dropped_[event.request] = event.tokens;
    return;
  }
  const auto found = dropped_.find(event.request);
  if (found == dropped_.end()) return;
  if (event.kind == EngineEventKind::admitted) {
    const TokenCount again = std::max<TokenCount>(0, found->second - event.cached_tokens);
    recomputed_ += again;
    if (again > 0) window_at(event.time_ns).recomputed_tokens += again;
  }
  dropped_.erase(found);
}

std::optional<ThrashWindow> ThrashMeter::first_thrashing(TimeNs end_ns) const {
  for (const ThrashWindow& window : windows_) {
    if ((window.number + 1) * kThrashWindowNs > end_ns) break;
    if (window.recomputed_tokens > window.sampled_tokens) return window;
  }
  return std::nullopt;
}

}  // namespace headroom
