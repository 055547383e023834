#include "sim/serving/adapter_slots.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "sim/kernel/check.hpp"

namespace headroom {

AdapterSlots::AdapterSlots(const AdapterOptions& options) : options_(options) {
  HEADROOM_CHECK(options.device_slots >= 1 && options.host_slots >= options.device_slots,
                 "slots of adapters: 1 <= device <= host");
  on_engine_lost();
}

void AdapterSlots::on_engine_lost() {
  states_.resize(static_cast<std::size_t>(options_.adapters) + 1);
  for (State& state : states_) state.rows = 0;
  in_use_.clear();
  unused_.clear();
  for (std::int32_t a = options_.adapters; a >= 1 && a > options_.adapters - options_.host_slots;
       --a) {
    unused_.push_back(a);
  }
  latest_ = 0;
  rows_ = 0;
  load_ticks_ = 0;
}

void AdapterSlots::join(std::int32_t adapter) {
  if (adapter == 0) return;
  State& state = states_.at(static_cast<std::size_t>(adapter));
  ++rows_;
  if (++state.rows > 1) return;
  HEADROOM_CHECK(has_room(), "a batch with more adapters than slots");
  const auto found = std::ranges::find(unused_, adapter);
  const auto on_device = options_.device_slots - static_cast<std::int64_t>(in_use_.size());
  if (found - unused_.begin() >= on_device || found == unused_.end()) {
    ++counts_.loads;
    load_ticks_ += options_.load_ticks;
  }
  if (found != unused_.end()) {
    if (found - unused_.begin() < latest_) --latest_;
    unused_.erase(found);
  } else {
    ++counts_.reads;
    load_ticks_ += options_.read_ticks;
    const std::size_t in_memory = unused_.size() + in_use_.size();
    if (in_memory == static_cast<std::size_t>(options_.host_slots)) unused_.pop_back();
    latest_ = std::min<std::ptrdiff_t>(latest_, std::ssize(unused_));
  }
  in_use_.push_back(adapter);
  if (!std::exchange(state.was_used, true)) ++counts_.used;
}

void AdapterSlots::leave(std::int32_t adapter) {
  if (adapter == 0) return;
  State& state = states_.at(static_cast<std::size_t>(adapter));
  HEADROOM_CHECK(state.rows > 0, "an adapter left that was not in use");
  --rows_;
  if (--state.rows > 0) return;
  in_use_.erase(std::ranges::find(in_use_, adapter));
  const auto end = unused_.begin() + latest_++;
  unused_.insert(std::lower_bound(unused_.begin(), end, adapter), adapter);
}

Ticks AdapterSlots::take_load_ticks() { return std::exchange(load_ticks_, 0); }

}  // namespace headroom
