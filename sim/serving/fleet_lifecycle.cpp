#include "sim/serving/fleet_lifecycle.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "sim/kernel/check.hpp"

namespace headroom {
namespace {

// Whole, so that a time measured in pieces is the same as in one.
constexpr std::int64_t kUnit = 1 << 20;

std::int64_t units_of(ScalingMetric metric, const ReplicaLoad& load) {
  switch (metric) {
    case ScalingMetric::utilization: return load.outstanding() > 0 ? kUnit : 0;
    case ScalingMetric::queue: return load.waiting * kUnit;
    case ScalingMetric::in_flight: return load.outstanding() * kUnit;
    case ScalingMetric::ttft:
    case ScalingMetric::tpot: return 0;  // not of the load
    case ScalingMetric::kv: break;
  }
  if (load.kv_capacity == 0) return 0;
  return static_cast<std::int64_t>(Int128{load.kv_tokens} * kUnit / load.kv_capacity);
}

bool is_latency(ScalingMetric metric) {
  return metric == ScalingMetric::ttft || metric == ScalingMetric::tpot;
}

}  // namespace

FleetLifecycle::FleetLifecycle(std::vector<LifecycleGroup> groups,
                               const std::vector<RollingRestart>& restarts) {
  for (LifecycleGroup& options : groups) {
    HEADROOM_CHECK(options.first == places_.size() && options.initial <= options.places &&
                       options.start_ns >= 1 && options.interval_ns >= 1,
                   "groups of replicas out of order");
    Group group;
    group.options = std::move(options);
    if (group.options.policy) group.next_ns = group.options.interval_ns;
    group.idle_nodes = group.options.nodes_ready;
    group.existing = group.most = group.options.initial;
    for (std::uint32_t i = 0; i < group.options.places; ++i) {
      Place place;
      place.group = static_cast<std::uint32_t>(groups_.size());
      if (i < group.options.initial) place.phase = Phase::serving;
      places_.push_back(place);
    }
    groups_.push_back(std::move(group));
  }
  for (const RollingRestart& one : restarts) {
    HEADROOM_CHECK(one.at_once >= 1, "a restart of no replica at a time");
    Rolling rolling;
    rolling.options = one;
    rollings_.push_back(std::move(rolling));
  }
  set_next();
}

void FleetLifecycle::set_next() {
  next_ns_ = kNever;
  for (const Group& group : groups_) next_ns_ = std::min(next_ns_, group.next_ns);
  for (const Rolling& one : rollings_) {
    if (!one.begun) next_ns_ = std::min(next_ns_, one.options.at_ns);
  }
}

std::optional<std::uint32_t> FleetLifecycle::nearest_that_takes(std::uint32_t replica) const {
  if (takes(replica)) return replica;
  const LifecycleGroup& group = groups_[places_[replica].group].options;
  for (std::uint32_t i = group.first; i < group.first + group.places; ++i) {
    if (takes(i)) return i;
  }
  return std::nullopt;
}

void FleetLifecycle::order(ReplicaOrder::Kind kind, std::uint32_t replica, TimeNs ready_ns) {
  orders_.push_back({kind, replica, ready_ns});
  if (kind == ReplicaOrder::Kind::start) places_[replica].ordered = true;
}

std::optional<ReplicaOrder> FleetLifecycle::take_order() {
  if (orders_.empty()) return std::nullopt;
  const ReplicaOrder next = orders_.front();
  orders_.pop_front();
  if (next.kind == ReplicaOrder::Kind::start) places_[next.replica].ordered = false;
  return next;
}

void FleetLifecycle::enter(Place& place, Phase phase, TimeNs now_ns) {
  measure(place, now_ns);
  place.phase = phase;
  place.changed_ns = now_ns;
}

void FleetLifecycle::measure(Place& place, TimeNs now_ns) const {
  const TimeNs passed = now_ns - place.measured_at;
  place.measured_at = now_ns;
  if (!is_ready(place)) return;
  const ScalingMetric metric = groups_[place.group].options.metric;
  place.measured.up_ns += passed;
  place.measured.unit_ns += Int128{units_of(metric, place.load)} * passed;
}

void FleetLifecycle::on_load(std::uint32_t replica, const ReplicaLoad& load, bool is_empty,
                             TimeNs now_ns) {
  Place& place = places_[replica];
  measure(place, now_ns);
  place.load = load;
  if (place.ordered) return;
  const bool starts = place.phase == Phase::starting || place.phase == Phase::restarting;
  if (starts && load.up) {
    const bool again = place.phase == Phase::restarting;
    enter(place, Phase::serving, now_ns);
    if (again) finish_restart(place, now_ns);
  } else if (place.phase == Phase::draining && is_empty) {
    end(replica, now_ns);
  } else if (place.phase == Phase::leaving && is_empty) {
    restart(replica, now_ns);
  }
}

void FleetLifecycle::on_place_lost(std::uint32_t replica, TimeNs until_ns) {
  Place& place = places_[replica];
  place.lost_until_ns = std::max(place.lost_until_ns, until_ns);
}

void FleetLifecycle::act(TimeNs now_ns) {
  for (std::uint32_t i = 0; i < groups_.size(); ++i) {
    if (groups_[i].next_ns != now_ns) continue;
    groups_[i].next_ns = now_ns + groups_[i].options.interval_ns;
    decide(groups_[i], i, now_ns);
  }
  for (std::size_t i = 0; i < rollings_.size(); ++i) {
    Rolling& rolling = rollings_[i];
    if (rolling.begun || rolling.options.at_ns != now_ns) continue;
    rolling.begun = true;
    for (std::uint32_t k = 0; k < places_.size(); ++k) {
      if (takes(k)) rolling.replicas.push_back(k);
    }
    advance(i, now_ns);
  }
  set_next();
}

// --- scaling -----------------------------------------------------------------------------------

void FleetLifecycle::decide(Group& group, std::uint32_t number, TimeNs now_ns) {
  ScalingView view{.now_ns = now_ns};
  Measured sum;
  for (std::uint32_t i = 0; i < group.options.places; ++i) {
    Place& place = places_[group.options.first + i];
    measure(place, now_ns);
    const Measured own = std::exchange(place.measured, {});
    if (place.phase == Phase::empty || place.phase == Phase::draining) continue;
    ++view.replicas;
    if (!is_ready(place) || own.up_ns == 0) continue;
    ++view.ready;
    sum.up_ns += own.up_ns;
    sum.unit_ns += own.unit_ns;
  }
  if (view.ready == 0) return;  // nothing is known of the load
  if (is_latency(group.options.metric)) {
    const std::optional<double> ns = group.latencies.percentile(group.options.percentile);
    group.latencies.clear();
    if (!ns) return;
    view.metric = *ns / kNsPerMsReal;
  } else {
    view.metric = static_cast<double>(sum.unit_ns) / static_cast<double>(Int128{kUnit} * sum.up_ns);
  }
  const std::int64_t wanted = group.options.policy->desired(view);
  HEADROOM_CHECK(wanted >= 1 && wanted <= group.options.places, "replicas without places");
  if (wanted == view.replicas) return;
  decisions_.push_back({now_ns, number, view.replicas, wanted, view.ready, view.metric});
  for (std::int64_t i = view.replicas; i < wanted; ++i) add(group, now_ns);
  for (std::int64_t i = wanted; i < view.replicas; ++i) take_away(group, now_ns);
}

LatencyWindow* FleetLifecycle::window_of(std::uint32_t replica, ScalingMetric metric) {
  Group& group = groups_[places_[replica].group];
  return group.options.policy && group.options.metric == metric ? &group.latencies : nullptr;
}

std::optional<TimeNs> FleetLifecycle::overdue_of(std::uint32_t replica) const {
  const Group& group = groups_[places_[replica].group];
  if (group.options.metric != ScalingMetric::ttft || group.next_ns != next_ns_) return std::nullopt;
  return group.options.overdue_ns;
}

void FleetLifecycle::change_idle_nodes(Group& group, std::int64_t more, TimeNs now_ns) {
  group.idle_ns += group.idle_nodes * (now_ns - group.idle_since);
  group.idle_since = now_ns;
  group.idle_nodes += more;
}

// Uses the first free place in a zone that is up, else in the zone that is back first. None is free
// while others drain, so the next decision finds the group unchanged.
void FleetLifecycle::add(Group& group, TimeNs now_ns) {
  const LifecycleGroup& options = group.options;
  std::optional<std::uint32_t> best;
  const auto back_ns = [&](std::uint32_t i) { return std::max(now_ns, places_[i].lost_until_ns); };
  for (std::uint32_t i = options.first; i < options.first + options.places; ++i) {
    if (exists(i)) continue;
    if (!best || back_ns(i) < back_ns(*best)) best = i;
  }
  if (!best) return;
  const bool waits = group.idle_nodes == 0;
  if (!waits) change_idle_nodes(group, -1, now_ns);
  Place& place = places_[*best];
  const TimeNs node_ns = now_ns + (waits ? options.provisioning_ns : 0);
  enter(place, Phase::starting, now_ns);
  place.exists_since = now_ns;
  group.most = std::max(group.most, ++group.existing);
  order(ReplicaOrder::Kind::start, *best,
        std::max(node_ns + options.start_ns, place.lost_until_ns));
}

// As Kubernetes ranks pods for deletion: those that are not ready, then the youngest.
void FleetLifecycle::take_away(Group& group, TimeNs now_ns) {
  const auto rank = [&](const Place& place) {
    if (place.phase == Phase::starting || place.phase == Phase::restarting) return 0;
    if (!place.load.up) return 1;
    return place.phase == Phase::leaving ? 2 : 3;
  };
  std::optional<std::uint32_t> first;
  const auto goes_before = [&](std::uint32_t a, std::uint32_t b) {
    const Place& x = places_[a];
    const Place& y = places_[b];
    return std::tuple(rank(x), -x.changed_ns, -std::int64_t{a}) <
           std::tuple(rank(y), -y.changed_ns, -std::int64_t{b});
  };
  const LifecycleGroup& options = group.options;
  for (std::uint32_t i = options.first; i < options.first + options.places; ++i) {
    const Phase phase = places_[i].phase;
    if (phase == Phase::empty || phase == Phase::draining) continue;
    if (!first || goes_before(i, *first)) first = i;
  }
  HEADROOM_CHECK(first.has_value(), "no replica to take away");
  Place& place = places_[*first];
  const Phase was = place.phase;
  if (was == Phase::starting || was == Phase::restarting) {
    end(*first, now_ns);
  } else {
    enter(place, Phase::draining, now_ns);
    order(ReplicaOrder::Kind::close, *first);
  }
  if (was == Phase::leaving || was == Phase::restarting) finish_restart(place, now_ns);
}

void FleetLifecycle::end(std::uint32_t replica, TimeNs now_ns) {
  Place& place = places_[replica];
  Group& group = groups_[place.group];
  enter(place, Phase::empty, now_ns);
  place.exists_ns += now_ns - place.exists_since;
  --group.existing;
  if (group.idle_nodes < group.options.nodes_ready) change_idle_nodes(group, 1, now_ns);
  order(ReplicaOrder::Kind::end, replica);
}

// --- restarts ----------------------------------------------------------------------------------

void FleetLifecycle::advance(std::size_t number, TimeNs now_ns) {
  Rolling& rolling = rollings_[number];
  while (rolling.in_work < rolling.options.at_once && rolling.next < rolling.replicas.size()) {
    const std::uint32_t replica = rolling.replicas[rolling.next++];
    Place& place = places_[replica];
    if (!is_ready(place)) continue;  // one that is down starts anew anyway
    ++rolling.in_work;
    place.rolling = number;
    enter(place, Phase::leaving, now_ns);
    order(ReplicaOrder::Kind::close, replica);
  }
}

void FleetLifecycle::restart(std::uint32_t replica, TimeNs now_ns) {
  Place& place = places_[replica];
  enter(place, Phase::restarting, now_ns);
  if (!place.load.up) return;  // it has crashed, and starts anew by itself
  const TimeNs start_ns = groups_[place.group].options.start_ns;
  const TimeNs down_ns = rollings_[place.rolling].options.down_ns.value_or(start_ns);
  order(ReplicaOrder::Kind::start, replica, now_ns + down_ns);
}

// It is back, or will not come back.
void FleetLifecycle::finish_restart(Place& place, TimeNs now_ns) {
  Rolling& rolling = rollings_[place.rolling];
  --rolling.in_work;
  restarts_ += place.phase == Phase::serving ? 1 : 0;
  advance(place.rolling, now_ns);
}

LifecycleTotals FleetLifecycle::totals(TimeNs end_ns) const {
  LifecycleTotals totals;
  for (const Place& place : places_) {
    const bool here = place.phase != Phase::empty;
    totals.exists_ns.push_back(place.exists_ns + (here ? end_ns - place.exists_since : 0));
  }
  for (const Group& group : groups_) {
    totals.most_at_once.push_back(group.most);
    totals.idle_node_ns.push_back(group.idle_ns + group.idle_nodes * (end_ns - group.idle_since));
  }
  totals.decisions = decisions_;
  totals.restarts = restarts_;
  return totals;
}

}  // namespace headroom
