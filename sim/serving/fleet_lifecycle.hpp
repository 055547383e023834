#pragma once
// Which replicas of a fleet there are: places that are empty, start, serve, drain and end, as a
// scaling policy wants it, and replicas that are restarted one after the other. Decides and counts;
// the fleet does what it orders. docs/semantics.md 32.

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "sim/kernel/time.hpp"
#include "sim/serving/latency_window.hpp"
#include "sim/serving/replica_load.hpp"
#include "sim/serving/scaling_policy.hpp"

namespace headroom {

enum class ScalingMetric : std::uint8_t {
  utilization,  // share of the time with requests
  queue,        // requests that wait
  kv,           // share of the KV pool in use
  in_flight,    // requests, running or waiting
  ttft,         // a percentile over first tokens since the latest decision, in ms
  tpot          // a percentile over answers that ended since then, in ms
};

// Replicas of one kind: numbers `first` to `first` + `places` - 1.
struct LifecycleGroup {
  std::uint32_t first = 0;
  std::uint32_t places = 1;
  std::uint32_t initial = 1;              // replicas at time 0, ready; <= places
  TimeNs start_ns = 1;                    // of the engine, >= 1
  TimeNs provisioning_ns = 0;             // of a node before that
  std::int64_t nodes_ready = 0;           // that stand idle at time 0
  std::unique_ptr<ScalingPolicy> policy;  // nullptr: as many as there are
  ScalingMetric metric = ScalingMetric::utilization;
  double percentile = 95;  // of ttft and tpot, in (0, 100)
  TimeNs overdue_ns =
      0;  // ttft: a request waiting longer for its first token counts with that time
  TimeNs interval_ns = 15 * kNsPerSecond;  // between decisions, >= 1
};

struct RollingRestart {
  TimeNs at_ns = 0;
  std::optional<TimeNs> down_ns = {};  // >= 1; absent: the start time of its group
  std::int64_t at_once = 1;            // >= 1
};

// For the fleet to carry out, in order.
struct ReplicaOrder {
  enum class Kind : std::uint8_t {
    close,  // it takes no more requests
    start,  // its engine is back at `ready_ns`
    end     // it is gone
  };
  Kind kind = Kind::close;
  std::uint32_t replica = 0;
  TimeNs ready_ns = 0;
};

struct ScaleDecision {
  TimeNs time_ns = 0;
  std::uint32_t group = 0;
  std::int64_t from = 0;
  std::int64_t to = 0;
  std::int64_t ready = 0;
  double metric = 0;
  friend constexpr bool operator==(const ScaleDecision&, const ScaleDecision&) = default;
};

struct LifecycleTotals {
  std::vector<TimeNs> exists_ns;           // by replica: from the order of its node to its end
  std::vector<ScaleDecision> decisions;    // that changed something
  std::vector<std::int64_t> most_at_once;  // by group, draining ones included
  std::vector<TimeNs> idle_node_ns;        // by group: of nodes, without a replica
  std::int64_t restarts = 0;               // of rolling restarts
};

class FleetLifecycle {
 public:
  // Groups in order of their numbers, without gaps.
  FleetLifecycle(std::vector<LifecycleGroup> groups, const std::vector<RollingRestart>& restarts);

  [[nodiscard]] bool exists(std::uint32_t replica) const {
    return places_[replica].phase != Phase::empty;
  }
  // Whether requests may be sent to it, as far as this goes: its engine may have crashed.
  [[nodiscard]] bool takes(std::uint32_t replica) const {
    return places_[replica].phase == Phase::serving;
  }
  // `replica` if it takes requests, else the first of its group that does.
  [[nodiscard]] std::optional<std::uint32_t> nearest_that_takes(std::uint32_t replica) const;

  // Receives the latencies of the replica's requests; nullptr: not needed.
  [[nodiscard]] LatencyWindow* ttft_of(std::uint32_t replica) {
    return window_of(replica, ScalingMetric::ttft);
  }
  [[nodiscard]] LatencyWindow* tpot_of(std::uint32_t replica) {
    return window_of(replica, ScalingMetric::tpot);
  }
  // Before `act`: the limit for waiting for a first token, if the replica's group needs it at
  // next_time().
  [[nodiscard]] std::optional<TimeNs> overdue_of(std::uint32_t replica) const;

  [[nodiscard]] TimeNs next_time() const { return next_ns_; }
  // What is due at next_time().
  void act(TimeNs now_ns);
  // Call after everything that may have changed the replica. `is_empty`: it has no requests.
  void on_load(std::uint32_t replica, const ReplicaLoad& load, bool is_empty, TimeNs now_ns);
  // The place of a replica that does not exist cannot be used before then.
  void on_place_lost(std::uint32_t replica, TimeNs until_ns);

  [[nodiscard]] std::optional<ReplicaOrder> take_order();
  [[nodiscard]] LifecycleTotals totals(TimeNs end_ns) const;

 private:
  enum class Phase : std::uint8_t { empty, starting, serving, draining, leaving, restarting };

  // Since the group's latest decision, while it served: the time, and its product with what is
  // measured, in 2^-20 of its unit.
  struct Measured {
    TimeNs up_ns = 0;
    Int128 unit_ns = 0;
  };

  struct Place {
    Phase phase = Phase::empty;
    std::uint32_t group = 0;
    ReplicaLoad load;
    bool ordered = false;   // to start; its load is of before
    TimeNs changed_ns = 0;  // when it came into this phase
    TimeNs exists_since = 0;
    TimeNs exists_ns = 0;      // of replicas that have ended
    TimeNs lost_until_ns = 0;  // with its zone
    TimeNs measured_at = 0;
    Measured measured;
    std::size_t rolling = 0;  // leaving, restarting: number of the restart
  };

  struct Group {
    LifecycleGroup options;
    TimeNs next_ns = kNever;
    std::int64_t idle_nodes = 0;
    TimeNs idle_since = 0;  // so many
    TimeNs idle_ns = 0;     // before that, summed over the nodes
    std::int64_t existing = 0;
    std::int64_t most = 0;
    LatencyWindow latencies;
  };

  struct Rolling {
    RollingRestart options;
    bool begun = false;
    std::vector<std::uint32_t> replicas;
    std::size_t next = 0;
    std::int64_t in_work = 0;
  };

  void decide(Group& group, std::uint32_t number, TimeNs now_ns);
  [[nodiscard]] LatencyWindow* window_of(std::uint32_t replica, ScalingMetric metric);
  static void change_idle_nodes(Group& group, std::int64_t more, TimeNs now_ns);
  void add(Group& group, TimeNs now_ns);
  void take_away(Group& group, TimeNs now_ns);
  void end(std::uint32_t replica, TimeNs now_ns);
  void restart(std::uint32_t replica, TimeNs now_ns);
  void advance(std::size_t rolling, TimeNs now_ns);
  void finish_restart(Place& place, TimeNs now_ns);
  void enter(Place& place, Phase phase, TimeNs now_ns);
  void measure(Place& place, TimeNs now_ns) const;
  void order(ReplicaOrder::Kind kind, std::uint32_t replica, TimeNs ready_ns = 0);
  [[nodiscard]] bool is_ready(const Place& place) const {
    return place.phase == Phase::serving && place.load.up;
  }
  void set_next();

  std::vector<Place> places_;
  std::vector<Group> groups_;
  std::vector<Rolling> rollings_;
  std::deque<ReplicaOrder> orders_;
  std::vector<ScaleDecision> decisions_;
  std::int64_t restarts_ = 0;
  TimeNs next_ns_ = kNever;
};

}  // namespace headroom
