#include "scheduler/fleet/fault_schedule.hpp"

#include <fmt/format.h>

#include <tuple>

namespace headroom {
namespace {

// Crashes further off are never: the run is over long before.
constexpr double kEndOfTimeNs = 4e18;

auto order_of(const Fault& fault) {
  const int end_first = fault.kind == FaultKind::slow_end ? 0 : 1;
  return std::tuple(fault.time_ns, fault.replica, end_first, fault.kind);
}

}  // namespace

bool FaultSchedule::Later::operator()(const Entry& a, const Entry& b) const {
  return std::tuple(order_of(b.fault), b.by_chance) < std::tuple(order_of(a.fault), a.by_chance);
}

FaultSchedule::FaultSchedule(const FaultOptions& options)
    : mean_ns_(options.mtbf_s * 1e9), down_ns_(options.down_ns) {
  for (const Fault& fault : options.scheduled) pending_.push({fault, false});
  if (mean_ns_ <= 0) return;
  for (std::uint32_t replica = 0; replica < down_ns_.size(); ++replica) {
    streams_.emplace_back(options.seed, fmt::format("faults/{}", replica));
    schedule_chance(replica, 0);
  }
}

void FaultSchedule::schedule_chance(std::uint32_t replica, TimeNs from_ns) {
  const double up_ns = streams_[replica].exponential(mean_ns_) + 0.5;
  if (static_cast<double>(from_ns) + up_ns > kEndOfTimeNs) return;
  Fault fault;
  fault.time_ns = from_ns + static_cast<TimeNs>(up_ns);
  fault.replica = replica;
  fault.down_ns = down_ns_[replica];
  pending_.push({fault, true});
}

TimeNs FaultSchedule::next_time() {
  return pending_.empty() ? kNever : pending_.top().fault.time_ns;
}

Fault FaultSchedule::take() {
  const Entry next = pending_.top();
  pending_.pop();
  if (next.by_chance) {
    schedule_chance(next.fault.replica, next.fault.time_ns + next.fault.down_ns);
  }
  return next.fault;
}

}  // namespace headroom
