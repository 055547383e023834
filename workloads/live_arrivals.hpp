#pragma once
// Requests that come from outside while a run goes on.

#include <cstdint>
#include <deque>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/serving/workload_source.hpp"

namespace headroom {

class LiveArrivals final : public WorkloadSource {
 public:
  // In order of time. Keeps the prompt's pieces until the request leaves. Returns its number.
  std::uint64_t add(Arrival arrival, std::vector<PrefixSegment> prefix) {
    const std::uint64_t index = added_++;
    if (!prefix.empty()) {
      arrival.prefix = prefixes_.emplace(index, std::move(prefix)).first->second;
    }
    waiting_.push_back(arrival);
    return index;
  }

  [[nodiscard]] TimeNs next_time() override {
    return waiting_.empty() ? kNever : waiting_.front().time_ns;
  }
  [[nodiscard]] Arrival take() override {
    const Arrival arrival = waiting_.front();
    waiting_.pop_front();
    return arrival;
  }
  void on_done(std::uint64_t index, Outcome, TimeNs) override { prefixes_.erase(index); }

 private:
  std::uint64_t added_ = 0;
  std::deque<Arrival> waiting_;
  std::unordered_map<std::uint64_t, std::vector<PrefixSegment>> prefixes_;  // of who is here
};

}  // namespace headroom
