#pragma once
// Requests drawn from ServeGen's client pools (servegen_pools.hpp), in order of time over all
// clients, as ServeGen's own generator draws them (servegen/construct.py):
// - Per client and window of 600 s, as many gaps of the window's law (gamma or Weibull) as requests
//   are expected are drawn, and scaled so that they sum to 600 s: counts do not fluctuate.
// - One uniform number per request goes through the quantile functions of all its fields: lengths
//   rise and fall together. The tokens of each image, audio, video are drawn on their own.
// Where it differs:
// - A window begins somewhere, evenly distributed, within its first gap. ServeGen's begins with it,
//   so the last request falls on the window's end, for all clients at once, and it is left to
//   rounding whether it is kept.
// - An expected number that is not whole is rounded up or down by chance, with the right mean;
//   ServeGen rounds up, which adds half a request per client and window where the rate is scaled.
// - Where the dataset window has no data ServeGen falls back to an earlier one; here the requests
//   are left out and counted.
// Streams per client: "servegen/<client>/arrivals", "/lengths", "/media". Only the current window
// of each client is held.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "sim/kernel/random.hpp"
#include "sim/serving/workload_source.hpp"
#include "workloads/max_tokens.hpp"
#include "workloads/servegen_pools.hpp"

namespace headroom {

struct ServeGenOptions {
  // Requests with from <= time < to by the clock of the pools (0: midnight of the first day);
  // from becomes time 0. Whole windows are drawn: a range that begins within one draws it all.
  TimeNs from_ns = 0;
  TimeNs to_ns = kNever;  // kNever: to the end of the pools
  // 1e-6 .. 1e6: of every client's rate. At most 2e7 requests per client and window.
  double rate_scale = 1.0;
};

struct ServeGenRequest {
  TimeNs time_ns = 0;
  std::int32_t prompt_tokens = 0;    // >= 1; text and media
  std::int32_t output_tokens = 0;    // >= 1; thinking included
  std::int32_t thinking_tokens = 0;  // of the output
  std::int32_t media_tokens = 0;     // of the prompt
  std::int64_t client = 0;           // its number
};

// The requests of one client, window by window.
class ServeGenClientStream {
 public:
  struct Skipped {
    std::int64_t windows = 0;   // with requests, without lengths
    std::int64_t requests = 0;  // in them
    std::int64_t clamped = 0;   // requests with a length of 0, which became 1
  };

  // `client` outlives the stream.
  ServeGenClientStream(const ServeGenClient& client, const ServeGenOptions& options,
                       std::uint64_t seed);

  // kNever: no more.
  [[nodiscard]] TimeNs next_time() const {
    return at_ == requests_.size() ? kNever : requests_[at_].time_ns;
  }
  [[nodiscard]] ServeGenRequest take();  // only when next_time() != kNever
  [[nodiscard]] const Skipped& skipped() const { return skipped_; }
  // Requests in memory: those of the current window.
  [[nodiscard]] std::size_t held() const { return requests_.size(); }

 private:
  void draw_windows();  // until one has requests
  void draw_window(const ServeGenWindow& window);
  [[nodiscard]] std::int64_t draw_count(const ServeGenWindow& window);
  void draw_gaps(const ServeGenWindow& window, std::int64_t count);
  // `clamped` becomes true when a length was out of range.
  [[nodiscard]] ServeGenRequest draw_lengths(const ServeGenLengths& lengths, bool& clamped);
  [[nodiscard]] std::int64_t draw_media(const ServeGenLengths& lengths, double u);

  const ServeGenClient& client_;
  ServeGenOptions options_;
  RandomStream arrivals_;
  RandomStream lengths_;
  RandomStream media_;
  std::size_t window_ = 0;  // the next one
  std::vector<double> gaps_;
  std::vector<ServeGenRequest> requests_;
  std::size_t at_ = 0;
  Skipped skipped_;
};

class ServeGenStream {
 public:
  // ConfigError: an option out of range, a range outside of the pools. Runs may share pools.
  ServeGenStream(std::shared_ptr<const ServeGenPools> pools, const ServeGenOptions& options,
                 std::uint64_t seed);

  [[nodiscard]] TimeNs next_time() const { return order_.empty() ? kNever : order_[0].time_ns; }
  [[nodiscard]] ServeGenRequest take();  // only when next_time() != kNever
  // So far, over all clients.
  [[nodiscard]] ServeGenClientStream::Skipped skipped() const;

 private:
  struct Next {
    TimeNs time_ns;
    std::size_t client;  // place in clients_; decides ties
  };
  static bool later(const Next& a, const Next& b);

  std::shared_ptr<const ServeGenPools> pools_;
  std::vector<ServeGenClientStream> clients_;
  std::vector<Next> order_;  // a heap: the earliest first
};

struct ServeGenSourceOptions {
  ServeGenOptions pools = {};
  MaxTokensOptions max_tokens = {};
  std::optional<std::int64_t> num_requests = {};  // >= 0: only the first ones; absent: all
  std::int32_t class_id = 0;                      // of every request
};

// The stream as a workload: one class, no sessions.
class ServeGenSource final : public WorkloadSource {
 public:
  ServeGenSource(std::shared_ptr<const ServeGenPools> pools, const ServeGenSourceOptions& options,
                 std::uint64_t seed);  // ConfigError

  [[nodiscard]] TimeNs next_time() override;
  [[nodiscard]] Arrival take() override;
  void on_done(std::uint64_t index, Outcome outcome, TimeNs now_ns) override;

  [[nodiscard]] std::int64_t outputs_cut() const { return max_tokens_.outputs_cut(); }
  [[nodiscard]] const ServeGenStream& stream() const { return stream_; }

 private:
  ServeGenStream stream_;
  MaxTokens max_tokens_;
  std::int32_t class_id_;
  std::int64_t remaining_;
};

}  // namespace headroom
