#pragma once
// Requests that are known one by one: measured ones, or those of a calibration. The list outlives
// the source.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/serving/workload_source.hpp"

namespace headroom {

// Each at its own time.
class ListedArrivals final : public WorkloadSource {
 public:
  explicit ListedArrivals(const std::vector<Arrival>& arrivals) : arrivals_(arrivals) {}
  [[nodiscard]] TimeNs next_time() override {
    return next_ < arrivals_.size() ? arrivals_[next_].time_ns : kNever;
  }
  [[nodiscard]] Arrival take() override { return arrivals_[next_++]; }
  void on_done(std::uint64_t, Outcome, TimeNs) override {}

 private:
  const std::vector<Arrival>& arrivals_;
  std::size_t next_ = 0;
};

// A client with `concurrency` places: whatever came of a request, its place goes to the next one.
class ListedInClosedLoop final : public WorkloadSource {
 public:
  ListedInClosedLoop(const std::vector<Arrival>& arrivals, std::int64_t concurrency)
      : arrivals_(arrivals), free_(concurrency) {}
  [[nodiscard]] TimeNs next_time() override {
    return free_ > 0 && next_ < arrivals_.size() ? free_since_ns_ : kNever;
  }
  [[nodiscard]] Arrival take() override {
    --free_;
    Arrival arrival = arrivals_[next_++];
    arrival.time_ns = free_since_ns_;
    return arrival;
  }
  void on_done(std::uint64_t, Outcome, TimeNs now_ns) override {
    ++free_;
    free_since_ns_ = now_ns;
  }

 private:
  const std::vector<Arrival>& arrivals_;
  std::int64_t free_;
  TimeNs free_since_ns_ = 0;  // of the last one; earlier ones are read before time advances
  std::size_t next_ = 0;
};

}  // namespace headroom
