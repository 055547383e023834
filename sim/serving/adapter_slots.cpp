#include "sim/serving/adapter_slots.hpp"

#include <algorithm>
#include <utility>

#include "sim/kernel/check.hpp"

namespace headroom {

AdapterSlots::AdapterSlots(const AdapterOptions& options)
    : options_(options),
      states_(static_cast<std::size_t>(options.adapters) + 1),
      step_(std::int64_t{options.adapters} + 1) {
  HEADROOM_CHECK(options.device_slots >= 1 && options.host_slots >= options.device_slots,
                 "slots of adapters: 1 <= device <= host");
  on_engine_lost();
}

void AdapterSlots::on_engine_lost() {
  in_use_.clear();
  on_device_.clear();
  in_host_.clear();
  rows_ = 0;
  load_ticks_ = 0;
  for (std::int32_t a = options_.adapters; a >= 1; --a) {
    State& state = states_[static_cast<std::size_t>(a)];
    state.adapter = a;
    state.rows = 0;
    state.last_used = a;
    const std::int32_t loaded_behind = options_.adapters - a;
    state.place = loaded_behind < options_.device_slots ? Place::device
                  : loaded_behind < options_.host_slots ? Place::host
                                                        : Place::disk;
    if (state.place == Place::device) on_device_.insert(on_device_.end(), state);
    if (state.place == Place::host) in_host_.insert(in_host_.end(), state);
  }
}

void AdapterSlots::join(std::int32_t adapter) {
  if (adapter == 0) return;
  State& state = states_.at(static_cast<std::size_t>(adapter));
  ++rows_;
  if (++state.rows > 1) return;
  HEADROOM_CHECK(has_room(), "a batch with more adapters than slots");
  if (state.place != Place::device) {
    ++counts_.loads;
    load_ticks_ += options_.load_ticks;
  }
  if (state.place == Place::disk) {
    ++counts_.reads;
    load_ticks_ += options_.read_ticks;
    const std::size_t in_memory = on_device_.size() + in_host_.size() + in_use_.size();
    if (in_memory == static_cast<std::size_t>(options_.host_slots)) {
      State& last = in_host_.empty() ? *on_device_.rbegin() : *in_host_.rbegin();
      take_unused(last);
      last.place = Place::disk;
    }
  } else {
    take_unused(state);
  }
  state.place = Place::in_use;
  state.seat = static_cast<std::uint32_t>(in_use_.size());
  in_use_.push_back(adapter);
  fill_device();
  if (!std::exchange(state.was_used, true)) ++counts_.used;
}

void AdapterSlots::leave(std::int32_t adapter) {
  if (adapter == 0) return;
  State& state = states_.at(static_cast<std::size_t>(adapter));
  HEADROOM_CHECK(state.rows > 0, "an adapter left that was not in use");
  --rows_;
  if (--state.rows > 0) return;
  in_use_[state.seat] = in_use_.back();
  states_[static_cast<std::size_t>(in_use_.back())].seat = state.seat;
  in_use_.pop_back();
  state.last_used = step_;
  const bool first = in_host_.empty() || Order{}(state, *in_host_.begin());
  state.place = first ? Place::device : Place::host;
  (first ? on_device_ : in_host_).insert(state);
  fill_device();
}

void AdapterSlots::take_unused(State& state) {
  Unused& from = state.place == Place::device ? on_device_ : in_host_;
  from.erase(from.iterator_to(state));
}

// Those of the batch have taken or left a slot: the others have all that remain.
void AdapterSlots::fill_device() {
  const std::size_t slots = static_cast<std::size_t>(options_.device_slots) - in_use_.size();
  while (on_device_.size() > slots) {
    State& last = *on_device_.rbegin();
    take_unused(last);
    last.place = Place::host;
    in_host_.insert(in_host_.begin(), last);
  }
  while (on_device_.size() < slots && !in_host_.empty()) {
    State& next = *in_host_.begin();
    take_unused(next);
    next.place = Place::device;
    on_device_.insert(on_device_.end(), next);
  }
}

TickSum AdapterSlots::take_load_ticks() { return std::exchange(load_ticks_, 0); }

}  // namespace headroom
