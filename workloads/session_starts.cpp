#include "workloads/session_starts.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/kernel/errors.hpp"

namespace headroom {
namespace {

constexpr std::int64_t kMaxUsers = 10'000'000;
constexpr double kMaxStartSeconds = 1e9;

std::optional<std::int64_t> most_sessions(const TrafficOptions& options) {
  if (!options.num_requests) return options.num_sessions;
  return std::min(*options.num_requests, options.num_sessions.value_or(INT64_MAX));
}

void check(const TrafficOptions& options) {
  const auto check_count = [](const std::optional<std::int64_t>& count, const char* name) {
    if (!count || *count >= 0) return;
    throw ConfigError(fmt::format("{} is {}; allowed: 0 or more", name, *count));
  };
  check_count(options.num_requests, "num_requests");
  check_count(options.num_sessions, "num_sessions");
  if (options.end_ns < 0) {
    throw ConfigError(fmt::format("end_ns is {}; allowed: 0 or more", options.end_ns));
  }
  if (!options.closed_loop) return;
  const ClosedLoopOptions& loop = *options.closed_loop;
  if (loop.users < 1 || loop.users > kMaxUsers) {
    throw ConfigError(
        fmt::format("closed_loop: users is {}; allowed: 1 .. {}", loop.users, kMaxUsers));
  }
  if (!(loop.start_within_s >= 0.0 && loop.start_within_s <= kMaxStartSeconds)) {
    throw ConfigError(fmt::format("closed_loop: start_within_s is {}; allowed: 0 .. {} s",
                                  loop.start_within_s, kMaxStartSeconds));
  }
}

}  // namespace

SessionStarts::SessionStarts(const TrafficOptions& options, std::uint64_t seed)
    : end_ns_(options.end_ns) {
  check(options);
  const std::optional<std::int64_t> most = most_sessions(options);
  if (most) count_ = static_cast<std::uint64_t>(*most);
  if (options.closed_loop) {
    users_ = static_cast<std::uint64_t>(options.closed_loop->users);
    count_ = std::min(count_, users_);
    within_ns_ = static_cast<TimeNs>(options.closed_loop->start_within_s * 1e9 + 0.5);
  } else {
    arrivals_.emplace(options.arrivals, seed, most, options.stream_prefix);
  }
  find_next();
}

TimeNs SessionStarts::start_of_user(std::uint64_t user) const {
  return static_cast<TimeNs>(static_cast<Int128>(user) * within_ns_ / static_cast<Int128>(users_));
}

void SessionStarts::find_next() {
  next_ns_ = kNever;
  if (given_ == count_) return;
  TimeNs time_ns = kNever;
  if (users_ > 0) {
    time_ns = start_of_user(given_);
  } else {
    arrivals_->fill({&time_ns, 1});
  }
  if (time_ns < end_ns_) next_ns_ = time_ns;
}

void SessionStarts::advance() {
  const bool has_stopped = next_ns_ == kNever;
  ++given_;
  if (!has_stopped) find_next();
}

}  // namespace headroom
