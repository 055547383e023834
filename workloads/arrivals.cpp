#include "workloads/arrivals.hpp"

#include <fmt/format.h>

#include <cmath>

#include "sim/kernel/check.hpp"
#include "sim/kernel/errors.hpp"

namespace headroom {
namespace {

constexpr double kNsPerSecondReal = 1e9;
constexpr TimeNs kLastArrivalNs = TimeNs{1} << 62;

void check_reach(double instant_ns, double rate_per_s) {
  if (instant_ns < static_cast<double>(kLastArrivalNs)) return;
  throw ConfigError(fmt::format(
      "arrivals: with a rate of {} requests/s a request comes later than 146 years (2^62 ns)",
      rate_per_s));
}

// To the nearest nanosecond, halves up. `instant_ns` is not negative.
TimeNs rounded_ns(double instant_ns, double rate_per_s) {
  check_reach(instant_ns, rate_per_s);
  return static_cast<TimeNs>(instant_ns + 0.5);
}

void check(const ArrivalOptions& options, std::optional<std::int64_t> count) {
  const bool has_rate = options.process != ArrivalProcess::all_at_once;
  if (has_rate && !(options.rate_per_s > 0.0)) {
    throw ConfigError(fmt::format(
        "arrivals: the rate is {} requests/s; allowed: greater than 0, infinity = all at once",
        options.rate_per_s));
  }
  const bool has_burstiness =
      options.process == ArrivalProcess::gamma || options.process == ArrivalProcess::vllm_bench;
  if (has_burstiness && !(options.burstiness > 0.0)) {
    throw ConfigError(fmt::format(
        "arrivals: the burstiness is {}; allowed: greater than 0, infinity = equal gaps",
        options.burstiness));
  }
  if (count) return;
  if (options.process == ArrivalProcess::vllm_bench) {
    throw ConfigError("arrivals: process vllm_bench needs the number of requests");
  }
  if (!has_rate || std::isinf(options.rate_per_s)) {
    throw ConfigError("arrivals: requests that come all at once need a number of requests");
  }
}

}  // namespace

ArrivalTimes::ArrivalTimes(const ArrivalOptions& options, std::uint64_t seed,
                           std::optional<std::int64_t> count)
    : stream_(seed, "arrivals"),
      rate_per_s_(options.rate_per_s),
      shape_(options.process == ArrivalProcess::poisson ? 1.0 : options.burstiness) {
  check(options, count);
  const bool scaled = options.process == ArrivalProcess::vllm_bench;
  if (options.process == ArrivalProcess::all_at_once || std::isinf(rate_per_s_)) {
    form_ = Form::zero;
  } else if (options.process == ArrivalProcess::constant || std::isinf(shape_)) {
    form_ = Form::grid;  // vllm_bench's last request is then at count/rate anyway
  } else {
    form_ = scaled ? Form::scaled : Form::sum;
  }
  if (form_ == Form::scaled) measure_schedule(*count);
}

double ArrivalTimes::draw_gap() {
  if (shape_ == 1.0) return stream_.exponential(1.0);
  return stream_.gamma(shape_, 1.0 / shape_);
}

void ArrivalTimes::measure_schedule(std::int64_t count) {
  const RandomStream start = stream_;
  double sum = 0.0;
  for (std::int64_t i = 0; i < count; ++i) sum += draw_gap();
  stream_ = start;
  count_ = count;
  const double end_ns = static_cast<double>(count) / rate_per_s_ * kNsPerSecondReal;
  end_ns_ = rounded_ns(end_ns, rate_per_s_);
  // As in vLLM: when every gap is 0 (burstiness near 0) there is nothing to scale.
  if (sum > 0.0) {
    scale_ns_ = end_ns / sum;
  } else {
    form_ = Form::zero;
  }
}

void ArrivalTimes::fill(std::span<TimeNs> times) {
  for (TimeNs& time : times) {
    switch (form_) {
      case Form::zero: time = 0; break;
      case Form::grid: time = next_of_grid(); break;
      case Form::sum: time = next_of_sum(); break;
      case Form::scaled: time = next_of_scaled(); break;
    }
  }
}

TimeNs ArrivalTimes::next_of_sum() {
  const double gap_ns = draw_gap() * (kNsPerSecondReal / rate_per_s_);
  check_reach(static_cast<double>(whole_ns_) + gap_ns, rate_per_s_);
  const auto whole = static_cast<TimeNs>(gap_ns);
  whole_ns_ += whole;
  fraction_ns_ += gap_ns - static_cast<double>(whole);
  if (fraction_ns_ >= 1.0) {
    fraction_ns_ -= 1.0;
    ++whole_ns_;
  }
  return whole_ns_ + (fraction_ns_ >= 0.5 ? 1 : 0);
}

TimeNs ArrivalTimes::next_of_grid() {
  ++given_;
  return rounded_ns(static_cast<double>(given_) / rate_per_s_ * kNsPerSecondReal, rate_per_s_);
}

TimeNs ArrivalTimes::next_of_scaled() {
  HEADROOM_CHECK(given_ < count_, "more arrivals asked for than were announced");
  ++given_;
  drawn_ += draw_gap();
  if (given_ == count_) return end_ns_;
  const TimeNs time = rounded_ns(drawn_ * scale_ns_, rate_per_s_);
  return time < end_ns_ ? time : end_ns_;  // the product may round up past the end
}

}  // namespace headroom
