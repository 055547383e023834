// The part of Replica that is about the step ends at which it has something to do.

#include <fmt/format.h>

#include <algorithm>

#include "sim/kernel/check.hpp"
#include "sim/kernel/likely.hpp"
#include "sim/serving/replica.hpp"

namespace headroom {

void Replica::process_due_stops() {
  StopQueue& stops = core_.time.stops();
  while (stops.first_decode() <= core_.time.completed_decodes() &&
         stops.top().step <= core_.time.completed()) {
    Stop stop = stops.top();
    stops.pop();
    HEADROOM_CHECK((stop.step > 0 || stop.decode == core_.time.completed_decodes()) &&
                       core_.time.completed() == core_.time.plan_due(),
                   fmt::format("stop of decode step {} seen at {}", stop.decode,
                               core_.time.completed_decodes()));
    if (stop.action == StopAction::leave_plans) [[unlikely]] {
      if (core_.time.applied_decodes() < core_.stories[stop.id].last_decode) {
        // Its last decode step waits for a step in flight in which decodes pause.
        stop.step = core_.time.completed() + 1;
        stops.push(stop);
      } else {
        core_.leave_plans(stop.id);
      }
    } else if (stop.action == StopAction::windows_change) [[unlikely]] {
      windows_.change(stop.id, core_);
    } else {
      finish(stop.id);
    }
  }
  stops.begin_at(std::min(core_.time.completed_decodes(), stops.first_decode()));
}

// --- rows that outlive their requests (docs/semantics.md 2 and 9) -------------------------------

void Replica::become_ghost(RequestId id) {
  Request& request = core_.requests[id];
  HEADROOM_CHECK(request.state == RequestState::decoding,
                 "only a decoding row can stay as a ghost");
  core_.sums.become_ghost(core_.held(id), core_.final_tokens(id));
  request.state = RequestState::ghost;
  ghost_ids_.push_back(id);
  if (options_.responds_at_end) return;
  record(id, Outcome::finished, floor_ns(core_.time.clock()));
  core_.stories[id].recorded = true;
}

void Replica::retire_ghosts() {
  std::sort(ghost_ids_.begin(), ghost_ids_.end(), [this](RequestId a, RequestId b) {
    return core_.requests[a].admission < core_.requests[b].admission;
  });
  for (const RequestId id : ghost_ids_) {
    const TokenCount held = core_.held(id);
    core_.sums.end_decoding(core_.requests[id], held);
    core_.kv.release(id, core_.requests[id], held, KvRelease::finished);
    if (!core_.stories[id].recorded) {
      core_.stories[id].first_token_ns = floor_ns(core_.time.clock());
      record(id, Outcome::finished, floor_ns(core_.time.clock()));
    }
    core_.remove(id);
  }
  core_.sums.retire_ghosts();
  ghost_ids_.clear();
}

}  // namespace headroom
