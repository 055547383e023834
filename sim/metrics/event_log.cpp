#include "sim/metrics/event_log.hpp"

#include <algorithm>

namespace headroom {

void EventLog::end_refusal(const EngineEvent& event) {
  Episode& episode = refusals_[event.replica];
  if (episode.request != event.request) return;
  if (episode.entry < events_.size()) events_[episode.entry].until_ns = event.time_ns;
  episode.request = UINT64_MAX;
}

void EventLog::add_rare(const EngineEvent& event) {
  if (event.kind == EngineEventKind::cancelled && event.replica < refusals_.size()) {
    end_refusal(event);
  }
  if (event.kind == EngineEventKind::placement_refused) {
    Episode& episode = refusals_[event.replica];
    if (episode.request == event.request) return;
    episode = {event.request, events_.size() < most_events_ ? events_.size() : SIZE_MAX};
  }
  ++counts_[static_cast<std::size_t>(event.kind)];
  if (event.kind == EngineEventKind::escalated && most_events_ < SIZE_MAX) return;
  if (event.kind == EngineEventKind::rejected || event.kind == EngineEventKind::placement_refused) {
    turn_away(event);
  }
  if (events_.size() < most_events_) {
    keep(event);
  } else {
    ++not_kept_;
  }
  if (event.kind != EngineEventKind::oom) return;
  ooms_.push_back({event.oom, event.time_ns, event.replica, event.request, event.tokens,
                   event.state == nullptr ? std::nullopt : std::optional(*event.state),
                   event.shortage == nullptr ? std::nullopt : std::optional(*event.shortage)});
}

void EventLog::turn_away(const EngineEvent& event) {
  const auto same = std::ranges::find_if(turned_away_, [&](const TurnedAway& group) {
    return group.first.oom == event.oom && group.first.replica == event.replica;
  });
  if (same != turned_away_.end()) {
    ++same->count;
    return;
  }
  turned_away_.push_back({event, 1});
  turned_away_.back().first.state = nullptr;  // lives as long as the event
  turned_away_.back().first.shortage = nullptr;
}

void EventLog::keep(const EngineEvent& event) {
  LoggedEvent& entry = events_.emplace_back();
  entry.kind = event.kind;
  entry.oom = event.oom;
  entry.replica = event.replica;
  entry.time_ns = event.time_ns;
  entry.request = event.request;
  entry.tokens = event.tokens;
  if (event.state != nullptr) {
    entry.running = event.state->running;
    entry.waiting = event.state->waiting;
    entry.free_blocks = event.state->pool.free_blocks;
  }
}

}  // namespace headroom
