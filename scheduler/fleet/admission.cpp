#include "scheduler/fleet/admission.hpp"

#include <algorithm>
#include <utility>

#include "sim/kernel/check.hpp"

namespace headroom {
namespace {

constexpr double kUnit = 0x1p20;

std::int64_t in_units(double value) { return static_cast<std::int64_t>(value * kUnit + 0.5); }

}  // namespace

TokenBucket::TokenBucket(const Options& options)
    : counts_prompt_tokens_(options.counts_prompt_tokens),
      per_s_(in_units(options.rate_per_s)),
      burst_(in_units(options.burst)),
      held_ns_(Int128{burst_} * kNsPerSecond) {}

bool TokenBucket::admits(const Arrival& arrival, const DoorState& door) {
  const Int128 full = Int128{burst_} * kNsPerSecond;
  held_ns_ = std::min(full, held_ns_ + Int128{per_s_} * (door.now_ns - since_ns_));
  since_ns_ = door.now_ns;
  const std::int64_t units = counts_prompt_tokens_ ? arrival.prompt_tokens : 1;
  const Int128 wanted = Int128{units} * static_cast<std::int64_t>(kUnit) * kNsPerSecond;
  if (wanted > held_ns_) return false;
  held_ns_ -= wanted;
  return true;
}

DeadlineShedding::DeadlineShedding(std::vector<TimeNs> ttft_ns, TimeNs window_ns)
    : ttft_ns_(std::move(ttft_ns)), window_ns_(window_ns) {
  HEADROOM_CHECK(window_ns >= 1, "a rate over no time");
}

bool DeadlineShedding::admits(const Arrival& arrival, const DoorState& door) {
  if (samples_.empty() || door.now_ns - samples_.back().time_ns >= window_ns_ / 8) {
    samples_.push_back({door.now_ns, door.scheduled_tokens});
  }
  // The youngest that is a whole window old, or the oldest there is.
  while (samples_.size() > 1 && door.now_ns - samples_[1].time_ns >= window_ns_) {
    samples_.pop_front();
  }
  const TimeNs promised = ttft_ns_[static_cast<std::size_t>(arrival.class_id)];
  if (promised == kNever || door.waiting_tokens == 0) return true;
  const Sample& from = samples_.front();
  const TokenCount served = door.scheduled_tokens - from.scheduled_tokens;
  const TimeNs time = door.now_ns - from.time_ns;
  if (time == 0) return true;
  return Int128{door.waiting_tokens} * time <= Int128{served} * promised;
}

}  // namespace headroom
