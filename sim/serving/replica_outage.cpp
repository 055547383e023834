#include "sim/serving/replica_outage.hpp"

#include <algorithm>

#include "sim/kernel/check.hpp"

namespace headroom {

void ReplicaOutage::report_end(TimeNs now_ns) {
  reports_.event(EngineEventKind::engine_restarted, now_ns, kNoRequest, 0);
}

void ReplicaOutage::lose_engine(TimeNs now_ns, OomKind kind, const MemoryShortage* shortage) {
  HEADROOM_CHECK(!exits_.has_cancelled(), "a client's leaving outlived the next plan");
  reports_.event(EngineEventKind::oom, now_ns, kNoRequest, plans_.latest().wanted_tokens, kind,
                 shortage);
  const TokenCount lost =
      lose_all({.now_ns = now_ns, .queue_survives = core_.options.queue_survives});
  reports_.event(EngineEventKind::engine_lost, now_ns, kNoRequest, lost);
  const TimeNs reboot_ns = kind == OomKind::host_freeze ? core_.options.reboot_ns : 0;
  be_down_until(now_ns + std::max<TimeNs>(1, core_.options.restart_ns + reboot_ns),
                Outcome::lost_to_oom);
}

void ReplicaOutage::fail_running(TimeNs now_ns) {
  HEADROOM_CHECK(core_.time.depth() == 1, "requests fail with no step in flight");
  reports_.event(EngineEventKind::oom, now_ns, kNoRequest, plans_.latest().wanted_tokens,
                 OomKind::kv_cells);
  static_cast<void>(lose_all({.now_ns = now_ns, .queue_survives = true}));
  core_.time.plan_at(now_ns);
}

void ReplicaOutage::crash(TimeNs now_ns, TimeNs down_ns, std::vector<HandedBack>* handed_back) {
  HEADROOM_CHECK(down_ns >= 1, "a replica that crashes is down for a while");
  HEADROOM_CHECK(handed_back == nullptr || reports_.api() == nullptr,
                 "an API server hands nothing back");
  if (lasts_at(now_ns)) {  // it has nothing left to lose
    return be_down_until(std::max(outage_.until_ns(), now_ns + down_ns), Outcome::lost_to_fault);
  }
  ends_.run_short_of_stop(now_ns);
  reports_.tally().crash();
  reports_.event(EngineEventKind::crashed, now_ns, kNoRequest, 0);
  plans_.forget_latest();
  exits_.forget_cancelled();
  const TokenCount lost = lose_all({.now_ns = now_ns,
                                    .outcome = Outcome::lost_to_fault,
                                    .handed_back = handed_back,
                                    .queue_survives = core_.options.queue_survives});
  reports_.event(EngineEventKind::engine_lost, now_ns, kNoRequest, lost);
  be_down_until(now_ns + down_ns, Outcome::lost_to_fault);
  come_to_rest(now_ns);
}

void ReplicaOutage::restart(TimeNs now_ns, TimeNs ready_ns) {
  HEADROOM_CHECK(ready_ns > now_ns, "an engine that starts in no time");
  HEADROOM_CHECK(
      core_.requests.live() == 0 && (reports_.api() == nullptr || reports_.api()->held() == 0),
      "a restart with requests in the engine");
  ends_.run_short_of_stop(now_ns);
  plans_.forget_latest();
  exits_.forget_cancelled();
  static_cast<void>(lose_all({.now_ns = now_ns,  // caches and the rest
                              .outcome = Outcome::lost_to_fault,
                              .queue_survives = core_.options.queue_survives}));
  be_down_until(ready_ns, Outcome::lost_to_fault);
  come_to_rest(now_ns);
}

TokenCount ReplicaOutage::lose_all(const ReplicaExits::Loss& loss) {
  const TokenCount lost = exits_.lose_all(loss, plans_.latest().lost);
  plans_.forget_copies();
  windows_.forget();
  return lost;
}

// Nothing is in flight from now on.
void ReplicaOutage::come_to_rest(TimeNs now_ns) {
  core_.time.rest_until(now_ns);
  reports_.show();
  reports_.idle();
}

void ReplicaOutage::be_down_until(TimeNs time_ns, Outcome outcome) {
  outage_.begin(time_ns, outcome);
  core_.time.plan_at(time_ns);
  plans_.start();
  memory_.start(time_ns);
}

}  // namespace headroom
