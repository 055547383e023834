// The part of Replica that is about an engine that dies while it runs.

#include <fmt/format.h>

#include <algorithm>

#include "sim/kernel/check.hpp"
#include "sim/serving/replica.hpp"

namespace headroom {

// A device allocation failed while the engine ran: the process dies with everything it held.
void Replica::lose_engine(TimeNs now_ns) {
  HEADROOM_CHECK(pipeline_.empty() && interrupted_.empty(), "run-time OOM with steps in flight");
  report_event(EngineEventKind::oom, now_ns, kNoRequest, plan_.wanted_tokens, 0,
               OomKind::runtime_device);
  std::vector<RequestId> lost;
  for (RequestId id = 0; id < progress_.size(); ++id) {
    if (progress_[id].here && requests_[id].state != RequestState::waiting) lost.push_back(id);
  }
  std::sort(lost.begin(), lost.end(), [this](RequestId a, RequestId b) {
    return requests_[a].admission < requests_[b].admission;
  });
  for (const RequestId id : plan_.lost) {
    --waiting_;
    parts_.kv->release(id, requests_[id], 0, KvRelease::dropped);
    record(id, Outcome::lost_to_oom, now_ns);
    remove(id);
  }
  for (const RequestId id : lost) {
    parts_.kv->release(id, requests_[id], computed_by(requests_[id], applied_decodes_),
                       KvRelease::dropped);
    if (!progress_[id].recorded) record(id, Outcome::lost_to_oom, now_ns);
    remove(id);
  }
  decodes_ = DecodeSet(decode_block_tokens());
  stops_.clear();
  paused_.clear();
  ghost_ids_.clear();
  residents_ = ghosts_ = prefill_tokens_ = final_tokens_ = ghost_tokens_ = 0;
  parts_.scheduler->on_engine_lost();
  report_event(EngineEventKind::engine_lost, now_ns, kNoRequest,
               static_cast<TokenCount>(lost.size() + plan_.lost.size()));
  down_until_ns_ = now_ns + std::max<TimeNs>(1, parts_.options.restart_ns);
  next_plan_ns_ = down_until_ns_;
}

}  // namespace headroom
