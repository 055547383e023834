#pragma once
// How requests leave a replica: finished, given up by their clients, rejected by the scheduler,
// handed on to another replica, or lost with the engine. Some rows, and KV that others fetch,
// outlive their requests.

#include <cstdint>
#include <span>
#include <vector>

#include "sim/serving/batch_scheduler.hpp"
#include "sim/serving/replica_core.hpp"
#include "sim/serving/replica_load.hpp"
#include "sim/serving/replica_reports.hpp"
#include "sim/serving/request.hpp"
#include "sim/serving/types.hpp"

namespace headroom {

class ReplicaExits {
 public:
  ReplicaExits(ReplicaCore& core, BatchScheduler& scheduler, ReplicaReports& reports)
      : core_(core), scheduler_(scheduler), reports_(reports) {}

  // Its last token is out.
  void finish(RequestId id);
  // The last live row of a static batch is gone, and with it those that had finished before it
  // (docs/semantics.md 2 and 9).
  void retire_ghosts();

  // A client has given up. Takes its request out at an instant at which the engine plans: what is
  // in flight for it is computed and dropped.
  void withdraw(RequestId id, TimeNs now_ns);
  // The same at the next step end, which withdraws all of these.
  void withdraw_then(RequestId id) { cancelled_.push_back(id); }
  [[nodiscard]] bool has_cancelled() const { return !cancelled_.empty(); }
  void withdraw_cancelled(TimeNs now_ns);

  // The scheduler finds that it can never be served.
  void reject(RequestId id, TimeNs now_ns);

  // Before a plan: KV that was kept for others leaves, and those leave whose KV was lost.
  void leave_for_others(TimeNs now_ns);

  // The engine loses everybody who is in it; where its queue survives, the waiting stay. `unqueued`
  // are in neither: the scheduler took them for a batch that never began. How many.
  struct Loss {
    TimeNs now_ns = 0;
    Outcome outcome = Outcome::lost_to_oom;
    std::vector<HandedBack>* handed_back = nullptr;  // without a record; nullptr: nobody is
    bool queue_survives = false;
  };
  [[nodiscard]] TokenCount lose_all(const Loss& loss, std::span<const RequestId> unqueued);
  // What becomes of clients who had given up is said all the same.
  void forget_cancelled() { cancelled_.clear(); }

  // Rows of steps in flight that were computed for requests that had been withdrawn.
  [[nodiscard]] std::int64_t dropped_rows() const { return dropped_rows_; }

 private:
  void become_ghost(RequestId id);
  void hand_on(RequestId id);
  [[nodiscard]] bool leave_scheduler(RequestId id);
  void lose(RequestId id, const Loss& loss);

  ReplicaCore& core_;
  BatchScheduler& scheduler_;
  ReplicaReports& reports_;
  std::vector<RequestId> cancelled_;  // withdraw_then() adds
  std::vector<RequestId> ghosts_;     // become_ghost() adds
  std::int64_t dropped_rows_ = 0;     // withdraw() counts
};

}  // namespace headroom
