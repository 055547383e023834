#pragma once
// What a replica tells others: the sink of events and plans, clients and the fleet of requests that
// have left, a router of its load. Its API server (docs/semantics.md, "The API server") stands
// between it and its clients: they know what has passed it.

#include <cstdint>
#include <optional>

#include "sim/kernel/likely.hpp"
#include "sim/serving/api_server.hpp"
#include "sim/serving/batch_scheduler.hpp"
#include "sim/serving/metrics_sink.hpp"
#include "sim/serving/replica_core.hpp"
#include "sim/serving/replica_tally.hpp"
#include "sim/serving/run_time_memory.hpp"
#include "sim/serving/shown_load.hpp"

namespace headroom {

class ReplicaReports {
 public:
  // Of a request that does not enter the queue.
  struct Refusal {
    Outcome outcome = Outcome::rejected;
    // Why it is rejected, if that is its outcome.
    EngineEventKind event = EngineEventKind::rejected;
    OomKind oom = OomKind::rejected_too_long;
    TimeNs queued_ns = -1;  // of another replica
  };

  ReplicaReports(const ReplicaCore& core, MetricsSink& sink);

  // Nullptr: clients talk to the engine itself.
  [[nodiscard]] ApiServer* api() { return rarely(api_.has_value()) ? &*api_ : nullptr; }
  [[nodiscard]] const ApiServer* api() const { return rarely(api_.has_value()) ? &*api_ : nullptr; }
  // When the tokens of the latest step reached the clients, with its sub-nanosecond part and
  // without what is the same for all.
  [[nodiscard]] TickSum latest_tokens() const {
    return core_.features.any(ReplicaFeatures::api_server) ? api_->written() : core_.time.clock();
  }

  void event(const EngineEvent& event) { sink_.on_event(event); }
  void event(EngineEventKind kind, TimeNs now_ns, RequestId id, TokenCount tokens,
             OomKind oom = OomKind::startup, const MemoryShortage* shortage = nullptr);
  void steps(const StepRun& run) { sink_.on_steps(run); }
  // Nothing is in flight from now on.
  void idle() { sink_.on_idle(core_.number, core_.time.clock(), core_.state()); }
  // A plan whose chunks are applied, before its step enters the pipeline.
  void plan(const BatchPlan& plan, TimeNs now_ns);
  // The end of the run as an OOM of kind `thrash`: requests wait, and nothing can happen any more.
  void no_progress(TimeNs now_ns);

  // A request leaves the engine, and the system as soon as its client knows.
  void turn_away(const Request& request, const Refusal& refusal,
                 const ApiServer::Patience& patience, TimeNs now_ns);
  void record(RequestId id, Outcome outcome, TimeNs finish_ns);
  // Answers whose time has come are with their clients.
  void collect_answers(TimeNs now_ns);
  // The run ends: those whom the API server still holds are unfinished.
  void stop(TimeNs now_ns);

  // Tells of those who wait for a first token for longer than `overdue_ns`; O(requests).
  void overdue(TimeNs now_ns, TimeNs overdue_ns);

  // A request was admitted, preempted or left: show_if_stale() follows at the end of the event.
  void become_stale() { shown_.become_stale(); }
  void show_if_stale() {
    if (shown_.is_stale()) show();
  }
  void show() { shown_.show(core_.kv.pool(), tally_.unsettled_tokens()); }
  [[nodiscard]] const ShownLoad& shown() const { return shown_; }

  [[nodiscard]] ReplicaTally& tally() { return tally_; }
  [[nodiscard]] const ReplicaTally& tally() const { return tally_; }

 private:
  void leave(const RequestRecord& record, const ApiServer::Patience& patience);

  const ReplicaCore& core_;
  MetricsSink& sink_;
  std::optional<ApiServer> api_;
  ReplicaTally tally_;
  ShownLoad shown_;
};

}  // namespace headroom
