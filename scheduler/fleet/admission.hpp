#pragma once
// Which requests a fleet admits: four rules, of which one is active.

#include <cstdint>
#include <deque>
#include <vector>

#include "sim/serving/admission_policy.hpp"

namespace headroom {

// At most so many requests at once.
class MaxInFlight final : public AdmissionPolicy {
 public:
  explicit MaxInFlight(std::int64_t most) : most_(most) {}
  [[nodiscard]] bool admits(const Arrival&, const DoorState& door) override {
    return door.in_flight < most_;
  }

 private:
  std::int64_t most_;
};

// The same; requests that are not of the first priority (`first`, or a smaller number) fill `low`
// of these places at most.
class PriorityPlaces final : public AdmissionPolicy {
 public:
  PriorityPlaces(std::int64_t most, std::int64_t low, std::int32_t first)
      : most_(most), low_(low), first_(first) {}
  [[nodiscard]] bool admits(const Arrival& arrival, const DoorState& door) override {
    return door.in_flight < (arrival.priority <= first_ ? most_ : low_);
  }

 private:
  std::int64_t most_;
  std::int64_t low_;
  std::int32_t first_;
};

// A bucket that fills at a rate and holds so much; full at the start. A request takes 1, or its
// prompt tokens, or is turned away.
class TokenBucket final : public AdmissionPolicy {
 public:
  struct Options {
    bool counts_prompt_tokens = false;
    double rate_per_s = 1;  // > 0
    double burst = 1;       // >= 1
  };
  explicit TokenBucket(const Options& options);
  [[nodiscard]] bool admits(const Arrival& arrival, const DoorState& door) override;

 private:
  bool counts_prompt_tokens_;
  // In 2^-20 of a unit, so that the sum over many requests is exact.
  std::int64_t per_s_;
  std::int64_t burst_;
  Int128 held_ns_;  // times the nanoseconds of a second
  TimeNs since_ns_ = 0;
};

// Turns away whom the queues would keep beyond the time to first token that its class is promised:
// tokens that wait, over the rate at which they have left the queues lately.
class DeadlineShedding final : public AdmissionPolicy {
 public:
  // `ttft_ns` by class; kNever: a class without a target, which is always admitted.
  DeadlineShedding(std::vector<TimeNs> ttft_ns, TimeNs window_ns);
  [[nodiscard]] bool admits(const Arrival& arrival, const DoorState& door) override;

 private:
  struct Sample {
    TimeNs time_ns = 0;
    TokenCount scheduled_tokens = 0;
  };

  std::vector<TimeNs> ttft_ns_;
  TimeNs window_ns_;
  std::deque<Sample> samples_;  // one for each eighth of the window, the oldest first
};

}  // namespace headroom
