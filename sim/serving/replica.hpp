#pragma once
// One engine: takes requests and events, applies and validates the scheduler's plans, and turns
// runs of equal steps into single jumps. docs/semantics.md is its specification.
//
// It is composed of parts with headers of their own. They share one core (ReplicaCore) and are
// layers, of which each uses those before it: what others are told (ReplicaReports), how requests
// leave (ReplicaExits), how steps end (StepEnds) and are planned (StepPlans), and what is lost when
// the engine dies (ReplicaOutage). Features that most replicas lack are bits of ReplicaFeatures: an
// API server (ApiServer), drafts (DraftedStep), windows (WindowMoves), adapters and a role
// (AdapterSlots and RemoteRequests, in the core).

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "sim/kernel/likely.hpp"
#include "sim/serving/admission_rules.hpp"
#include "sim/serving/api_server.hpp"
#include "sim/serving/batch_scheduler.hpp"
#include "sim/serving/drafted_step.hpp"
#include "sim/serving/kv_allocator.hpp"
#include "sim/serving/kv_handover.hpp"
#include "sim/serving/latency_window.hpp"
#include "sim/serving/link.hpp"
#include "sim/serving/metrics_sink.hpp"
#include "sim/serving/options.hpp"
#include "sim/serving/replica_core.hpp"
#include "sim/serving/replica_exits.hpp"
#include "sim/serving/replica_features.hpp"
#include "sim/serving/replica_load.hpp"
#include "sim/serving/replica_outage.hpp"
#include "sim/serving/replica_reports.hpp"
#include "sim/serving/replica_tally.hpp"
#include "sim/serving/request.hpp"
#include "sim/serving/run_time_memory.hpp"
#include "sim/serving/step_cost.hpp"
#include "sim/serving/step_ends.hpp"
#include "sim/serving/step_plans.hpp"
#include "sim/serving/window_moves.hpp"

namespace headroom {

// What a replica is made of.
struct ReplicaParts {
  ReplicaOptions options;
  AdmissionLimits limits;
  std::unique_ptr<BatchScheduler> scheduler;
  std::unique_ptr<KvAllocator> kv;
  std::unique_ptr<StepCost> cost;
  std::vector<std::unique_ptr<StepCost>> slow_costs = {};  // of a replica that is slow for a while
  TierLinks tier = {};  // of the allocator's second tier, if it has one
  RunTimeMemory memory = {};
  std::optional<AdapterSlots> adapters = {};  // empty: LoRA is off
};

// What became of a request that an API server has handed on; `id` as `submit` returns it.
struct Admission {
  Arrival arrival;
  std::uint64_t index = 0;
  RequestId id = kNoRequest;
};

class Replica {
 public:
  Replica(std::uint16_t number, ReplicaParts parts, MetricsSink& sink);
  Replica(const Replica&) = delete;  // its reports point into it
  Replica& operator=(const Replica&) = delete;

  // Takes a request that arrives now; kNoRequest: rejected it, so that it departs at once.
  // `queued_ns` of one that another replica has handed back: when it first entered a queue.
  // `prefilled`: its prompt was computed there; it waits for room, and for its KV.
  RequestId submit(const Arrival& arrival, std::uint64_t index, TimeNs now_ns,
                   TimeNs queued_ns = -1, const KvOffer* prefilled = nullptr);

  // A request sent to it that no engine has seen has left.
  void record_unseen(const RequestRecord& record) { reports_.tally().depart(record); }

  // Nullptr: clients talk to the engine itself, with `submit`. Otherwise a request is sent first
  // and admitted when the server is done with it, and answers are collected when their time comes.
  [[nodiscard]] const ApiServer* api_server() const { return reports_.api(); }
  void send(const Arrival& arrival, std::uint64_t index, TimeNs now_ns);
  [[nodiscard]] std::optional<Admission> admit_sent(TimeNs now_ns);  // the next one due by now
  void collect_answers(TimeNs now_ns) { reports_.collect_answers(now_ns); }

  [[nodiscard]] bool awaits(RequestId id, std::uint64_t index, bool first_token,
                            TimeNs time_ns) const {
    return core_.awaits(id, index, first_token, time_ns);
  }
  // That client gives up, after all step ends and arrivals of this nanosecond.
  void cancel(RequestId id, TimeNs now_ns);

  // The engine dies of a fault, after all step ends, arrivals and cancellations of this nanosecond,
  // and is back `down_ns` (>= 1) later. Who was in it is lost, or handed back without a record.
  void crash(TimeNs now_ns, TimeNs down_ns, std::vector<HandedBack>* handed_back) {
    outage_.crash(now_ns, down_ns, handed_back);
  }
  // With nobody in it, the process ends and another one is ready at `ready_ns` > now_ns; kNever:
  // there is none until the next call.
  void restart(TimeNs now_ns, TimeNs ready_ns) { outage_.restart(now_ns, ready_ns); }
  // Plans from now on are priced by slow_costs[number]; -1: by `cost` again.
  void use_cost(std::int32_t number, TimeNs now_ns);

  // Of a replica with a role. Prompt tokens that would be found in its cache.
  [[nodiscard]] TokenCount cached_tokens(const Arrival& arrival) const;
  [[nodiscard]] Handovers& handovers() { return core_.remote.handovers(); }
  // What becomes of those whom an engine that is down has lost.
  [[nodiscard]] Outcome down_outcome() const { return outage_.outcome(); }
  // Whether it is down and keeps no queue meanwhile.
  [[nodiscard]] bool turns_away(TimeNs now_ns) const {
    return rarely(outage_.lasts_at(now_ns)) && !core_.options.queue_survives;
  }
  // The KV that `id` waits for is here, or is lost: then it is recorded, or handed back. And KV
  // that is kept for others was fetched. What changes blocks does so when the engine plans next:
  // then they leave.
  void receive_kv(RequestId id, TimeNs now_ns);
  void lose_kv(RequestId id, Outcome outcome, bool hand_back, TimeNs now_ns);
  void release_kv(const KvHold& hold, TimeNs now_ns);

  // When this replica wants to be called next; kNever when only an arrival can wake it.
  [[nodiscard]] TimeNs next_stop_ns() const {
    return core_.time.next_stop_ns();
  }  // Priority::step_end
  [[nodiscard]] TimeNs next_plan_ns() const { return core_.time.next_plan_ns(); }  // Priority::plan
  void on_step_end(TimeNs now_ns);
  void on_plan(TimeNs now_ns);

  // For who follows answers as they grow. All events up to `now_ns` have been handled; counts the
  // steps that have ended by then, inside a run of equal ones, which changes no result.
  void end_steps_by(TimeNs now_ns) { static_cast<void>(ends_.run_short_of_stop(now_ns)); }
  // When the next step ends; kNever: nothing is in flight.
  [[nodiscard]] TimeNs next_step_end_ns() const { return core_.time.next_step_end_ns(); }
  [[nodiscard]] std::optional<std::int32_t> tokens_of(RequestId id, std::uint64_t index) const {
    return core_.tokens_of(id, index);
  }

  // Ends the run at `now_ns`: steps that have ended by then count, the rest is dropped, and what is
  // still here is recorded as unfinished.
  void stop(TimeNs now_ns);

  // Nothing can happen any more although requests wait: the end of the run as an OOM of kind
  // `thrash`.
  void report_no_progress(TimeNs now_ns) { reports_.no_progress(now_ns); }

  // Requests that left since the last call, in order.
  [[nodiscard]] std::vector<Departure>& departures() { return reports_.tally().departures(); }

  // As a router may see it. KV and generated tokens are those of the latest step end or plan at
  // which a request was admitted, preempted or left: what they are in between is known to the
  // engine alone, and a run of steps may be cut anywhere without changing what is shown.
  [[nodiscard]] ReplicaLoad load(TimeNs now_ns) const;
  // As of the steps that are planned.
  [[nodiscard]] ReplicaState state() const { return core_.state(); }
  [[nodiscard]] const ReplicaCounts& counts() const { return reports_.tally().counts(); }
  [[nodiscard]] std::size_t live() const { return core_.requests.live(); }
  // Of these, the ones that have not left the system. The others are rows, or KV, that outlive
  // their requests.
  [[nodiscard]] std::int64_t present() const {
    const bool ghosts_have_left = mostly(!core_.options.responds_at_end);
    return static_cast<std::int64_t>(live()) - core_.remote.held() -
           (ghosts_have_left ? core_.sums.ghosts() : 0);
  }
  [[nodiscard]] std::uint64_t tokens_out() const { return reports_.tally().tokens_out(); }
  [[nodiscard]] std::int64_t ghost_rows() const {
    return ends_.ghost_rows() + exits_.dropped_rows();
  }
  [[nodiscard]] std::uint64_t priced_plans() const { return plans_.priced_plans(); }
  // Nullptr: nothing of the KV ever leaves the device.
  [[nodiscard]] const KvTierCounts* tier_counts() const { return plans_.tier_counts(); }

  // Nullptr: LoRA is off.
  [[nodiscard]] const AdapterCounts* adapter_counts() const {
    return core_.adapters ? &core_.adapters->counts() : nullptr;
  }

  // Tells from now on of every first token (`ttft`) and every answer of two tokens or more
  // (`tpot`), as clients see them; nullptr: not of those. They outlive this replica's last event.
  void tell_latencies(LatencyWindow* ttft, LatencyWindow* tpot) {
    reports_.tally().tell_latencies(ttft, tpot);
    if (ttft != nullptr) stops_for_first_tokens_ = true;
  }
  // Tells `ttft` of those who wait for a first token for longer than `overdue_ns`, with the time
  // that they have waited. In the engine: those whom its API server still holds do not count.
  // O(requests).
  void tell_overdue(TimeNs now_ns, TimeNs overdue_ns) { reports_.overdue(now_ns, overdue_ns); }

  // Recomputes every sum from the requests themselves (VERIFICATION V0.3, V0.4). O(requests).
  void check_all() const {
    core_.check(std::max(2 * drafted_.drafts(), core_.options.slots_ahead));
  }

 private:
  using Features = ReplicaFeatures;

  void add_features(bool told_plans);
  void wake(TimeNs now_ns);
  [[nodiscard]] bool act_before_plans(TimeNs now_ns);
  [[nodiscard]] bool plan_once(TimeNs now_ns);

  // Parts write their own state. What every event reads comes first: near the beginning of the
  // object it takes shorter instructions.
  ReplicaCore core_;
  // First tokens are looked at when they come out; else the next stop is soon enough. Constructor,
  // submit() and tell_latencies() set it for good.
  bool stops_for_first_tokens_ = false;
  std::unique_ptr<BatchScheduler> scheduler_;
  std::unique_ptr<KvAllocator> kv_;  // as core_.kv
  RunTimeMemory memory_;
  AdmissionRules rules_;
  DraftedStep drafted_;
  WindowMoves windows_;
  ReplicaReports reports_;
  ReplicaExits exits_;
  StepEnds ends_;
  StepPlans plans_;
  ReplicaOutage outage_;
};

}  // namespace headroom
