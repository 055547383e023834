#pragma once
// One engine: takes requests and events, applies and validates the scheduler's plans, and turns
// runs of equal steps into single jumps. docs/semantics.md is its specification.
//
// What it keeps is kept by its parts: where it stands in time (StepTimeline), who is in it
// (ResidentSums), what has become of each request (RequestStory), how far tokens lie apart
// (TokenGaps), and what is copied between steps (KvTransfers). A replica has an API server,
// adapters and a role, or has not.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "sim/kernel/likely.hpp"
#include "sim/serving/adapter_slots.hpp"
#include "sim/serving/admission_rules.hpp"
#include "sim/serving/api_server.hpp"
#include "sim/serving/batch_scheduler.hpp"
#include "sim/serving/decode_set.hpp"
#include "sim/serving/kv_allocator.hpp"
#include "sim/serving/kv_handover.hpp"
#include "sim/serving/kv_transfers.hpp"
#include "sim/serving/link.hpp"
#include "sim/serving/metrics_sink.hpp"
#include "sim/serving/options.hpp"
#include "sim/serving/outage.hpp"
#include "sim/serving/remote_requests.hpp"
#include "sim/serving/replica_load.hpp"
#include "sim/serving/replica_tally.hpp"
#include "sim/serving/request.hpp"
#include "sim/serving/request_story.hpp"
#include "sim/serving/resident_sums.hpp"
#include "sim/serving/run_time_memory.hpp"
#include "sim/serving/shown_load.hpp"
#include "sim/serving/step_cost.hpp"
#include "sim/serving/step_pricing.hpp"
#include "sim/serving/step_timeline.hpp"
#include "sim/serving/token_gaps.hpp"

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
  [[nodiscard]] Handovers& handovers() { return remote_.handovers(); }
  // What becomes of those whom an engine that is down has lost.
  [[nodiscard]] Outcome down_outcome() const { return outage_.outcome(); }
  // Requests that have left it but for their KV.
  [[nodiscard]] std::int64_t held_for_others() const { return remote_.held(); }
  // The KV that `id` waits for is here, or is lost: then it is recorded, or handed back. And KV
  // that is kept for others was fetched. What changes blocks does so when the engine plans next:
  // then they leave.
  void receive_kv(RequestId id, TimeNs now_ns);
  void lose_kv(RequestId id, Outcome outcome, bool hand_back, TimeNs now_ns);
  void release_kv(const KvHold& hold, TimeNs now_ns);

  // When this replica wants to be called next; kNever when only an arrival can wake it.
  [[nodiscard]] TimeNs next_stop_ns() const { return time_.next_stop_ns(); }  // Priority::step_end
  [[nodiscard]] TimeNs next_plan_ns() const { return time_.next_plan_ns(); }  // Priority::plan
  void on_step_end(TimeNs now_ns);
  void on_plan(TimeNs now_ns);

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
  [[nodiscard]] const ReplicaCounts& counts() const { return tally_.counts(); }
  [[nodiscard]] std::size_t live() const { return requests_.live(); }
  // Ghost rows whose requests have left the system already.
  [[nodiscard]] std::int64_t recorded_ghosts() const {
    return rarely(parts_.options.responds_at_end) ? 0 : sums_.ghosts();
  }
  [[nodiscard]] std::uint64_t tokens_out() const { return tally_.tokens_out(); }
  [[nodiscard]] std::int64_t ghost_rows() const { return ghost_rows_; }
  [[nodiscard]] std::uint64_t priced_plans() const { return pricing_.priced_plans(); }
  [[nodiscard]] const KvPoolState& pool() const { return parts_.kv->pool(); }
  // Nullptr: nothing of the KV ever leaves the device.
  [[nodiscard]] const KvTierCounts* tier_counts() const { return transfers_.counts(*parts_.kv); }

  // Nullptr: LoRA is off.
  [[nodiscard]] const AdapterCounts* adapter_counts() const {
    return parts_.adapters ? &parts_.adapters->counts() : nullptr;
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
  void check_all() const;

 private:
  // replica_adapters.cpp is about LoRA, replica_api_server.cpp about what stands before the engine,
  // replica_cancel.cpp about clients that give up, replica_failure.cpp about an engine that dies,
  // replica_gaps.cpp about how far tokens lie apart, replica_ghosts.cpp about rows that outlive
  // their requests, replica_speculation.cpp about steps that verify drafts, replica_stops.cpp about
  // step ends at which it has something to do. replica.cpp: time passes
  void run_to(StepIndex step);
  void report_run(Segment& segment, StepCount steps);
  // Counts the repetitions that a single-stepping engine has planned at step ends up to
  // `completed`.
  void sync(StepIndex completed) {
    const StepIndex target = time_.planned_at_end_of(completed);
    if (target > time_.applied()) apply_repetitions(target);
  }
  void apply_repetitions(StepIndex target);
  void shape_gaps(const Segment& segment, StepCount steps, TickSum end);
  void note_first_gaps(const Segment& segment, TickSum end);
  void note_pause(const Segment& segment, TickSum before, TickSum after);
  void leave_pause(RequestId id);
  [[nodiscard]] TickSum last_token_of(RequestId id) const;
  void yield_first_tokens(const Segment& segment);
  void note_interruptions();
  // At most step ends nobody stops.
  void process_stops() {
    if (time_.stops().first_decode() <= time_.completed_decodes()) {
      process_due_stops();
    } else {
      time_.stops().begin_at(time_.completed_decodes());
    }
    if (rarely(sums_.ghosts() > 0) && sums_.running() == 0) retire_ghosts();
  }
  void process_due_stops();
  void leave_plans(RequestId id);
  void change_windows(RequestId id);
  void stop_for_windows(RequestId id, TokenCount held, TokenCount next);
  void move_windows();
  void finish(RequestId id);
  void become_ghost(RequestId id);
  void retire_ghosts();
  void record(RequestId id, Outcome outcome, TimeNs finish_ns);
  void leave(const RequestRecord& record, const ApiServer::Patience& patience);
  void enter_queue(RequestId id) { sums_.enter_queue(remote_.queued_tokens(id, requests_[id])); }
  void leave_queue(RequestId id) { sums_.leave_queue(remote_.queued_tokens(id, requests_[id])); }
  void show_load() { shown_.show(pool(), tally_.unsettled_tokens()); }
  void catch_up(TimeNs now_ns);
  [[nodiscard]] TickSum latest_tokens() const;
  void remove(RequestId id);
  void withdraw(RequestId id, TimeNs now_ns);
  void withdraw_cancelled(TimeNs now_ns);
  void forget_in_flight(RequestId id);
  void cut_at(TimeNs now_ns);
  [[nodiscard]] ReplicaState state() const;
  void read_state(ReplicaState& now) const;
  void leave_batch(RequestId id, TokenCount held, TokenCount unnamed);
  // Tokens that are out by now.
  [[nodiscard]] std::int32_t generated_so_far(RequestId id) const {
    return stories_[id].generated_by(time_, requests_[id].state);
  }
  // Says later whether `id` is still the same request, in the same stay.
  [[nodiscard]] KvHold hold_of(RequestId id) const { return {id, time_.stops().epoch(id)}; }
  [[nodiscard]] TokenCount unnamed_tokens(RequestId id, TokenCount held) const;
  [[nodiscard]] TokenCount final_tokens_of(RequestId id) const;

  // replica_plan.cpp: plans are applied
  [[nodiscard]] bool plan_once(TimeNs now_ns);
  [[nodiscard]] bool ask_scheduler(TimeNs now_ns);
  void apply_preemptions(TimeNs now_ns);
  void interrupt(RequestId id);
  void apply_rejections(TimeNs now_ns);
  // Of a request that does not enter the queue.
  struct Refusal {
    Outcome outcome = Outcome::rejected;
    EngineEventKind event = EngineEventKind::rejected;  // with outcome rejected
    TimeNs queued_ns = -1;                              // of another replica
  };
  void turn_away(const Request& request, const Refusal& refusal,
                 const ApiServer::Patience& patience, TimeNs now_ns);
  void apply_chunks(TimeNs now_ns, Segment& segment);
  void resume(const Chunk& chunk, Segment& segment);
  void start_sampling(RequestId id, StepIndex step, Segment& segment);
  [[nodiscard]] bool speculates() const { return speculates_; }
  [[nodiscard]] std::int32_t decode_block_tokens() const;
  void apply_verified(Segment& segment);
  void sit_out(RequestId id);
  [[nodiscard]] std::int64_t draw_accepted(TickSum end);
  void yield_accepted();
  void check_blocks(BlockCount blocks) const;
  void count_adapters(StepShape& shape);
  void leave_adapter(const Request& request);
  void check_adapters() const;
  [[nodiscard]] StepCount repetitions(const StepPrice& price);
  void report_event(EngineEventKind kind, TimeNs now_ns, RequestId id, TokenCount tokens,
                    OomKind oom = OomKind::startup, const MemoryShortage* shortage = nullptr);

  // replica_handover.cpp
  void hand_on(RequestId id);
  [[nodiscard]] bool leave_scheduler(RequestId id);
  void apply_exits(TimeNs now_ns);
  void wake(TimeNs now_ns);

  // replica_failure.cpp
  void die_of_growth(TimeNs now_ns);
  [[nodiscard]] bool dies_of_logprobs(TimeNs now_ns);
  void lose_engine(TimeNs now_ns, OomKind kind, const MemoryShortage* shortage = nullptr);
  [[nodiscard]] TokenCount lose_all(TimeNs now_ns, Outcome outcome,
                                    std::vector<HandedBack>* handed_back);
  void lose(RequestId id, TimeNs now_ns, Outcome outcome, std::vector<HandedBack>* handed_back);
  void catch_up_before_end(TimeNs now_ns);
  void come_to_rest(TimeNs now_ns);
  void be_down_until(TimeNs time_ns, Outcome outcome);
  void forget_all_steps();

  // What every event asks for comes first: near the beginning of the object it takes shorter
  // instructions.
  StepTimeline time_;
  std::uint16_t number_;
  bool speculates_;
  bool gaps_are_steps_ = true;     // of all who neither were preempted nor stood by
  bool arrivals_can_join_ = true;  // the scheduler's word with its latest plan
  // Somebody looks at first tokens when they come out. Else it is enough to know of them when
  // something else happens.
  bool stops_for_first_tokens_ = false;
  ReplicaParts parts_;  // less what others have taken
  AdmissionRules rules_;
  StepPricing pricing_;
  ResidentSums sums_;
  std::optional<ApiServer> api_;
  RequestPool requests_;
  std::vector<RequestStory> stories_;  // by RequestId
  MetricsSink& sink_;
  BatchPlan plan_;
  TokenGaps gaps_;
  KvTransfers transfers_;
  RemoteRequests remote_;

  // Speculative decoding: the step in flight.
  struct DraftedStep {
    std::vector<VerifiedRow> rows;         // then with what comes out of it
    std::vector<VerifiedDrafts> outcomes;  // of its rows that have drafts
    TokenCount extra_tokens = 0;           // that it yields beyond one of each row

    void clear() {
      rows.clear();
      outcomes.clear();
      extra_tokens = 0;
    }
  };
  DraftedStep drafted_;

  // Who is dealt with at the next step end or plan.
  std::vector<RequestId> interrupted_;  // preempted while tokens of theirs were in flight
  std::vector<RequestId> cancelled_;    // leave at the next step end
  std::vector<KvHold> moving_;          // windows move in the next plan
  std::vector<RequestId> ghost_ids_;
  RequestId last_refused_ = kNoRequest;  // head of the queue that placement kept out

  Outage outage_;

  // What others are told.
  ReplicaTally tally_;
  ShownLoad shown_;
  StepRun run_;            // the latest report
  ReplicaState reported_;  // of that

  std::uint64_t admissions_ = 0;
  std::int64_t ghost_rows_ = 0;
};

}  // namespace headroom
