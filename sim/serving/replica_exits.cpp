#include "sim/serving/replica_exits.hpp"

#include <algorithm>
#include <utility>

#include "sim/kernel/check.hpp"
#include "sim/kernel/likely.hpp"

namespace headroom {

void ReplicaExits::finish(RequestId id) {
  Request& request = core_.requests[id];
  reports_.become_stale();
  const bool leaves = scheduler_.on_leave(id);
  if (mostly(request.state == RequestState::decoding)) {
    // Steps planned while its last token was in flight still carry its row, which yields nothing.
    StepPipeline& segments = core_.time.segments();
    for (std::size_t i = 0; i < segments.size(); ++i) {
      const bool is_its = segments[i].micro_batch == request.micro_batch;
      if (segments[i].decodes && is_its) --segments[i].gaps_per_step;
    }
    core_.leave_pause(id);
  }
  if (!leaves) [[unlikely]] {
    return become_ghost(id);
  }
  if (core_.features.any(ReplicaFeatures::role | ReplicaFeatures::adapters)) [[unlikely]] {
    if (core_.remote.hands_on(id) && !core_.stories[id].cancelled) return hand_on(id);
    core_.leave_adapter(request);
  }
  if (request.state == RequestState::waiting) [[unlikely]] {
    core_.leave_queue(id);
    core_.kv.release(id, request, 0, KvRelease::finished);
  } else {
    core_.leave_batch(id);
  }
  reports_.record(id, Outcome::finished, floor_ns(core_.time.clock()));
  core_.remove(id);
}

void ReplicaExits::become_ghost(RequestId id) {
  Request& request = core_.requests[id];
  HEADROOM_CHECK(request.state == RequestState::decoding,
                 "only a decoding row can stay as a ghost");
  core_.sums.become_ghost(core_.held(id), core_.final_tokens(id));
  request.state = RequestState::ghost;
  ghosts_.push_back(id);
  if (core_.options.responds_at_end) return;
  reports_.record(id, Outcome::finished, floor_ns(core_.time.clock()));
  core_.stories[id].recorded = true;
}

void ReplicaExits::retire_ghosts() {
  std::sort(ghosts_.begin(), ghosts_.end(), [this](RequestId a, RequestId b) {
    return core_.requests[a].admission < core_.requests[b].admission;
  });
  for (const RequestId id : ghosts_) {
    const TokenCount held = core_.held(id);
    core_.sums.end_decoding(core_.requests[id], held);
    core_.kv.release(id, core_.requests[id], held, KvRelease::finished);
    if (!core_.stories[id].recorded) {
      core_.stories[id].first_token_ns = floor_ns(core_.time.clock());
      reports_.record(id, Outcome::finished, floor_ns(core_.time.clock()));
    }
    core_.remove(id);
  }
  core_.sums.retire_ghosts();
  ghosts_.clear();
}

void ReplicaExits::withdraw_cancelled(TimeNs now_ns) {
  HEADROOM_CHECK(core_.time.completed() >= core_.time.plan_due(),
                 "a client's leaving waits for the next step end");
  for (const RequestId id : cancelled_) {
    // What it waited for may have come with this step: then it has left already.
    if (core_.stories[id].here && core_.stories[id].cancelled) withdraw(id, now_ns);
  }
  cancelled_.clear();
}

void ReplicaExits::withdraw(RequestId id, TimeNs now_ns) {
  Request& request = core_.requests[id];
  const bool waits = request.state == RequestState::waiting;
  reports_.become_stale();
  const bool leaves = leave_scheduler(id);
  HEADROOM_CHECK(leaves, "a row that cannot leave its batch was cancelled");
  EngineEvent event;
  event.kind = EngineEventKind::cancelled;
  event.time_ns = now_ns;
  event.replica = core_.number;
  event.request = request.index;
  event.tokens = core_.generated(id);
  event.was_waiting = waits;
  reports_.event(event);
  reports_.record(id, Outcome::cancelled, now_ns);
  core_.leave_adapter(request);
  if (waits) {
    // With pipeline stages its latest token may be in flight for longer than the next step.
    if (core_.stories[id].counted_to > core_.time.completed()) {
      dropped_rows_ += core_.forget_in_flight(id);
    }
    core_.leave_queue(id);
    core_.remote.withdraw(id, request, core_.sums, core_.kv);
  } else {
    dropped_rows_ += core_.forget_in_flight(id);
    const bool stands_by =
        request.state == RequestState::decoding ||
        core_.stories[id].last_decode > core_.time.completed_decodes(request.micro_batch);
    if (request.state != RequestState::prefilling && stands_by) core_.leave_pause(id);
    core_.leave_batch(id);
  }
  core_.remove(id);
}

void ReplicaExits::reject(RequestId id, TimeNs now_ns) {
  const Request& request = core_.requests[id];
  HEADROOM_CHECK(request.state == RequestState::waiting, "only a waiting request is rejected");
  reports_.event(EngineEventKind::rejected, now_ns, id,
                 TokenCount{request.prompt_tokens} + request.max_tokens,
                 OomKind::rejected_too_long);
  core_.kv.release(id, request, 0, KvRelease::finished);
  core_.leave_queue(id);
  reports_.record(id, Outcome::rejected, now_ns);
  core_.remove(id);
}

// Its token is out: it leaves the batch, and its KV stays.
void ReplicaExits::hand_on(RequestId id) {
  Request& request = core_.requests[id];
  RequestStory& story = core_.stories[id];
  HEADROOM_CHECK(core_.generated(id) == 1, "a prefill yields one token");
  if (request.state == RequestState::waiting) {
    // Preempted while that token was in flight: there is nothing to fetch.
    core_.leave_queue(id);
    core_.kv.release(id, request, 0, KvRelease::finished);
    reports_.tally().hand_back(1);
    core_.remote.hand_back({request.index, story.queued_ns});
    return core_.remove(id);
  }
  reports_.tally().settle(1);
  const TokenCount held = core_.held(id);
  if (request.state == RequestState::decoding) {
    core_.sums.end_decoding(request, held);
    core_.sums.hold(held);
  }
  HEADROOM_CHECK(held == request.prompt_tokens, "a prefill computes its prompt");
  request.computed_tokens = static_cast<std::int32_t>(held);
  request.state = RequestState::ending;
  core_.sums.leave_batch(core_.final_tokens(id));
  story.recorded = true;
  core_.remote.hold(id, {.index = request.index,
                         .hold = core_.stay(id),
                         .prompt_tokens = request.prompt_tokens,
                         .queued_ns = story.queued_ns,
                         .first_scheduled_ns = story.first_scheduled_ns,
                         .prefilled_ns = story.first_token_ns,
                         .token = core_.time.clock()});
}

void ReplicaExits::leave_for_others(TimeNs now_ns) {
  for (const RemoteRequests::Exit& exit : core_.remote.take_exits()) {
    const RequestId id = exit.request.id;
    if (!core_.stories[id].here || core_.stay(id) != exit.request) continue;  // gone meanwhile
    const Request& request = core_.requests[id];
    reports_.become_stale();
    if (exit.is_given_back) {
      core_.remote.end_hold(id);
      core_.sums.let_go(request.computed_tokens);
      core_.kv.release(id, request, request.computed_tokens, KvRelease::finished);
      core_.remove(id);
      continue;
    }
    const bool leaves = leave_scheduler(id);
    HEADROOM_CHECK(leaves && request.state == RequestState::waiting,
                   "KV was lost of one that does not wait for it");
    core_.remote.withdraw(id, request, core_.sums, core_.kv);
    lose(id, {.now_ns = now_ns,
              .outcome = exit.outcome,
              .handed_back = exit.hand_back ? &core_.remote.handed_back() : nullptr});
  }
}

// False: its row stays in the batch.
bool ReplicaExits::leave_scheduler(RequestId id) {
  return core_.remote.leave_line(id) || scheduler_.on_leave(id);
}

TokenCount ReplicaExits::lose_all(const Loss& loss, std::span<const RequestId> unqueued) {
  std::vector<RequestId> begun;  // preempted ones among them
  std::vector<RequestId> queued;
  for (RequestId id = 0; id < core_.stories.size(); ++id) {
    if (!core_.stories[id].here) continue;
    const bool is_begun = core_.stories[id].first_scheduled_ns >= 0;
    if (is_begun || !loss.queue_survives) (is_begun ? begun : queued).push_back(id);
  }
  std::ranges::sort(begun, {}, [this](RequestId id) {
    return std::pair(core_.requests[id].admission, core_.requests[id].index);
  });
  std::ranges::sort(queued, {}, [this](RequestId id) { return core_.requests[id].index; });

  scheduler_.on_engine_lost();
  for (const RequestId id : unqueued) lose(id, loss);
  auto lost = static_cast<TokenCount>(unqueued.size());
  for (const auto& list : {begun, queued}) {
    for (const RequestId id : list) {
      if (!core_.stories[id].here) continue;
      if (core_.requests[id].state == RequestState::waiting) {
        const bool leaves = leave_scheduler(id);
        HEADROOM_CHECK(leaves, "a waiting request stays in its batch");
      }
      lose(id, loss);
      ++lost;
    }
  }
  core_.on_engine_lost();
  ghosts_.clear();
  reports_.become_stale();
  return lost;
}

void ReplicaExits::lose(RequestId id, const Loss& loss) {
  if (core_.requests[id].state == RequestState::waiting) core_.leave_queue(id);
  const RequestStory& story = core_.stories[id];
  const bool is_fault = loss.outcome == Outcome::lost_to_fault;
  if (story.recorded) {
    // Its request has left: a ghost row, or KV that another replica would have fetched.
    if (core_.remote.has_role()) core_.remote.lose_kv(core_.requests[id].index, core_.stay(id));
  } else if (loss.handed_back != nullptr && !story.cancelled) {
    reports_.tally().hand_back(core_.generated(id) - core_.remote.carried(id));
    loss.handed_back->push_back({core_.requests[id].index, story.queued_ns});
  } else {
    const Outcome seen = is_fault && story.cancelled ? Outcome::cancelled : loss.outcome;
    reports_.record(id, seen, loss.now_ns);
  }
  core_.remove(id);
}

}  // namespace headroom
