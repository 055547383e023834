// The part of Replica that is about an engine that dies while it runs (docs/semantics.md, "An
// engine that dies").

#include <algorithm>
#include <utility>

#include "sim/kernel/check.hpp"
#include "sim/serving/replica.hpp"

namespace headroom {

// At a planning instant: what has grown since the engine started no longer fits.
void Replica::die_of_growth(TimeNs now_ns) {
  plan_.clear();
  const MemoryShortage shortage = parts_.memory.growth_shortage(now_ns);
  lose_engine(now_ns, shortage.kind, &shortage);
}

// The plan is applied, and its chunks need more for log-probabilities than is free.
bool Replica::dies_of_logprobs(TimeNs now_ns) {
  TokenCount longest = 0;
  for (const Chunk& chunk : plan_.chunks) {
    // Those of a prompt that is computed again, its answer having begun, are out already.
    const bool wants = requests_[chunk.id].prompt_logprobs && stories_[chunk.id].generated == 0;
    if (wants) longest = std::max<TokenCount>(longest, chunk.tokens);
  }
  if (longest == 0) return false;
  const auto shortage = parts_.memory.logprob_shortage(longest, now_ns);
  if (!shortage) return false;
  lose_engine(now_ns, shortage->kind, &*shortage);
  return true;
}

// The process dies with everything it held, steps in flight included.
void Replica::lose_engine(TimeNs now_ns, OomKind kind, const MemoryShortage* shortage) {
  HEADROOM_CHECK(cancelled_.empty(), "a client's leaving outlived the next plan");
  report_event(EngineEventKind::oom, now_ns, kNoRequest, plan_.wanted_tokens, kind, shortage);
  const TokenCount lost = lose_all(now_ns, Outcome::lost_to_oom, nullptr);
  report_event(EngineEventKind::engine_lost, now_ns, kNoRequest, lost);
  const TimeNs reboot_ns = kind == OomKind::host_freeze ? parts_.options.reboot_ns : 0;
  be_down_until(now_ns + std::max<TimeNs>(1, parts_.options.restart_ns + reboot_ns),
                Outcome::lost_to_oom);
}

void Replica::crash(TimeNs now_ns, TimeNs down_ns, std::vector<HandedBack>* handed_back) {
  HEADROOM_CHECK(down_ns >= 1, "a replica that crashes is down for a while");
  HEADROOM_CHECK(handed_back == nullptr || !api_, "an API server hands nothing back");
  if (outage_.lasts_at(now_ns)) {  // it has nothing left to lose
    return be_down_until(std::max(outage_.until_ns(), now_ns + down_ns), Outcome::lost_to_fault);
  }
  catch_up_before_end(now_ns);
  tally_.crash();
  report_event(EngineEventKind::crashed, now_ns, kNoRequest, 0);
  plan_.clear();
  cancelled_.clear();  // their outcome says so all the same
  const TokenCount lost = lose_all(now_ns, Outcome::lost_to_fault, handed_back);
  report_event(EngineEventKind::engine_lost, now_ns, kNoRequest, lost);
  be_down_until(now_ns + down_ns, Outcome::lost_to_fault);
  come_to_rest(now_ns);
}

void Replica::restart(TimeNs now_ns, TimeNs ready_ns) {
  HEADROOM_CHECK(ready_ns > now_ns, "an engine that starts in no time");
  HEADROOM_CHECK(requests_.live() == 0 && (!api_ || api_->held() == 0),
                 "a restart with requests in the engine");
  catch_up_before_end(now_ns);
  plan_.clear();
  cancelled_.clear();
  static_cast<void>(lose_all(now_ns, Outcome::lost_to_fault, nullptr));  // caches and the rest
  be_down_until(ready_ns, Outcome::lost_to_fault);
  come_to_rest(now_ns);
}

// What has ended; steps at whose end somebody finishes have been dealt with.
void Replica::catch_up_before_end(TimeNs now_ns) {
  if (time_.idle() || time_.next_stop_ns() == kNever) return;
  run_to(std::min(time_.ended_by(now_ns), time_.next_stop_step() - 1));
}

// Nothing is in flight from now on.
void Replica::come_to_rest(TimeNs now_ns) {
  time_.rest_until(now_ns);
  show_load();
  sink_.on_idle(number_, time_.clock(), state());
}

void Replica::use_cost(std::int32_t number, TimeNs now_ns) {
  pricing_.use(number);
  if (!time_.idle()) cut_at(now_ns);
}

void Replica::be_down_until(TimeNs time_ns, Outcome outcome) {
  outage_.begin(time_ns, outcome);
  time_.plan_at(time_ns);
  pricing_.start();
  parts_.memory.start(time_ns);
}

// Everybody who is in the engine; of those that wait, its own queue only. How many.
TokenCount Replica::lose_all(TimeNs now_ns, Outcome outcome, std::vector<HandedBack>* handed_back) {
  std::vector<RequestId> begun;  // preempted ones among them
  std::vector<RequestId> queued;
  for (RequestId id = 0; id < stories_.size(); ++id) {
    if (!stories_[id].here) continue;
    const bool is_begun = stories_[id].first_scheduled_ns >= 0;
    if (is_begun || !parts_.options.queue_survives) (is_begun ? begun : queued).push_back(id);
  }
  std::ranges::sort(begun, {}, [this](RequestId id) {
    return std::pair(requests_[id].admission, requests_[id].index);
  });
  std::ranges::sort(queued, {}, [this](RequestId id) { return requests_[id].index; });

  parts_.scheduler->on_engine_lost();
  // Those that the scheduler has taken out of its queue for a batch that never began come first.
  for (const RequestId id : plan_.lost) lose(id, now_ns, outcome, handed_back);
  auto lost = static_cast<TokenCount>(plan_.lost.size());
  for (const auto& list : {begun, queued}) {
    for (const RequestId id : list) {
      if (!stories_[id].here) continue;
      if (requests_[id].state == RequestState::waiting) {
        const bool leaves = leave_scheduler(id);
        HEADROOM_CHECK(leaves, "a waiting request stays in its batch");
      }
      lose(id, now_ns, outcome, handed_back);
      ++lost;
    }
  }
  if (last_refused_ != kNoRequest && !stories_[last_refused_].here) last_refused_ = kNoRequest;
  parts_.kv->on_engine_lost();
  if (parts_.adapters) parts_.adapters->on_engine_lost();
  forget_all_steps();
  shown_.become_stale();
  return lost;
}

void Replica::lose(RequestId id, TimeNs now_ns, Outcome outcome,
                   std::vector<HandedBack>* handed_back) {
  if (requests_[id].state == RequestState::waiting) leave_queue(id);
  const RequestStory& story = stories_[id];
  const bool is_fault = outcome == Outcome::lost_to_fault;
  if (story.recorded) {
    // Its request has left: a ghost row, or KV that another replica would have fetched.
    if (remote_.has_role()) remote_.lose_kv(requests_[id].index, hold_of(id));
  } else if (handed_back != nullptr && !story.cancelled) {
    tally_.hand_back(generated_so_far(id) - remote_.carried(id));
    handed_back->push_back({requests_[id].index, story.queued_ns});
  } else {
    record(id, is_fault && story.cancelled ? Outcome::cancelled : outcome, now_ns);
  }
  remove(id);
}

// Nothing is in flight any more, and nobody is in the batch. Tokens of steps that have ended are
// out.
void Replica::forget_all_steps() {
  time_.forget_all();
  sums_.forget_batch();
  gaps_.end_pause();
  interrupted_.clear();
  moving_.clear();
  ghost_ids_.clear();
  remote_.on_engine_lost();
  transfers_.forget(*parts_.kv);
}

}  // namespace headroom
