#pragma once
// A replica whose engine dies, or is started anew (docs/semantics.md 23): who is lost, and what
// rests until it is back.

#include <vector>

#include "sim/kernel/likely.hpp"
#include "sim/kernel/time.hpp"
#include "sim/serving/oom.hpp"
#include "sim/serving/outage.hpp"
#include "sim/serving/replica_core.hpp"
#include "sim/serving/replica_exits.hpp"
#include "sim/serving/replica_load.hpp"
#include "sim/serving/replica_reports.hpp"
#include "sim/serving/request.hpp"
#include "sim/serving/run_time_memory.hpp"
#include "sim/serving/step_ends.hpp"
#include "sim/serving/step_plans.hpp"
#include "sim/serving/window_moves.hpp"

namespace headroom {

class ReplicaOutage {
 public:
  // Other parts of the same replica.
  struct Parts {
    ReplicaCore& core;
    ReplicaReports& reports;
    ReplicaExits& exits;
    StepEnds& ends;
    StepPlans& plans;
    WindowMoves& windows;
    RunTimeMemory& memory;
  };
  explicit ReplicaOutage(const Parts& parts)
      : core_(parts.core),
        reports_(parts.reports),
        exits_(parts.exits),
        ends_(parts.ends),
        plans_(parts.plans),
        windows_(parts.windows),
        memory_(parts.memory) {}

  // At a planning instant, with or over the latest plan: the process dies with everything it held,
  // steps in flight included.
  void lose_engine(TimeNs now_ns, OomKind kind, const MemoryShortage* shortage);
  // The same of those alone that run: they are answered with an error, and what they held is free.
  // The queue stays and is looked at in the same nanosecond.
  void fail_running(TimeNs now_ns);
  // As in Replica.
  void crash(TimeNs now_ns, TimeNs down_ns, std::vector<HandedBack>* handed_back);
  void restart(TimeNs now_ns, TimeNs ready_ns);

  // At a planning instant: an outage may end with it.
  void try_end(TimeNs now_ns) {
    if (rarely(outage_.try_end(now_ns))) report_end(now_ns);
  }
  [[nodiscard]] bool lasts_at(TimeNs now_ns) const { return outage_.lasts_at(now_ns); }
  // Of requests that the latest one lost, or turned away.
  [[nodiscard]] Outcome outcome() const { return outage_.outcome(); }

 private:
  void report_end(TimeNs now_ns);
  [[nodiscard]] TokenCount lose_all(const ReplicaExits::Loss& loss);
  void come_to_rest(TimeNs now_ns);
  void be_down_until(TimeNs time_ns, Outcome outcome);

  ReplicaCore& core_;
  ReplicaReports& reports_;
  ReplicaExits& exits_;
  StepEnds& ends_;
  StepPlans& plans_;
  WindowMoves& windows_;
  RunTimeMemory& memory_;
  Outage outage_;
};

}  // namespace headroom
