#include "workloads/servegen.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "sim/kernel/check.hpp"
#include "sim/kernel/det_math.hpp"
#include "sim/kernel/errors.hpp"

namespace headroom {
namespace {

constexpr TimeNs kWindowNs = kServeGenWindowS * kNsPerSecond;
constexpr double kLeastSum = 1e-250;   // of gaps, for a scale that is a number
constexpr double kMostRequests = 2e7;  // in a window of a client, which is held

std::string stream_name(const ServeGenClient& client, std::string_view what) {
  return fmt::format("servegen/{}/{}", client.id, what);
}

void check_range(const ServeGenOptions& options, const ServeGenPools& pools) {
  const TimeNs end_ns = pools.end_s() * kNsPerSecond;
  const bool begins_inside = options.from_ns >= 0 && options.from_ns < end_ns;
  if (begins_inside && options.to_ns > options.from_ns) return;
  const auto seconds = [](TimeNs time_ns) {
    return time_ns == kNever ? std::string("the end")
                             : fmt::format("{} s", static_cast<double>(time_ns) * 1e-9);
  };
  throw ConfigError(fmt::format(
      "servegen: the range is {} to {}; allowed: a range of at least 1 ns that begins in 0 .. {} "
      "s, before the end of the pools",
      seconds(options.from_ns), seconds(options.to_ns), pools.end_s()));
}

void check(const ServeGenOptions& options, const ServeGenPools& pools) {
  if (!(options.rate_scale >= 1e-6 && options.rate_scale <= 1e6)) {
    throw ConfigError(fmt::format("servegen: the rate scale is {}; allowed: 0.000001 .. 1000000",
                                  options.rate_scale));
  }
  check_range(options, pools);
  for (const ServeGenClient& client : pools.clients()) {
    for (const ServeGenWindow& window : client.windows) {
      const double requests = static_cast<double>(window.requests_e9) * 1e-9;
      if (requests * options.rate_scale <= kMostRequests) continue;
      throw ConfigError(fmt::format(
          "servegen: with the rate scale {} client {} has more than {} requests in the window of "
          "{} s at {} s",
          options.rate_scale, client.id, static_cast<std::int64_t>(kMostRequests), kServeGenWindowS,
          window.start_s));
    }
  }
}

// In 1 .. 2^31 - 1; `clamped` becomes true where it was not.
std::int32_t length(std::int64_t tokens, bool& clamped) {
  const std::int64_t fitting = std::clamp<std::int64_t>(tokens, 1, INT32_MAX);
  clamped = clamped || fitting != tokens;
  return static_cast<std::int32_t>(fitting);
}

}  // namespace

// -- one client ----------------------------------------------------------------------------------

ServeGenClientStream::ServeGenClientStream(const ServeGenClient& client,
                                           const ServeGenOptions& options, std::uint64_t seed)
    : client_(client),
      options_(options),
      arrivals_(seed, stream_name(client, "arrivals")),
      lengths_(seed, stream_name(client, "lengths")),
      media_(seed, stream_name(client, "media")) {
  draw_windows();
}

ServeGenRequest ServeGenClientStream::take() {
  HEADROOM_CHECK(at_ < requests_.size(), "a client without requests was asked for one");
  const ServeGenRequest request = requests_[at_++];
  if (at_ == requests_.size()) draw_windows();
  return request;
}

void ServeGenClientStream::draw_windows() {
  requests_.clear();
  at_ = 0;
  while (requests_.empty() && window_ < client_.windows.size()) {
    const ServeGenWindow& window = client_.windows[window_++];
    const TimeNs start_ns = window.start_s * kNsPerSecond;
    if (start_ns >= options_.to_ns) {
      window_ = client_.windows.size();
    } else if (start_ns > options_.from_ns - kWindowNs) {
      draw_window(window);
    }
  }
}

void ServeGenClientStream::draw_window(const ServeGenWindow& window) {
  if (window.gaps == ServeGenWindow::Gaps::idle || window.requests_e9 == 0) return;
  const std::int64_t count = draw_count(window);
  const double phase = arrivals_.uniform();
  if (count == 0) return;
  const ServeGenLengths* lengths = client_.lengths_at(window.start_s);
  if (lengths == nullptr) {
    ++skipped_.windows;
    skipped_.requests += count;
    return;
  }
  draw_gaps(window, count);
  double sum = 0.0;
  for (const double gap : gaps_) sum += gap;
  // Gaps of a shape near 0 may all be next to nothing: then they are equal.
  if (sum < kLeastSum) {
    std::fill(gaps_.begin(), gaps_.end(), 1.0);
    sum = static_cast<double>(count);
  }
  const TimeNs start_ns = window.start_s * kNsPerSecond;
  const double scale_ns = static_cast<double>(kWindowNs) / sum;
  double instant = (phase - 1.0) * gaps_[0];
  for (const double gap : gaps_) {
    instant += gap;
    bool clamped = false;
    ServeGenRequest request = draw_lengths(*lengths, clamped);
    const auto offset_ns = static_cast<TimeNs>(std::max(instant, 0.0) * scale_ns + 0.5);
    const TimeNs time_ns = start_ns + std::min(offset_ns, kWindowNs - 1);
    if (time_ns < options_.from_ns || time_ns >= options_.to_ns) continue;
    skipped_.clamped += clamped ? 1 : 0;
    request.time_ns = time_ns - options_.from_ns;
    requests_.push_back(request);
  }
}

// One draw, whether it is needed or not: request counts do not shift the draws behind them.
std::int64_t ServeGenClientStream::draw_count(const ServeGenWindow& window) {
  constexpr std::int64_t kUnits = 1'000'000'000;
  const double u = arrivals_.uniform();
  const double scaled = static_cast<double>(window.requests_e9) * options_.rate_scale;
  const auto expected_e9 = static_cast<std::int64_t>(scaled + 0.5);
  const bool one_more = u * static_cast<double>(kUnits) < static_cast<double>(expected_e9 % kUnits);
  return expected_e9 / kUnits + (one_more ? 1 : 0);
}

void ServeGenClientStream::draw_gaps(const ServeGenWindow& window, std::int64_t count) {
  gaps_.resize(static_cast<std::size_t>(count));
  if (window.gaps == ServeGenWindow::Gaps::gamma) {
    for (double& gap : gaps_) gap = arrivals_.gamma(window.shape, 1.0);
    return;
  }
  const double power = 1.0 / window.shape;
  for (double& gap : gaps_) gap = det::pow(arrivals_.exponential(1.0), power);
}

ServeGenRequest ServeGenClientStream::draw_lengths(const ServeGenLengths& lengths, bool& clamped) {
  const double u = lengths_.uniform();
  ServeGenRequest request;
  request.client = client_.id;
  request.output_tokens = length(lengths.output.at(u), clamped);
  const std::int64_t media = draw_media(lengths, u);
  request.prompt_tokens = length(lengths.prompt.at(u) + media, clamped);
  request.media_tokens =
      static_cast<std::int32_t>(std::min<std::int64_t>(media, request.prompt_tokens));
  if (lengths.reason_bins > 1) {
    // Bin i of n is the share i / (n - 1), to the nearest token.
    const std::int64_t bin = lengths.reason_bin.at(u);
    const std::int64_t last = lengths.reason_bins - 1;
    request.thinking_tokens =
        static_cast<std::int32_t>((2 * bin * request.output_tokens + last) / (2 * last));
  }
  return request;
}

std::int64_t ServeGenClientStream::draw_media(const ServeGenLengths& lengths, double u) {
  std::int64_t tokens = 0;
  for (const ServeGenLengths::Media& media : lengths.media) {
    const std::int32_t count = media.count.empty() ? 0 : media.count.at(u);
    for (std::int32_t i = 0; i < count; ++i) tokens += media.tokens.at(media_.uniform());
  }
  return tokens;
}

// -- all clients ---------------------------------------------------------------------------------

ServeGenStream::ServeGenStream(std::shared_ptr<const ServeGenPools> pools,
                               const ServeGenOptions& options, std::uint64_t seed)
    : pools_(std::move(pools)) {
  check(options, *pools_);
  clients_.reserve(pools_->clients().size());
  for (const ServeGenClient& client : pools_->clients()) {
    clients_.emplace_back(client, options, seed);
    const TimeNs time_ns = clients_.back().next_time();
    if (time_ns != kNever) order_.push_back({.time_ns = time_ns, .client = clients_.size() - 1});
  }
  std::make_heap(order_.begin(), order_.end(), later);
}

bool ServeGenStream::later(const Next& a, const Next& b) {
  return a.time_ns != b.time_ns ? a.time_ns > b.time_ns : a.client > b.client;
}

ServeGenRequest ServeGenStream::take() {
  HEADROOM_CHECK(!order_.empty(), "a request was taken from an empty ServeGen stream");
  std::pop_heap(order_.begin(), order_.end(), later);
  Next& next = order_.back();
  ServeGenClientStream& client = clients_[next.client];
  const ServeGenRequest request = client.take();
  next.time_ns = client.next_time();
  if (next.time_ns == kNever) {
    order_.pop_back();
  } else {
    std::push_heap(order_.begin(), order_.end(), later);
  }
  return request;
}

ServeGenClientStream::Skipped ServeGenStream::skipped() const {
  ServeGenClientStream::Skipped all;
  for (const ServeGenClientStream& client : clients_) {
    all.windows += client.skipped().windows;
    all.requests += client.skipped().requests;
    all.clamped += client.skipped().clamped;
  }
  return all;
}

// -- the workload --------------------------------------------------------------------------------

ServeGenSource::ServeGenSource(std::shared_ptr<const ServeGenPools> pools,
                               const ServeGenSourceOptions& options, std::uint64_t seed)
    : stream_(std::move(pools), options.pools, seed),
      max_tokens_(options.max_tokens),
      class_id_(options.class_id),
      remaining_(options.num_requests.value_or(INT64_MAX)) {
  if (remaining_ < 0) {
    throw ConfigError(
        fmt::format("servegen: the number of requests is {}; allowed: 0 or more", remaining_));
  }
  max_tokens_.check_class(class_id_);
}

TimeNs ServeGenSource::next_time() { return remaining_ == 0 ? kNever : stream_.next_time(); }

Arrival ServeGenSource::take() {
  HEADROOM_CHECK(remaining_ > 0, "more requests taken than there are");
  --remaining_;
  const ServeGenRequest request = stream_.take();
  Arrival arrival{.time_ns = request.time_ns,
                  .prompt_tokens = request.prompt_tokens,
                  .output_tokens = request.output_tokens,
                  .class_id = class_id_};
  max_tokens_.apply(arrival);
  return arrival;
}

void ServeGenSource::on_done(std::uint64_t /*index*/, Outcome /*outcome*/, TimeNs /*now_ns*/) {}

}  // namespace headroom
