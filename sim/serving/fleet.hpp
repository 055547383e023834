#pragma once
// Replicas, a router and the event loop that drives them from a workload.

#include <atomic>
#include <compare>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <queue>
#include <unordered_map>
#include <vector>

#include "sim/kernel/event_queue.hpp"
#include "sim/kernel/likely.hpp"
#include "sim/serving/admission_policy.hpp"
#include "sim/serving/disaggregation.hpp"
#include "sim/serving/entry_queues.hpp"
#include "sim/serving/fault_source.hpp"
#include "sim/serving/fleet_lifecycle.hpp"
#include "sim/serving/fleet_sources.hpp"
#include "sim/serving/metrics_sink.hpp"
#include "sim/serving/replica.hpp"
#include "sim/serving/request.hpp"
#include "sim/serving/route_options.hpp"
#include "sim/serving/router.hpp"
#include "sim/serving/workload_source.hpp"

namespace headroom {

class RouteStages;

// When a run ends before its workload is served. Results are complete and consistent in every case.
struct RunLimits {
  TimeNs until_ns = kNever;
  std::uint64_t max_events = UINT64_MAX;
  std::uint64_t no_progress_events = 1'000'000;    // so many events without a token: kind `thrash`
  const std::atomic<bool>* interrupted = nullptr;  // set by a signal handler; seen with full checks
};

enum class StopReason : std::uint8_t { drained, until, max_events, no_progress, interrupted };

struct FleetOptions {
  std::uint64_t seed = 0;  // only printed by failed checks
  // Events between two full scans of the contracts, 2^k; of one replica in its turn, so that many
  // replicas cost no more than one.
  std::uint64_t full_check_interval = 4096;
  TimeNs router_delay_ns = 0;  // the router sees loads as they were so long ago; >= 0
  // Requests that a crash catches are sent to another replica at once, and begin anew there. False:
  // they are lost. Only without API servers.
  bool resends_lost = false;
  // Requests can be looked up and can leave by their number: tokens_out(), leave().
  bool follows_requests = false;
};

// What a fleet is made of besides its replicas. Empty pointers: every request is admitted, nothing
// fails.
struct FleetParts {
  std::unique_ptr<Router> router;
  std::unique_ptr<AdmissionPolicy> admission = {};
  std::unique_ptr<FaultSource> faults = {};
  std::unique_ptr<FleetLifecycle> lifecycle = {};  // empty: all replicas are there all the time
  // Of replicas with roles: `router` chooses among those that prefill, this one's among the others.
  std::optional<DisaggregationParts> disaggregation = {};
  // Of routes that count other tokens, or send requests on to others. Not with roles.
  std::optional<RouteStagesParts> stages = {};
};

// Totals of a run that no sink can know.
struct FleetTotals {
  std::uint64_t events = 0;
  std::uint64_t arrived = 0;
  std::uint64_t cost_evaluations = 0;
  std::optional<KvTierCounts> tier;         // of all replicas; empty: no second tier
  std::optional<AdapterCounts> adapters;    // likewise; empty: LoRA is off
  std::optional<ApiServerUse> api_server;   // likewise; empty: none stands before the engine
  std::optional<ApiServerUse> entries;      // likewise; empty: requests enter when they come
  std::optional<TransferCounts> transfers;  // empty: replicas have no roles
  std::vector<TransferRecord> transfer_records;
  std::vector<ReplicaCounts> replicas;
  std::vector<RouteCounts> routes;           // of FleetParts::stages, else empty
  std::int64_t turned_away = 0;              // at the fleet's door, before any replica
  std::int64_t without_replica = 0;          // of them, because none was there to take them
  std::optional<LifecycleTotals> lifecycle;  // empty: replicas neither come nor go
  TimeNs end_ns = 0;                         // time of the last event, or `until`
};

class Fleet {
 public:
  Fleet(const FleetOptions& options, std::vector<ReplicaParts> parts, FleetParts fleet_parts,
        WorkloadSource& workload, MetricsSink& sink);
  Fleet(const FleetOptions& options, std::vector<ReplicaParts> parts,
        std::unique_ptr<Router> router, WorkloadSource& workload, MetricsSink& sink)
      : Fleet(options, std::move(parts), FleetParts{std::move(router)}, workload, sink) {}
  Fleet(const Fleet&) = delete;
  Fleet& operator=(const Fleet&) = delete;
  ~Fleet();

  // Runs once, from an empty system to its stop.
  StopReason run(const RunLimits& limits);

  // The same, driven by a clock of the caller's, with arrivals that the workload learns of on the
  // way; fleet_live.cpp. Whatever the calls, the results are those of a run() that knew all
  // arrivals from the beginning. First begin(), once.
  void begin();
  // Handles all events up to `until_ns`, included, and counts the tokens of the steps that have
  // ended by then. Calls are in order of time.
  void advance(TimeNs until_ns);
  // When advance() has something to do next: an event, or the end of a step; kNever: nothing will
  // happen before another arrival. Faults and scaling wait for that arrival, as a run() ends
  // without them.
  [[nodiscard]] TimeNs next_ns() const;
  // The workload's next arrival has changed; it is later than the latest advance().
  void note_arrivals();
  // The client of request `index` gives up at `now_ns`, later than the latest advance(). Without
  // effect on one that has left. Not with API servers, whose work depends on who will give up.
  void leave(std::uint64_t index, TimeNs now_ns);
  // Tokens of its answer that are out; empty: it has left, or no engine has it yet.
  [[nodiscard]] std::optional<std::int32_t> tokens_out(std::uint64_t index) const;
  // The last call, at `now_ns`, by when advance() has been: requests that are still here end
  // unfinished.
  StopReason end(TimeNs now_ns);

  [[nodiscard]] const FleetTotals& totals() const { return totals_; }
  [[nodiscard]] const std::vector<std::unique_ptr<Replica>>& replicas() const { return replicas_; }

 private:
  // When `run` looks up from its events next, and what it saw when it last did so.
  struct RunWatch {
    std::uint64_t look_at = 0;      // number of events
    std::uint64_t progress_at = 0;  // likewise: it had produced `tokens` by then
    std::uint64_t tokens = 0;
  };
  [[nodiscard]] std::optional<StopReason> look(const RunLimits& limits, RunWatch& watch);
  [[nodiscard]] bool only_daemons_wait();
  [[nodiscard]] bool is_over() const;
  // fleet_live.cpp
  [[nodiscard]] TimeNs next_event_ns() const {
    return ahead_.time_ns != kNever ? ahead_.time_ns : events_.next_ns();
  }
  void queue_ahead();
  void arrive(TimeNs now_ns);
  void send(const Arrival& arrival, std::uint64_t index, TimeNs now_ns);
  [[nodiscard]] DoorState door(TimeNs now_ns) const;
  void turn_away(const Arrival& arrival, std::uint64_t index, TimeNs now_ns,
                 Outcome outcome = Outcome::rejected, TimeNs queued_ns = -1);
  void depart(std::uint64_t index, Outcome outcome, TimeNs now_ns);
  // kNoReplica: none takes requests.
  [[nodiscard]] std::uint32_t route(Router& router, const Arrival& arrival, std::uint64_t index,
                                    TimeNs now_ns);
  void note_load(std::uint32_t number, TimeNs now_ns);
  void show_load(std::uint32_t number, const ReplicaLoad& load);
  void admit_sent(std::uint32_t number, TimeNs now_ns);
  // fleet_entries.cpp
  [[nodiscard]] bool hold_back(const Arrival& arrival, std::uint64_t index, std::uint32_t number,
                               TimeNs now_ns);
  void admit_held(TimeNs now_ns);
  void settle_entries();
  [[nodiscard]] Event take_next();
  [[nodiscard]] bool run_ahead(const Replica& replica, std::uint32_t number, TimeNs others_ns);
  // An event in its parts, which then come in registers.
  void handle(TimeNs now_ns, Priority priority, std::uint32_t source);
  void handle_other(TimeNs now_ns, Priority priority, std::uint32_t source);
  // Whether others than the router may have to be told of what a replica has done.
  [[nodiscard]] bool has_news(Replica& replica) const {
    return !replica.departures().empty() || has_listeners_;
  }
  void account(std::uint32_t number, TimeNs now_ns);
  void schedule_arrival(TimeNs now_ns);
  void await(const Arrival& arrival, std::uint64_t index, std::uint32_t number, RequestId id);
  void give_up(TimeNs now_ns);
  // fleet_transfer.cpp
  [[nodiscard]] std::uint32_t first_replica(const Arrival& arrival, std::uint64_t index,
                                            TimeNs now_ns);
  void collect_handovers(std::uint32_t number, TimeNs now_ns);
  void lose_handovers(std::uint32_t number, TimeNs now_ns);
  void schedule_handovers();
  void move_handovers(TimeNs now_ns);
  void settle_handovers();
  void hand_on(std::uint64_t number, TimeNs now_ns);
  void complete_transfer(std::uint64_t number, TimeNs now_ns);
  void release_kv(const Disaggregation::Handover& handover, TimeNs now_ns);
  void lose_kv(std::uint32_t from, const LostKv& lost, TimeNs now_ns);
  [[nodiscard]] bool keeps_arrivals() const {
    return rarely(options_.resends_lost) || rarely(apart_ != nullptr);
  }
  // fleet_stages.cpp
  void settle(const Departure& departure, TimeNs now_ns);
  void schedule_verdicts();
  void give_verdict(TimeNs now_ns);
  // fleet_faults.cpp
  void fail(TimeNs now_ns);
  void crash(const Fault& fault, TimeNs now_ns);
  void resend(std::uint32_t from, const HandedBack& lost, TimeNs now_ns);
  // fleet_scaling.cpp
  void schedule_daemons();
  void begin_places();
  void scale(TimeNs now_ns);
  void obey(TimeNs now_ns);
  [[nodiscard]] bool is_empty(std::uint32_t number) const;
  [[nodiscard]] std::uint32_t one_that_takes(std::uint32_t number);
  void schedule_deadline() {
    if (rarely(!deadlines_.empty()) || rarely(next_deadline_ns_ != kNever)) {
      schedule_first_deadline();
    }
  }
  void schedule_first_deadline();
  void reschedule(std::uint32_t number);
  void reschedule(Priority priority, std::uint32_t source, TimeNs wanted, TimeNs& pending) {
    if (rarely(wanted != pending)) schedule_anew(priority, source, wanted, pending);
  }
  void schedule_anew(Priority priority, std::uint32_t source, TimeNs wanted, TimeNs& pending);
  void check_totals(const Replica& replica, std::uint32_t number);
  void check_one();
  void stop_at(TimeNs now_ns, StopReason reason);
  [[nodiscard]] std::uint64_t tokens_out() const;

  // What this replica was last seen to want, so that unchanged events are left alone.
  struct Pending {
    TimeNs stop_ns = kNever;
    TimeNs plan_ns = kNever;
    TimeNs answer_ns = kNever;  // of its API server
    TimeNs ready_ns = kNever;
    std::int64_t here = 0;  // its requests that have not left
  };

  // Where a request is.
  struct Place {
    std::uint32_t replica = 0;
    RequestId id = kNoRequest;
  };

  // A load that the router has not been told of yet.
  struct DelayedLoad {
    TimeNs due_ns = 0;
    std::uint32_t replica = 0;
    ReplicaLoad load;
  };

  // The client of a request leaves at `time_ns` unless it has its answer, or the beginning of it.
  struct Deadline {
    TimeNs time_ns = 0;
    std::uint64_t index = 0;  // of the request, in order of arrival
    RequestId id = kNoRequest;
    std::uint32_t replica = 0;
    bool first_token = false;
    friend constexpr auto operator<=>(const Deadline&, const Deadline&) = default;
  };

  FleetOptions options_;
  std::vector<std::unique_ptr<Replica>> replicas_;
  FleetParts parts_;
  WorkloadSource& workload_;
  std::unique_ptr<RouteStages> stages_;  // null: a request stays what it is, where it came
  MetricsSink& sink_;
  FleetSources sources_;  // replicas are the first of them
  EventQueue events_;
  Event ahead_{.time_ns = kNever};         // before all of these, or at no time
  bool loads_are_looked_at_ = false;       // there is a replica to choose, or admission to close
  bool has_daemons_ = false;               // faults or a lifecycle
  bool has_listeners_ = false;             // an API server, roles or a lifecycle
  std::vector<ReplicaLoad> loads_;         // as the router sees them
  std::vector<ReplicaLoad> noted_loads_;   // as they are; the same without a delay
  std::vector<TokenCount> prompt_tokens_;  // by replica, of the requests routed to it that are here
  std::deque<DelayedLoad> delayed_loads_;  // the oldest first
  std::vector<Pending> pending_;
  FleetTotals totals_;
  TimeNs next_arrival_ns_ = kNever;  // as scheduled
  // Deadlines, the earliest on top. Those of requests that have left are dropped on top only.
  std::priority_queue<Deadline, std::vector<Deadline>, std::greater<>> deadlines_;
  TimeNs next_deadline_ns_ = kNever;   // as scheduled
  TimeNs next_fault_ns_ = kNever;      // as scheduled
  TimeNs next_lifecycle_ns_ = kNever;  // likewise
  // By arrival index, where a crash or another replica may call for them again.
  std::unordered_map<std::uint64_t, Arrival> in_flight_;
  std::unordered_map<std::uint64_t, Place> places_;  // by arrival index; follows_requests
  bool rests_ = false;                     // advance() found nothing but daemons to wait for
  TokenCount waiting_tokens_ = 0;          // in the queues of all engines
  TokenCount scheduled_tokens_ = 0;        // that have left them
  std::int64_t in_transit_ = 0;            // on their way in, handed back, or being judged
  std::unique_ptr<Disaggregation> apart_;  // null: replicas have no roles
  TimeNs next_handover_ns_ = kNever;       // as scheduled
  std::optional<EntryQueues> entries_;     // empty: requests enter their engines when they come
  TimeNs next_entry_ns_ = kNever;          // as scheduled
  TimeNs next_verdict_ns_ = kNever;        // likewise
  std::uint64_t departed_ = 0;
  std::int64_t here_ = 0;  // requests that some replica has
};

}  // namespace headroom
