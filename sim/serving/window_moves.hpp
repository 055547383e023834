#pragma once
// Decoding sequences whose layers keep windows (docs/semantics.md 27): the plans at which one takes
// no further ids, or goes on to other blocks. Only where sequences are not uniform.

#include <vector>

#include "sim/serving/kv_handover.hpp"
#include "sim/serving/replica_core.hpp"
#include "sim/serving/types.hpp"

namespace headroom {

class WindowMoves {
 public:
  // Sets the stop for the plan of a step with which the windows of `id` change: one becomes full
  // behind `held`, or, from `next` on, a full one takes a block and lets go of its first. In a
  // pipeline the step behind the prompt is planned already: then the plan after it.
  static void stop_for(RequestId id, TokenCount held, TokenCount next, ReplicaCore& core);
  // That stop is reached.
  void change(RequestId id, ReplicaCore& core);
  // Before a plan: what changed since the one before moves, in order of admission.
  void apply(ReplicaCore& core);
  // The engine died.
  void forget() { moving_.clear(); }

 private:
  std::vector<KvHold> moving_;  // change() adds, apply() and forget() clear
};

}  // namespace headroom
