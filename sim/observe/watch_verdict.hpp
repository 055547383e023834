#pragma once
// What a running server's traffic means: whether it holds, what is left, and what breaks first.

#include <cstdint>
#include <optional>
#include <string>

#include "sim/observe/traffic_window.hpp"
#include "sim/resolve/run_verdict.hpp"

namespace headroom {

// The largest rate of the same requests that holds, simulated.
struct WatchLimit {
  std::optional<double> rate;     // requests/s; nothing: not even the smallest one that was tried
  std::string breaks;             // what the next load breaks
  double pool_tokens = 0;         // of all replicas and ranks
  double mean_prompt_tokens = 0;  // of the requests that were simulated
  double mean_output_tokens = 0;
};

struct WatchVerdict {
  HoldVerdict verdict = HoldVerdict::holds;
  std::string first;  // what is broken, or breaks first; empty: nothing is known to
  std::optional<double> pool_tokens;
  std::optional<double> tokens_left;
  std::optional<double> tokens_per_s;        // growth of what is in use; below 0: it shrinks
  std::optional<double> seconds_until_full;  // at that growth; nothing: it does not grow
  std::optional<double> rate_left;           // requests/s; below 0: more come than hold
};

// Tight: from 0.8 of the largest rate on, above 0.9 of the pool, or when it is full within ten
// minutes at the present growth. Does not hold: requests are preempted, more and more wait, or more
// come than the largest rate, by more than two standard deviations of their count. `limit` may be
// null.
[[nodiscard]] WatchVerdict watch_verdict(const WatchedTraffic& traffic, const WatchLimit* limit);

// A server as it is watched.
struct WatchView {
  std::string url;
  std::string engine;   // empty: not known
  std::string problem;  // why the latest read failed; empty: it did not
  std::int64_t restarts = 0;
  WatchedTraffic traffic;
  std::optional<WatchLimit> limit;
  WatchVerdict verdict;
};

// Whether `limit` was simulated for other requests than those of the window: a mean length that
// differs by more than a tenth.
[[nodiscard]] bool is_outdated(const WatchLimit& limit, const WatchedTraffic& traffic);

}  // namespace headroom
