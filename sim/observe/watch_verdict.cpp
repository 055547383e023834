#include "sim/observe/watch_verdict.hpp"

#include <fmt/format.h>

#include <cmath>

namespace headroom {
namespace {

constexpr double kTightRate = 0.8;   // of the largest one
constexpr double kTightShare = 0.9;  // of the pool
constexpr double kTightSeconds = 600;
// Growth that would change the window by less than this share of the pool is noise.
constexpr double kLeastGrowth = 0.01;
constexpr double kOtherLengths = 0.1;

// A queue that has grown by two requests or a tenth of the batch over the window.
bool queue_grows(const WatchedTraffic& t) {
  constexpr double kLeast = 2;
  constexpr double kShareOfBatch = 0.1;
  const double grown = t.waiting_per_s.value_or(0) * t.seconds;
  return t.waiting.value_or(0) >= kLeast &&
         grown >= std::max(kLeast, kShareOfBatch * t.running.value_or(0));
}

void set_pool(const WatchedTraffic& t, const WatchLimit* limit, WatchVerdict& v) {
  // The simulated pool counts groups of layers that blocks x block size does not.
  v.pool_tokens = limit != nullptr && limit->pool_tokens > 0 ? limit->pool_tokens : t.pool_tokens;
  if (!v.pool_tokens || !t.kv_share) return;
  v.tokens_left = *v.pool_tokens * (1 - *t.kv_share);
  if (!t.kv_share_per_s) return;
  v.tokens_per_s = *v.pool_tokens * *t.kv_share_per_s;
  if (*t.kv_share_per_s * t.seconds >= kLeastGrowth) {
    v.seconds_until_full = (1 - *t.kv_share) / *t.kv_share_per_s;
  }
}

// Arrivals counted in a short window tell little: two standard deviations of a Poisson count.
double certain_rate(const WatchedTraffic& t) {
  const double rate = t.arrivals_per_s.value_or(0);
  return t.seconds > 0 ? rate - 2 * std::sqrt(rate * t.seconds) / t.seconds : 0;
}

std::string compared_rates(const WatchedTraffic& t, const WatchLimit& limit) {
  return fmt::format("{:.3g} requests/s come, {:.3g} hold: {}", *t.arrivals_per_s,
                     limit.rate.value_or(0), limit.breaks);
}

}  // namespace

WatchVerdict watch_verdict(const WatchedTraffic& t, const WatchLimit* limit) {
  WatchVerdict v;
  set_pool(t, limit, v);
  const double rate = t.arrivals_per_s.value_or(0);
  if (limit != nullptr && t.arrivals_per_s) v.rate_left = limit->rate.value_or(0) - rate;
  if (t.preemptions.value_or(0) > 0) {
    v.verdict = HoldVerdict::does_not_hold;
    v.first = fmt::format("the KV pool is full: {:.0f} preemptions in {:.0f} s", *t.preemptions,
                          t.seconds);
  } else if (queue_grows(t)) {
    v.verdict = HoldVerdict::does_not_hold;
    v.first =
        fmt::format("{:.0f} requests wait, {:.2g} more each second", *t.waiting, *t.waiting_per_s);
  } else if (v.rate_left && certain_rate(t) > limit->rate.value_or(0)) {
    v.verdict = HoldVerdict::does_not_hold;
    v.first = compared_rates(t, *limit);
  } else if (v.seconds_until_full && *v.seconds_until_full < kTightSeconds) {
    v.verdict = HoldVerdict::tight;
    v.first = fmt::format("the KV pool is full in {:.0f} s at the present growth",
                          std::ceil(*v.seconds_until_full));
  } else if (v.rate_left && rate > 0 && rate >= kTightRate * limit->rate.value_or(0)) {
    v.verdict = HoldVerdict::tight;
    v.first = compared_rates(t, *limit);
  } else if (t.kv_share.value_or(0) > kTightShare) {
    v.verdict = HoldVerdict::tight;
    v.first = fmt::format("the KV pool: {:.0f} % of it is in use", 100 * *t.kv_share);
  } else if (limit != nullptr) {
    v.first = limit->breaks;
  }
  return v;
}

bool is_outdated(const WatchLimit& limit, const WatchedTraffic& traffic) {
  const auto differs = [](const std::optional<LengthHistogram>& now, double then) {
    return now && std::abs(now->mean() - then) > kOtherLengths * then;
  };
  return differs(traffic.prompt, limit.mean_prompt_tokens) ||
         differs(traffic.output, limit.mean_output_tokens);
}

}  // namespace headroom
