#include "workloads/retrying_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/kernel/check.hpp"
#include "sim/kernel/errors.hpp"
#include "workloads/duration_law.hpp"

namespace headroom {
namespace {

// The time that a client has from `from_ns` to a deadline, counted from `to_ns`.
TimeNs moved(TimeNs deadline_ns, TimeNs from_ns, TimeNs to_ns) {
  return deadline_ns == kNever ? kNever : instant_after(to_ns, deadline_ns - from_ns);
}

void check_options(const RetryOptions& options) {
  if (options.max_attempts < 1) {
    throw ConfigError(
        fmt::format("retries: max_attempts is {}; allowed: 1 or more", options.max_attempts));
  }
  if (options.delay_ns < 0 || options.delay_ns > kLongestDurationNs) {
    throw ConfigError(fmt::format("retries: delay_ns is {}; allowed: 0 .. {}", options.delay_ns,
                                  kLongestDurationNs));
  }
  if (!(options.jitter >= 0.0 && options.jitter <= 1.0)) {  // nan is not
    throw ConfigError(fmt::format("retries: jitter is {}; allowed: 0 .. 1", options.jitter));
  }
}

}  // namespace

RetryingSource::RetryingSource(std::unique_ptr<WorkloadSource> inner, const RetryOptions& options,
                               std::uint64_t seed)
    : inner_(std::move(inner)), options_(options), streams_(seed, "retries") {
  HEADROOM_CHECK(inner_ != nullptr, "a retrying workload without an inner workload");
  check_options(options_);
}

TimeNs RetryingSource::next_time() {
  const TimeNs next_ns = inner_->next_time();
  return waiting_.empty() ? next_ns : std::min(next_ns, waiting_.top().time_ns);
}

Arrival RetryingSource::take() {
  const bool again = !waiting_.empty() && waiting_.top().time_ns < inner_->next_time();
  const Slot slot = again ? take_again() : take_new();
  in_flight_.emplace(taken_++, slot);
  ++requests_[slot].attempts;
  return requests_[slot].arrival;
}

RetryingSource::Slot RetryingSource::take_new() {
  const Arrival arrival = inner_->take();
  const Slot slot = new_slot();
  requests_[slot] = {.index = static_cast<std::uint64_t>(totals_.requests++),
                     .arrival = arrival,
                     .attempts = 0,
                     .delay_ns = options_.delay_ns};
  return slot;
}

RetryingSource::Slot RetryingSource::take_again() {
  const Waiting next = waiting_.top();
  waiting_.pop();
  Request& request = requests_[next.slot];
  count_again(request.failure);
  Arrival& arrival = request.arrival;
  const TimeNs before_ns = arrival.time_ns;
  arrival.time_ns = next.time_ns;
  arrival.shared_prompt = 0;  // it is sent on its own
  arrival.deadline_ns = moved(arrival.deadline_ns, before_ns, next.time_ns);
  arrival.first_token_deadline_ns = moved(arrival.first_token_deadline_ns, before_ns, next.time_ns);
  return next.slot;
}

void RetryingSource::on_done(std::uint64_t index, Outcome outcome, TimeNs now_ns) {
  const auto found = in_flight_.find(index);
  HEADROOM_CHECK(found != in_flight_.end(), fmt::format("request {} leaves, unknown here", index));
  const Slot slot = found->second;
  in_flight_.erase(found);
  Request& request = requests_[slot];
  if (retries(outcome)) {
    if (request.attempts < options_.max_attempts) {
      request.failure = outcome;
      waiting_.push(
          {.time_ns = instant_after(now_ns, delay(request)), .order = failures_++, .slot = slot});
      if (options_.backoff == RetryBackoff::exponential) {
        request.delay_ns = std::min(request.delay_ns, kLongestDurationNs / 2) * 2;
      }
      return;
    }
    ++totals_.given_up;
  }
  const std::uint64_t inner_index = request.index;
  free_.push_back(slot);
  inner_->on_done(inner_index, outcome, now_ns);
}

bool RetryingSource::retries(Outcome outcome) const {
  switch (outcome) {
    case Outcome::lost_to_oom:
    case Outcome::lost_to_fault: return options_.on_lost_to_oom;
    case Outcome::rejected: return options_.on_rejected;
    case Outcome::cancelled: return options_.on_cancelled;
    case Outcome::finished:
    case Outcome::unfinished: break;
  }
  return false;
}

void RetryingSource::count_again(Outcome failure) {
  switch (failure) {
    case Outcome::lost_to_oom:
    case Outcome::lost_to_fault: ++totals_.after_loss; break;
    case Outcome::rejected: ++totals_.after_rejection; break;
    case Outcome::cancelled: ++totals_.after_cancellation; break;
    case Outcome::finished:
    case Outcome::unfinished: break;
  }
}

TimeNs RetryingSource::delay(const Request& request) const {
  const TimeNs full_ns = request.delay_ns;
  // Beyond 2^53 ns the product may be rounded up, above the delay.
  const TimeNs random_ns =
      std::min(full_ns, static_cast<TimeNs>(static_cast<double>(full_ns) * options_.jitter));
  if (random_ns == 0) return full_ns;
  const std::uint64_t bits =
      streams_.of(request.index).bits(static_cast<std::uint64_t>(request.attempts));
  // Uniform in 0 .. random_ns - 1.
  return full_ns - static_cast<TimeNs>((Uint128{bits} * static_cast<Uint128>(random_ns)) >> 64);
}

RetryingSource::Slot RetryingSource::new_slot() {
  if (free_.empty()) {
    requests_.emplace_back();
    return static_cast<Slot>(requests_.size() - 1);
  }
  const Slot slot = free_.back();
  free_.pop_back();
  return slot;
}

}  // namespace headroom
