#pragma once
// A run as Chrome trace-event JSON, for ui.perfetto.dev and chrome://tracing. Each replica is a
// process with
//
//   steps       a slice per run of equal steps (--single-step: per step), with its cost terms
//   requests    an async slice each, and in it queued, prefill, decode, and where it was preempted
//   counters    running and waiting requests, KV tokens
//   instants    out-of-memory, rejections, preemptions, engines that die and come back
//
// Times are those of requests.csv, in microseconds with three decimals.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sim/metrics/per_replica.hpp"
#include "sim/report/files/replaced_file.hpp"
#include "sim/serving/metrics_sink.hpp"

namespace headroom {

class PerfettoLog final : public MetricsSink {
 public:
  // ConfigError: cannot be written; so may every function below.
  explicit PerfettoLog(const std::string& path);

  void on_steps(const StepRun& run) override;
  void on_request(const RequestRecord& record) override;
  void on_event(const EngineEvent& event) override;
  void on_idle(std::uint16_t replica, TickSum instant, const ReplicaState& state) override;

  // Once, when the run is over; only then is the file complete.
  void finish(TimeNs end_ns);

 private:
  struct Change {  // of the queue, that no report has counted yet
    TimeNs time_ns = 0;
    std::int64_t requests = 0;
  };
  struct Track {
    bool is_named = false;
    std::vector<Change> changes;
    std::int64_t running = 0;
    std::int64_t waiting = 0;
  };
  struct Pause {
    TimeNs from_ns = 0;
    TimeNs to_ns = -1;  // -1: not admitted again yet
  };

  [[nodiscard]] Track& track(std::uint16_t replica);
  void write(const std::string& event);
  void write_population(std::uint16_t replica, TimeNs time_ns, std::int64_t running,
                        std::int64_t waiting);
  void write_kv(std::uint16_t replica, TimeNs time_ns, const ReplicaState& state);
  void write_edge(const RequestRecord& record, std::string_view phase, std::string_view name,
                  TimeNs time_ns, std::string_view arguments = {});
  void write_phase(const RequestRecord& record, std::string_view name, TimeNs from_ns,
                   TimeNs next_ns, TimeNs end_ns);
  void write_request(const RequestRecord& record, TimeNs end_ns);

  ReplacedFile file_;
  bool any_ = false;
  PerReplica<Track> tracks_;
  std::map<std::uint64_t, std::vector<Pause>> paused_;  // by request that has not left
  std::vector<RequestRecord> unfinished_;
};

}  // namespace headroom
