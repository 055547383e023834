// The part of Replica that is about an engine that dies while it runs (docs/semantics.md, "An
// engine that dies").

#include <algorithm>
#include <utility>

#include "sim/kernel/check.hpp"
#include "sim/serving/replica.hpp"

namespace headroom {

// The plan is applied, and its chunks need more for log-probabilities than is free.
bool Replica::dies_of_logprobs(TimeNs now_ns) {
  TokenCount longest = 0;
  for (const Chunk& chunk : plan_.chunks) {
    // Those of a prompt that is computed again, its answer having begun, are out already.
    const bool wants =
        core_.requests[chunk.id].prompt_logprobs && core_.stories[chunk.id].generated == 0;
    if (wants) longest = std::max<TokenCount>(longest, chunk.tokens);
  }
  if (longest == 0) return false;
  const auto shortage = memory_.logprob_shortage(longest, now_ns);
  if (!shortage) return false;
  lose_engine(now_ns, shortage->kind, &*shortage);
  return true;
}

// The process dies with everything it held, steps in flight included.
void Replica::lose_engine(TimeNs now_ns, OomKind kind, const MemoryShortage* shortage) {
  HEADROOM_CHECK(cancelled_.empty(), "a client's leaving outlived the next plan");
  report_event(EngineEventKind::oom, now_ns, kNoRequest, plan_.wanted_tokens, kind, shortage);
  const TokenCount lost = lose_all(now_ns, Outcome::lost_to_oom, nullptr, options_.queue_survives);
  report_event(EngineEventKind::engine_lost, now_ns, kNoRequest, lost);
  const TimeNs reboot_ns = kind == OomKind::host_freeze ? options_.reboot_ns : 0;
  be_down_until(now_ns + std::max<TimeNs>(1, options_.restart_ns + reboot_ns),
                Outcome::lost_to_oom);
}

// Those that run are answered with an error, and what they held is free. The queue stays and is
// looked at in the same nanosecond.
void Replica::fail_running(TimeNs now_ns) {
  HEADROOM_CHECK(core_.time.depth() == 1, "requests fail with no step in flight");
  report_event(EngineEventKind::oom, now_ns, kNoRequest, plan_.wanted_tokens, OomKind::kv_cells);
  static_cast<void>(lose_all(now_ns, Outcome::lost_to_oom, nullptr, true));
  core_.time.plan_at(now_ns);
}

void Replica::crash(TimeNs now_ns, TimeNs down_ns, std::vector<HandedBack>* handed_back) {
  HEADROOM_CHECK(down_ns >= 1, "a replica that crashes is down for a while");
  HEADROOM_CHECK(handed_back == nullptr || !api_, "an API server hands nothing back");
  if (outage_.lasts_at(now_ns)) {  // it has nothing left to lose
    return be_down_until(std::max(outage_.until_ns(), now_ns + down_ns), Outcome::lost_to_fault);
  }
  run_short_of_stop(now_ns);
  tally_.crash();
  report_event(EngineEventKind::crashed, now_ns, kNoRequest, 0);
  plan_.clear();
  cancelled_.clear();  // their outcome says so all the same
  const TokenCount lost =
      lose_all(now_ns, Outcome::lost_to_fault, handed_back, options_.queue_survives);
  report_event(EngineEventKind::engine_lost, now_ns, kNoRequest, lost);
  be_down_until(now_ns + down_ns, Outcome::lost_to_fault);
  come_to_rest(now_ns);
}

void Replica::restart(TimeNs now_ns, TimeNs ready_ns) {
  HEADROOM_CHECK(ready_ns > now_ns, "an engine that starts in no time");
  HEADROOM_CHECK(core_.requests.live() == 0 && (!api_ || api_->held() == 0),
                 "a restart with requests in the engine");
  run_short_of_stop(now_ns);
  plan_.clear();
  cancelled_.clear();
  static_cast<void>(lose_all(now_ns, Outcome::lost_to_fault, nullptr,
                             options_.queue_survives));  // caches and the rest
  be_down_until(ready_ns, Outcome::lost_to_fault);
  come_to_rest(now_ns);
}

// Nothing is in flight from now on.
void Replica::come_to_rest(TimeNs now_ns) {
  core_.time.rest_until(now_ns);
  show_load();
  sink_.on_idle(number_, core_.time.clock(), state());
}

void Replica::use_cost(std::int32_t number, TimeNs now_ns) {
  pricing_.use(number);
  if (!core_.time.idle()) cut_at(now_ns);
}

void Replica::be_down_until(TimeNs time_ns, Outcome outcome) {
  outage_.begin(time_ns, outcome);
  core_.time.plan_at(time_ns);
  pricing_.start();
  memory_.start(time_ns);
}

// Everybody who is in the engine; of those that wait, its own queue only. How many.
TokenCount Replica::lose_all(TimeNs now_ns, Outcome outcome, std::vector<HandedBack>* handed_back,
                             bool queue_survives) {
  std::vector<RequestId> begun;  // preempted ones among them
  std::vector<RequestId> queued;
  for (RequestId id = 0; id < core_.stories.size(); ++id) {
    if (!core_.stories[id].here) continue;
    const bool is_begun = core_.stories[id].first_scheduled_ns >= 0;
    if (is_begun || !queue_survives) (is_begun ? begun : queued).push_back(id);
  }
  std::ranges::sort(begun, {}, [this](RequestId id) {
    return std::pair(core_.requests[id].admission, core_.requests[id].index);
  });
  std::ranges::sort(queued, {}, [this](RequestId id) { return core_.requests[id].index; });

  scheduler_->on_engine_lost();
  // Those that the scheduler has taken out of its queue for a batch that never began come first.
  for (const RequestId id : plan_.lost) lose(id, now_ns, outcome, handed_back);
  auto lost = static_cast<TokenCount>(plan_.lost.size());
  for (const auto& list : {begun, queued}) {
    for (const RequestId id : list) {
      if (!core_.stories[id].here) continue;
      if (core_.requests[id].state == RequestState::waiting) {
        const bool leaves = leave_scheduler(id);
        HEADROOM_CHECK(leaves, "a waiting request stays in its batch");
      }
      lose(id, now_ns, outcome, handed_back);
      ++lost;
    }
  }
  if (last_refused_ != kNoRequest && !core_.stories[last_refused_].here) last_refused_ = kNoRequest;
  core_.on_engine_lost();
  transfers_.forget(core_.kv);
  windows_.forget();
  ghost_ids_.clear();
  shown_.become_stale();
  return lost;
}

void Replica::lose(RequestId id, TimeNs now_ns, Outcome outcome,
                   std::vector<HandedBack>* handed_back) {
  if (core_.requests[id].state == RequestState::waiting) core_.leave_queue(id);
  const RequestStory& story = core_.stories[id];
  const bool is_fault = outcome == Outcome::lost_to_fault;
  if (story.recorded) {
    // Its request has left: a ghost row, or KV that another replica would have fetched.
    if (core_.remote.has_role()) core_.remote.lose_kv(core_.requests[id].index, core_.stay(id));
  } else if (handed_back != nullptr && !story.cancelled) {
    tally_.hand_back(core_.generated(id) - core_.remote.carried(id));
    handed_back->push_back({core_.requests[id].index, story.queued_ns});
  } else {
    record(id, is_fault && story.cancelled ? Outcome::cancelled : outcome, now_ns);
  }
  core_.remove(id);
}

}  // namespace headroom
