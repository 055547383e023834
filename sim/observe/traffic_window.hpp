#pragma once
// What a running server's /metrics say of its traffic and its KV pool, over the latest while.

#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "sim/intake/length_histogram.hpp"
#include "sim/observe/published_load.hpp"

namespace headroom {

// Over the window, from its first read to its last. What an engine does not publish is absent.
struct WatchedTraffic {
  double seconds = 0;     // between the two; 0: there is one read only, and no rate
  std::size_t reads = 0;  // in the window
  // At the last read.
  std::optional<double> running;      // requests
  std::optional<double> waiting;      // requests
  std::optional<double> kv_share;     // of the pool, 0 to 1
  std::optional<double> pool_tokens;  // blocks x block size, of all engines behind the server
  std::int64_t engines = 0;           // that publish the share of their pool
  // In the window.
  std::optional<double> arrivals_per_s;  // requests that ended, and that are there beyond the first
  std::optional<double> preemptions;
  std::optional<LengthHistogram> prompt;  // of requests that ended
  std::optional<LengthHistogram> output;
  // Slopes of the straight lines through all reads (least squares), where they are three times
  // their standard error at least; 0 where they are not, absent for less than three reads.
  std::optional<double> waiting_per_s;
  std::optional<double> kv_share_per_s;
};

class TrafficWindow {
 public:
  // The window holds reads of the latest `length_ns`, and 4,096 of them at most.
  explicit TrafficWindow(TimeNs length_ns) : length_ns_(length_ns) {}

  // `text`: /metrics as it was at `time_ns`, not before the read before. A process that has
  // restarted begins the window anew. DataError: no dump, or none of the engines that are known.
  void read(const std::string& text, const std::string& name, TimeNs time_ns);

  [[nodiscard]] WatchedTraffic traffic() const;
  [[nodiscard]] const Engine* engine() const { return engine_; }  // of the latest read
  [[nodiscard]] std::int64_t restarts() const { return restarts_; }

 private:
  struct Read {
    LoadSample load;
    std::optional<LengthHistogram> prompt;  // since the process started
    std::optional<LengthHistogram> output;
    std::optional<double> started_unix_s;
    std::optional<double> pool_tokens;
    std::int64_t engines = 0;
  };
  [[nodiscard]] static bool has_restarted(const Read& before, const Read& now);
  // Requests that the server has: those that run and those that wait.
  [[nodiscard]] static std::optional<double> held(const Read& read);
  [[nodiscard]] std::optional<double> slope(std::optional<double> LoadSample::*value) const;

  TimeNs length_ns_;
  std::deque<Read> reads_;
  const Engine* engine_ = nullptr;
  std::int64_t restarts_ = 0;
};

}  // namespace headroom
