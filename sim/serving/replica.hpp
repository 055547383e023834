#pragma once
// One engine: takes requests and events, applies and validates the scheduler's plans, and turns
// runs of equal steps into single jumps. docs/semantics.md is its specification.
//
// It is composed of parts with headers of their own: the core that all of them share (ReplicaCore),
// admission (AdmissionRules), step times (StepPricing, KvTransfers), outages (Outage), and what
// others see (ReplicaTally, ShownLoad). Features that most replicas lack are bits of
// ReplicaFeatures: an API server (ApiServer), drafts (DraftedStep), windows (WindowMoves), adapters
// and a role (AdapterSlots and RemoteRequests, in the core).

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "sim/kernel/likely.hpp"
#include "sim/serving/admission_rules.hpp"
#include "sim/serving/api_server.hpp"
#include "sim/serving/batch_scheduler.hpp"
#include "sim/serving/drafted_step.hpp"
#include "sim/serving/kv_allocator.hpp"
#include "sim/serving/kv_handover.hpp"
#include "sim/serving/kv_transfers.hpp"
#include "sim/serving/latency_window.hpp"
#include "sim/serving/link.hpp"
#include "sim/serving/metrics_sink.hpp"
#include "sim/serving/options.hpp"
#include "sim/serving/outage.hpp"
#include "sim/serving/replica_core.hpp"
#include "sim/serving/replica_features.hpp"
#include "sim/serving/replica_load.hpp"
#include "sim/serving/replica_tally.hpp"
#include "sim/serving/request.hpp"
#include "sim/serving/run_time_memory.hpp"
#include "sim/serving/shown_load.hpp"
#include "sim/serving/step_cost.hpp"
#include "sim/serving/step_pricing.hpp"
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
  void record_unseen(const RequestRecord& record) { tally_.depart(record); }

  // Nullptr: clients talk to the engine itself, with `submit`. Otherwise a request is sent first
  // and admitted when the server is done with it, and answers are collected when their time comes.
  [[nodiscard]] const ApiServer* api_server() const {
    return rarely(api_.has_value()) ? &*api_ : nullptr;
  }
  void send(const Arrival& arrival, std::uint64_t index, TimeNs now_ns);
  [[nodiscard]] std::optional<Admission> admit_sent(TimeNs now_ns);  // the next one due by now
  void collect_answers(TimeNs now_ns);

  // Whether the client of request `id`, which arrived as number `index`, will still wait here at
  // `time_ns` for its answer (`first_token`: for the beginning of it), as far as is known now.
  [[nodiscard]] bool awaits(RequestId id, std::uint64_t index, bool first_token,
                            TimeNs time_ns) const;
  // That client gives up, after all step ends and arrivals of this nanosecond.
  void cancel(RequestId id, TimeNs now_ns);

  // The engine dies of a fault, after all step ends, arrivals and cancellations of this nanosecond,
  // and is back `down_ns` (>= 1) later. Who was in it is lost, or handed back without a record.
  void crash(TimeNs now_ns, TimeNs down_ns, std::vector<HandedBack>* handed_back);
  // With nobody in it, the process ends and another one is ready at `ready_ns` > now_ns; kNever:
  // there is none until the next call.
  void restart(TimeNs now_ns, TimeNs ready_ns);
  // Plans from now on are priced by slow_costs[number]; -1: by `cost` again.
  void use_cost(std::int32_t number, TimeNs now_ns);

  // Of a replica with a role; replica_handover.cpp. Prompt tokens that would be found in its cache.
  [[nodiscard]] TokenCount cached_tokens(const Arrival& arrival) const;
  [[nodiscard]] Handovers& handovers() { return core_.remote.handovers(); }
  // What becomes of those whom an engine that is down has lost.
  [[nodiscard]] Outcome down_outcome() const { return outage_.outcome(); }
  // Whether it is down and keeps no queue meanwhile.
  [[nodiscard]] bool turns_away(TimeNs now_ns) const {
    return rarely(outage_.lasts_at(now_ns)) && !options_.queue_survives;
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
  void end_steps_by(TimeNs now_ns) { static_cast<void>(run_short_of_stop(now_ns)); }
  // When the next step ends; kNever: nothing is in flight.
  [[nodiscard]] TimeNs next_step_end_ns() const { return core_.time.next_step_end_ns(); }
  // Tokens that are out of the answer to request `index`; empty: it is not here. 0 until the end
  // where clients see nothing before.
  [[nodiscard]] std::optional<std::int32_t> tokens_of(RequestId id, std::uint64_t index) const;

  // Ends the run at `now_ns`: steps that have ended by then count, the rest is dropped, and what is
  // still here is recorded as unfinished.
  void stop(TimeNs now_ns);

  // Nothing can happen any more although requests wait: the end of the run as an OOM of kind
  // `thrash`.
  void report_no_progress(TimeNs now_ns);

  // Requests that left since the last call, in order.
  [[nodiscard]] std::vector<Departure>& departures() { return tally_.departures(); }

  // As a router may see it. KV and generated tokens are those of the latest step end or plan at
  // which a request was admitted, preempted or left: what they are in between is known to the
  // engine alone, and a run of steps may be cut anywhere without changing what is shown.
  [[nodiscard]] ReplicaLoad load(TimeNs now_ns) const;
  // As of the steps that are planned.
  [[nodiscard]] ReplicaState state() const;
  [[nodiscard]] const ReplicaCounts& counts() const { return tally_.counts(); }
  [[nodiscard]] std::size_t live() const { return core_.requests.live(); }
  // Of these, the ones that have not left the system. The others are rows, or KV, that outlive
  // their requests.
  [[nodiscard]] std::int64_t present() const {
    const bool ghosts_have_left = mostly(!options_.responds_at_end);
    return static_cast<std::int64_t>(live()) - core_.remote.held() -
           (ghosts_have_left ? core_.sums.ghosts() : 0);
  }
  [[nodiscard]] std::uint64_t tokens_out() const { return tally_.tokens_out(); }
  [[nodiscard]] std::int64_t ghost_rows() const { return ghost_rows_; }
  [[nodiscard]] std::uint64_t priced_plans() const { return pricing_.priced_plans(); }
  // Nullptr: nothing of the KV ever leaves the device.
  [[nodiscard]] const KvTierCounts* tier_counts() const { return transfers_.counts(core_.kv); }

  // Nullptr: LoRA is off.
  [[nodiscard]] const AdapterCounts* adapter_counts() const {
    return core_.adapters ? &core_.adapters->counts() : nullptr;
  }

  // Tells from now on of every first token (`ttft`) and every answer of two tokens or more
  // (`tpot`), as clients see them; nullptr: not of those. They outlive this replica's last event.
  void tell_latencies(LatencyWindow* ttft, LatencyWindow* tpot) {
    tally_.tell_latencies(ttft, tpot);
    if (ttft != nullptr) stops_for_first_tokens_ = true;
  }
  // Tells `ttft` of those who wait for a first token for longer than `overdue_ns`, with the time
  // that they have waited. In the engine: those whom its API server still holds do not count.
  // O(requests).
  void tell_overdue(TimeNs now_ns, TimeNs overdue_ns);

  // Recomputes every sum from the requests themselves (VERIFICATION V0.3, V0.4). O(requests).
  void check_all() const { core_.check(std::max(2 * drafted_.drafts(), options_.slots_ahead)); }

 private:
  using Features = ReplicaFeatures;
  // With any of these, gaps between tokens are not simply the step times.
  static constexpr unsigned kShapesGaps =
      Features::api_server | Features::drafts | Features::whole_answers | Features::micro_batches;

  // replica.cpp: requests come, time passes, requests finish
  void wake(TimeNs now_ns);
  void cut_at(TimeNs now_ns);
  // Counts the repetitions that a single-stepping engine has planned at step ends up to
  // `completed`.
  void sync(StepIndex completed) {
    const StepIndex target = core_.time.planned_at_end_of(completed);
    if (target > core_.time.applied()) apply_repetitions(target);
  }
  void apply_repetitions(StepIndex target);
  void run_to(StepIndex step);
  void report_run(Segment& segment, StepCount steps);
  void shape_gaps(const Segment& segment, StepCount steps, TickSum end);
  void yield_first_tokens(const Segment& segment);
  bool run_short_of_stop(TimeNs now_ns);
  void finish(RequestId id);

  // replica_stops.cpp: step ends at which a request stops, which most step ends are not
  void process_stops() {
    StopQueue& stops = core_.time.stops();
    if (stops.first_decode() <= core_.time.completed_decodes()) {
      process_due_stops();
    } else {
      stops.begin_at(core_.time.completed_decodes());
    }
    if (rarely(core_.sums.ghosts() > 0) && core_.sums.running() == 0) retire_ghosts();
  }
  void process_due_stops();
  void become_ghost(RequestId id);
  void retire_ghosts();

  // replica_plan.cpp: plans are applied
  [[nodiscard]] bool act_before_plans(TimeNs now_ns);
  [[nodiscard]] bool plan_once(TimeNs now_ns);
  [[nodiscard]] bool ask_scheduler(TimeNs now_ns);
  void move_kv();
  void apply_preemptions(TimeNs now_ns);
  void apply_rejections(TimeNs now_ns);
  void apply_chunks(TimeNs now_ns, Segment& segment);
  [[nodiscard]] TokenCount admit(const Chunk& chunk, TimeNs now_ns);
  void resume(const Chunk& chunk, Segment& segment);
  void start_sampling(RequestId id, StepIndex step, Segment& segment);
  void shape_rows(Segment& segment);
  void shape_ranks(bool decodes);
  void check_limits(const StepShape& shape, std::int64_t ranks) const;
  [[nodiscard]] StepCount repetitions(const StepPrice& price);

  // replica_reports.cpp: others are told
  void show_load() { shown_.show(core_.kv.pool(), tally_.unsettled_tokens()); }
  void report_event(EngineEventKind kind, TimeNs now_ns, RequestId id, TokenCount tokens,
                    OomKind oom = OomKind::startup, const MemoryShortage* shortage = nullptr);
  // Of a request that does not enter the queue.
  struct Refusal {
    Outcome outcome = Outcome::rejected;
    EngineEventKind event = EngineEventKind::rejected;  // with outcome rejected
    TimeNs queued_ns = -1;                              // of another replica
  };
  void report_plan(TimeNs now_ns);
  void turn_away(const Request& request, const Refusal& refusal,
                 const ApiServer::Patience& patience, TimeNs now_ns);
  void record(RequestId id, Outcome outcome, TimeNs finish_ns);

  // replica_api_server.cpp: what stands before the engine
  void catch_up(TimeNs now_ns);
  void leave(const RequestRecord& record, const ApiServer::Patience& patience);
  [[nodiscard]] TickSum latest_tokens() const;

  // replica_cancel.cpp: clients give up
  void withdraw(RequestId id, TimeNs now_ns);
  void withdraw_cancelled(TimeNs now_ns);

  // replica_handover.cpp: prompts are computed here and decoded there
  void hand_on(RequestId id);
  [[nodiscard]] bool leave_scheduler(RequestId id);
  void apply_exits(TimeNs now_ns);

  // replica_failure.cpp: the engine dies
  [[nodiscard]] bool dies_of_logprobs(TimeNs now_ns);
  void lose_engine(TimeNs now_ns, OomKind kind, const MemoryShortage* shortage = nullptr);
  void fail_running(TimeNs now_ns);
  [[nodiscard]] TokenCount lose_all(TimeNs now_ns, Outcome outcome,
                                    std::vector<HandedBack>* handed_back, bool queue_survives);
  void lose(RequestId id, TimeNs now_ns, Outcome outcome, std::vector<HandedBack>* handed_back);
  void come_to_rest(TimeNs now_ns);
  void be_down_until(TimeNs time_ns, Outcome outcome);

  // Parts write their own state; the comment at every other field names its writers.
  //
  // What every event reads comes first: near the beginning of the object it takes shorter
  // instructions.
  ReplicaCore core_;
  ReplicaFeatures features_;       // the constructor
  std::uint16_t number_;           // the constructor
  bool arrivals_can_join_ = true;  // the scheduler's latest plan; false: cut_at()
  // First tokens are looked at when they come out; else the next stop is soon enough. Constructor,
  // submit() and tell_latencies() set it for good.
  bool stops_for_first_tokens_ = false;
  ReplicaOptions options_;  // the constructor
  std::unique_ptr<BatchScheduler> scheduler_;
  std::unique_ptr<KvAllocator> kv_;  // as core_.kv
  RunTimeMemory memory_;
  AdmissionRules rules_;
  StepPricing pricing_;
  KvTransfers transfers_;
  Outage outage_;
  std::optional<ApiServer> api_;
  DraftedStep drafted_;
  WindowMoves windows_;
  BatchPlan plan_;                      // the scheduler, in ask_scheduler(); the latest plan
  std::vector<StepShape> rank_shapes_;  // shape_ranks(); of the latest plan's step, by data rank

  // Requests to be dealt with at a later step end or plan; lose_all() and crash() clear the lists.
  std::vector<RequestId> cancelled_;  // leave at the next step end; cancel(), withdraw_cancelled()
  std::vector<RequestId> ghost_ids_;  // leave with the last live row; become_ghost(),
                                      // retire_ghosts()
  // Head of the queue that placement kept out; ask_scheduler(), and functions that remove it.
  RequestId last_refused_ = kNoRequest;

  // What others are told.
  MetricsSink& sink_;
  ReplicaTally tally_;
  ShownLoad shown_;
  StepRun run_;                   // the latest report; report_run() and shape_gaps()
  ReplicaState reported_;         // its state; report_run()
  std::uint64_t admissions_ = 0;  // admit()
  std::int64_t ghost_rows_ = 0;   // report_run(), withdraw()
};

}  // namespace headroom
