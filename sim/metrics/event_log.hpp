#pragma once
// The engine events that explain a run. Queueing and admission are not kept: the request table has
// them.

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sim/kernel/likely.hpp"
#include "sim/metrics/per_replica.hpp"
#include "sim/serving/metrics_sink.hpp"

namespace headroom {

inline constexpr std::size_t kEngineEventKinds = 13;

struct LoggedEvent {
  EngineEventKind kind = EngineEventKind::preempted;
  OomKind oom = OomKind::startup;  // with kind oom, rejected and placement_refused
  std::uint16_t replica = 0;
  TimeNs time_ns = 0;
  // placement_refused: when that request was finally admitted; -1 = never. One entry per request
  // and wait: the number of retries means nothing, because it depends on how often plans are made.
  TimeNs until_ns = -1;
  std::uint64_t request = UINT64_MAX;
  TokenCount tokens = 0;
  std::int64_t running = -1;  // -1: the event came without a state
  std::int64_t waiting = -1;
  BlockCount free_blocks = -1;
};

// A run-time OOM with all that is known about its moment.
struct OomMoment {
  OomKind kind = OomKind::startup;
  TimeNs time_ns = 0;
  std::uint16_t replica = 0;
  std::uint64_t request = UINT64_MAX;
  TokenCount wanted_tokens = 0;
  std::optional<ReplicaState> state;
  std::optional<MemoryShortage> shortage;  // where a ledger of bytes refused
};

// Requests turned away for want of memory, by replica and kind of OOM: `rejected_too_long`, and
// `fragmentation` for those that found enough free blocks but no hole.
struct TurnedAway {
  EngineEvent first;
  std::int64_t count = 0;
};

class EventLog {
 public:
  // Keeps so many events, the first ones; later ones are counted only, and where not all are kept
  // those that every cascade has thousands of.
  explicit EventLog(std::size_t most_events = SIZE_MAX) : most_events_(most_events) {}
  void add(const EngineEvent& event) {
    if (event.kind == EngineEventKind::queued) {
      ++counts_[static_cast<std::size_t>(EngineEventKind::queued)];
    } else if (mostly(event.kind == EngineEventKind::admitted)) {
      add_admission(event);
    } else {
      add_rare(event);
    }
  }

  [[nodiscard]] std::span<const LoggedEvent> events() const { return events_; }
  [[nodiscard]] std::int64_t not_kept() const { return not_kept_; }
  // By the first of their kind.
  [[nodiscard]] std::span<const TurnedAway> turned_away() const { return turned_away_; }
  [[nodiscard]] std::span<const OomMoment> ooms() const { return ooms_; }
  // Entries of a kind (requests, not repetitions, for placement_refused); all events for those
  // kinds that are not kept.
  [[nodiscard]] std::int64_t count(EngineEventKind kind) const {
    return counts_[static_cast<std::size_t>(kind)];
  }
  // Tokens looked up in the prefix cache at first admissions, and found (vLLM's
  // prefix_cache_queries and prefix_cache_hits).
  [[nodiscard]] TokenCount prefix_queries() const { return prefix_queries_; }
  [[nodiscard]] TokenCount prefix_hits() const { return prefix_hits_; }

 private:
  struct Episode {  // the request a replica fails to place now
    std::uint64_t request = UINT64_MAX;
    std::size_t entry = SIZE_MAX;  // SIZE_MAX: was not kept
  };
  void add_admission(const EngineEvent& event) {
    ++counts_[static_cast<std::size_t>(EngineEventKind::admitted)];
    if (rarely(event.replica < refusals_.size())) end_refusal(event);
    if (rarely(event.resumed)) return;
    prefix_queries_ += event.tokens;
    prefix_hits_ += event.cached_tokens;
  }
  void add_rare(const EngineEvent& event);
  void end_refusal(const EngineEvent& event);
  void turn_away(const EngineEvent& event);
  void keep(const EngineEvent& event);

  std::size_t most_events_;
  std::int64_t not_kept_ = 0;
  std::vector<LoggedEvent> events_;
  std::vector<TurnedAway> turned_away_;
  std::vector<OomMoment> ooms_;
  PerReplica<Episode> refusals_;
  std::array<std::int64_t, kEngineEventKinds> counts_{};
  TokenCount prefix_queries_ = 0;
  TokenCount prefix_hits_ = 0;
};

}  // namespace headroom
