#include "sim/server/sleep_mode.hpp"

#include "hardware/llm/parameters.hpp"
#include "sim/kernel/seconds.hpp"
#include "sim/resolve/kv_tier.hpp"

namespace headroom {

SleepTimes sleep_times_of(const Resolved& resolved) {
  const std::optional<double> bytes_per_s = host_copy_bytes_per_s(resolved);
  if (!bytes_per_s || *bytes_per_s <= 0) {
    resolved.scenario.refuse("/device",
                             "sleep mode copies weights to host memory, and the catalog does not "
                             "say how fast this device reaches it (pcie_gb_per_s_per_direction)",
                             ErrorKind::missing);
  }
  const auto rank = static_cast<double>(rank_weight_bytes(resolved.model, resolved.sharding));
  const auto all = static_cast<double>(checkpoint_bytes(resolved.model));
  const double storage = resolved.scenario.environment.storage_gb_per_s * 1e9;
  return {.offload_ns = ns_from_seconds(rank / *bytes_per_s),
          .reload_ns = ns_from_seconds(all / storage)};
}

std::uint64_t SleepMode::command(const SleepCommand& command) {
  queue_.push_back({.command = command, .id = ++commands_});
  return commands_;
}

TimeNs SleepMode::next_ns() const {
  if (queue_.empty()) return kNever;
  const Queued& first = queue_.front();
  if (first.until_ns) return *first.until_ns;
  return first.drains ? kNever : 0;
}

void SleepMode::advance(TimeNs now_ns, std::size_t open_answers) {
  while (!queue_.empty()) {
    Queued& first = queue_.front();
    if (!first.until_ns && !first.drains) begin(first, now_ns);
    if (first.drains && open_answers == 0) {
      first.drains = false;
      first.until_ns = now_ns + duration(first.command);
    }
    if (!first.until_ns || *first.until_ns > now_ns) return;
    const Queued done = first;
    queue_.pop_front();
    end(done.command);
    listener_.on_done(done.id);
  }
}

// Scheduling stops at once; copies begin when no answer is being made any more.
void SleepMode::begin(Queued& queued, TimeNs now_ns) {
  const SleepCommand& command = queued.command;
  if (command.sleeps) {
    is_paused_ = true;
    if (command.with == SleepWith::abort) listener_.on_abort();
    if (command.with == SleepWith::wait) {
      queued.drains = true;
      return;
    }
    if (command.with == SleepWith::keep && !is_frozen_) {
      is_frozen_ = true;
      listener_.on_freeze(true);
    }
  }
  queued.until_ns = now_ns + duration(command);
}

TimeNs SleepMode::duration(const SleepCommand& command) const {
  if (command.sleeps) {
    return command.level == 1 && weights_level_ == 0 ? times_.offload_ns : 0;
  }
  if (!command.weights || weights_level_ == 0) return 0;
  return weights_level_ == 1 ? times_.offload_ns : times_.reload_ns;
}

void SleepMode::end(const SleepCommand& command) {
  if (command.sleeps) {
    if (command.level == 0) return;
    if (weights_level_ == 0) weights_level_ = command.level;
    kv_sleeps_ = true;
    listener_.on_cache_lost();
    return;
  }
  if (command.weights) weights_level_ = 0;
  if (command.kv_cache) kv_sleeps_ = false;
  if (weights_level_ > 0 || kv_sleeps_ || !is_paused_) return;
  is_paused_ = false;
  if (is_frozen_) {
    is_frozen_ = false;
    listener_.on_freeze(false);
  }
  listener_.on_awake();
}

}  // namespace headroom
