#pragma once
// The sink that a run is summarised from. On the hot path: O(1) per call, plus timeline samples,
// plus min(steps, block size); no allocation but the amortised growth of vectors.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "sim/kernel/likely.hpp"
#include "sim/metrics/cost_meter.hpp"
#include "sim/metrics/event_log.hpp"
#include "sim/metrics/itl_meter.hpp"
#include "sim/metrics/kv_meter.hpp"
#include "sim/metrics/per_replica.hpp"
#include "sim/metrics/population_meter.hpp"
#include "sim/metrics/record_totals.hpp"
#include "sim/metrics/request_stream.hpp"
#include "sim/metrics/request_table.hpp"
#include "sim/metrics/run_view.hpp"
#include "sim/metrics/speculation_meter.hpp"
#include "sim/metrics/thrash_meter.hpp"
#include "sim/metrics/timeline.hpp"

namespace headroom {

struct RecorderOptions {
  TimelineOptions timeline = {};
  std::size_t expected_requests = 0;  // memory set aside at once; no limit
  // Given: records are summed up there instead of being kept, and few events are.
  std::optional<RequestStream> stream = {};
};

// What is measured of one replica.
struct ReplicaMeters {
  CostMeter cost;
  KvMeter kv;
  ThrashMeter thrash;
  SpeculationMeter speculation;
};

class Recorder final : public MetricsSink {
 public:
  explicit Recorder(RecorderOptions options = {});

  void on_steps(const StepRun& run) override;
  void on_request(const RequestRecord& record) override;
  void on_event(const EngineEvent& event) override;
  void on_idle(std::uint16_t replica, TickSum instant, const ReplicaState& state) override;

  // Once, when the run is over: closes integrals and timeline at `end_ns` (included) and checks the
  // contracts V0.7 (cost identity) and V0.8 (Little's law).
  void finish(TimeNs end_ns);

  // Nullptr: records are kept.
  [[nodiscard]] const RequestStream* stream() const { return stream_ ? &*stream_ : nullptr; }
  // None where they are summed up at once.
  [[nodiscard]] std::span<const RequestRecord> records() const { return requests_.records(); }
  // Of all records, kept or not.
  [[nodiscard]] const RecordTotals& totals() const { return totals_; }
  [[nodiscard]] const ItlMeter& itl() const { return itl_; }
  [[nodiscard]] const Timeline& timeline() const { return timeline_; }
  [[nodiscard]] const EventLog& events() const { return events_; }
  [[nodiscard]] const PopulationMeter& population() const { return population_; }
  [[nodiscard]] std::size_t replicas() const { return replicas_.size(); }
  [[nodiscard]] const ReplicaMeters& replica(std::uint16_t number) const {
    return replicas_[number].meters;
  }
  [[nodiscard]] TimeNs end_ns() const { return end_ns_; }

 private:
  struct Track {
    ReplicaMeters meters;
    ReplicaState state;  // from `since` on
    TickSum since = 0;
  };
  // Accounts for the time in which `track.state` lasted, up to `instant`.
  void hold_until(Track& track, std::uint16_t replica, TickSum instant) {
    if (rarely(instant != track.since)) hold_on(track, replica, instant);
  }
  void add_step(Track& track, const StepRun& run);
  void add_steps(Track& track, const StepRun& run);
  void hold_on(Track& track, std::uint16_t replica, TickSum instant);

  RecordTotals totals_;
  RequestTable requests_;
  std::optional<RequestStream> stream_;
  ItlMeter itl_;
  Timeline timeline_;
  EventLog events_;
  PopulationMeter population_;
  PerReplica<Track> replicas_;
  TimeNs end_ns_ = -1;
};

}  // namespace headroom
