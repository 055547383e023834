#pragma once
// When sessions start that no other session brings about: those of an arrival process, or the first
// ones of a closed loop's users. Numbered from 0 in this order.

#include <cstdint>
#include <optional>

#include "sim/kernel/time.hpp"
#include "workloads/arrivals.hpp"
#include "workloads/traffic_options.hpp"

namespace headroom {

class SessionStarts {
 public:
  SessionStarts(const TrafficOptions& options, std::uint64_t seed);  // ConfigError

  // Of the next one, kNever when none will come; non-decreasing.
  [[nodiscard]] TimeNs next_ns() const { return next_ns_; }
  [[nodiscard]] std::uint64_t next_number() const { return given_; }
  void advance();
  void stop() { next_ns_ = kNever; }

 private:
  [[nodiscard]] TimeNs start_of_user(std::uint64_t user) const;
  void find_next();

  std::optional<ArrivalTimes> arrivals_;
  std::uint64_t users_ = 0;  // 0: arrivals
  TimeNs within_ns_ = 0;
  TimeNs end_ns_;
  std::uint64_t count_ = UINT64_MAX;  // that start at most
  std::uint64_t given_ = 0;
  TimeNs next_ns_ = kNever;
};

}  // namespace headroom
