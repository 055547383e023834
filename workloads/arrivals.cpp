#include "workloads/arrivals.hpp"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "sim/kernel/check.hpp"
#include "sim/kernel/det_math.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/kernel/likely.hpp"
#include "workloads/gamma_function.hpp"

namespace headroom {
namespace {

constexpr TimeNs kLastArrivalNs = TimeNs{1} << 62;
// Below it the mean gap is made by draws so rare (beyond 2^-53) that a stream never gives them.
constexpr double kMinWeibullShape = 0.1;

void check_reach(double instant_ns, double rate_per_s) {
  if (instant_ns < static_cast<double>(kLastArrivalNs)) return;
  throw ConfigError(
      fmt::format("arrivals: with a rate of {} requests/s a request would arrive after more than "
                  "146 years (2^62 ns)",
                  rate_per_s));
}

// To the nearest nanosecond, halves up. `instant_ns` is not negative.
TimeNs rounded_ns(double instant_ns, double rate_per_s) {
  check_reach(instant_ns, rate_per_s);
  return static_cast<TimeNs>(instant_ns + 0.5);
}

// Does `rate_per_s` scale the gaps of the process? Other processes check their rates themselves.
bool has_rate(ArrivalProcess process) {
  switch (process) {
    case ArrivalProcess::poisson:
    case ArrivalProcess::gamma:
    case ArrivalProcess::constant:
    case ArrivalProcess::vllm_bench:
    case ArrivalProcess::weibull: return true;
    default: return false;
  }
}

bool has_burstiness(ArrivalProcess process) {
  switch (process) {
    case ArrivalProcess::gamma:
    case ArrivalProcess::vllm_bench:
    case ArrivalProcess::piecewise:
    case ArrivalProcess::diurnal:
    case ArrivalProcess::ramp: return true;
    default: return false;
  }
}

void check(const ArrivalOptions& options, std::optional<std::int64_t> count) {
  const ArrivalProcess process = options.process;
  if (has_rate(process) && !(options.rate_per_s > 0.0)) {
    throw ConfigError(fmt::format(
        "arrivals: the rate is {} requests/s; allowed: greater than 0, infinity = all at once",
        options.rate_per_s));
  }
  if (has_burstiness(process) && !(options.burstiness > 0.0)) {
    throw ConfigError(fmt::format(
        "arrivals: the burstiness is {}; allowed: greater than 0, infinity = equal gaps",
        options.burstiness));
  }
  if (process == ArrivalProcess::weibull && !(options.weibull_shape >= kMinWeibullShape)) {
    throw ConfigError(
        fmt::format("arrivals: the shape is {}; allowed: {} or more, infinity = equal gaps",
                    options.weibull_shape, kMinWeibullShape));
  }
  if (count) return;
  if (process == ArrivalProcess::vllm_bench) {
    throw ConfigError("arrivals: process vllm_bench needs the number of requests");
  }
  if (process == ArrivalProcess::all_at_once ||
      (has_rate(process) && std::isinf(options.rate_per_s))) {
    throw ConfigError("arrivals: if all requests arrive at once, their number is needed");
  }
}

// The shape of the gaps' law; 1 is exponential.
double gap_shape(const ArrivalOptions& options) {
  if (options.process == ArrivalProcess::weibull) return options.weibull_shape;
  return has_burstiness(options.process) ? options.burstiness : 1.0;
}

}  // namespace

ArrivalTimes::ArrivalTimes(const ArrivalOptions& options, std::uint64_t seed,
                           std::optional<std::int64_t> count, std::string_view prefix)
    : stream_(seed, fmt::format("{}arrivals", prefix)),
      rate_per_s_(options.rate_per_s),
      shape_(gap_shape(options)) {
  check(options, count);
  choose_form(options, seed, prefix);
  if (form_ == Form::scaled) measure_schedule(*count);
}

void ArrivalTimes::choose_form(const ArrivalOptions& options, std::uint64_t seed,
                               std::string_view prefix) {
  const auto along = [this](RatePath path) {
    form_ = Form::walk;
    walk_.emplace(std::move(path));
  };
  switch (options.process) {
    case ArrivalProcess::all_at_once: form_ = Form::zero; return;
    case ArrivalProcess::on_off:
      along(OnOffRate(rate_per_s_, options.on_off, seed, prefix));
      return;
    case ArrivalProcess::mmpp: along(MarkovRate(options.mmpp, seed, prefix)); return;
    case ArrivalProcess::piecewise: along(piecewise_rate(options.piecewise)); return;
    case ArrivalProcess::diurnal: along(diurnal_rate(rate_per_s_, options.diurnal)); return;
    case ArrivalProcess::ramp: along(ramp_rate(rate_per_s_, options.ramp)); return;
    case ArrivalProcess::constant: form_ = Form::grid; break;
    case ArrivalProcess::vllm_bench: form_ = Form::scaled; break;
    case ArrivalProcess::weibull: weibull_mean_ = gamma_function(1.0 + 1.0 / shape_); break;
    case ArrivalProcess::poisson:
    case ArrivalProcess::gamma: break;
  }
  if (std::isinf(shape_)) form_ = Form::grid;  // vllm_bench's last request is then at count/rate
  if (std::isinf(rate_per_s_)) form_ = Form::zero;
}

double ArrivalTimes::draw_gap() {
  if (mostly(shape_ == 1.0)) return stream_.exponential(1.0);
  if (std::isinf(shape_)) return 1.0;
  if (weibull_mean_ > 0.0) {
    return det::pow(stream_.exponential(1.0), 1.0 / shape_) / weibull_mean_;
  }
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
      case Form::walk: time = next_of_walk(); break;
    }
  }
}

TimeNs ArrivalTimes::next_of_sum() {
  const double gap_ns = draw_gap() * (kNsPerSecondReal / rate_per_s_);
  check_reach(static_cast<double>(now_.whole_ns()) + gap_ns, rate_per_s_);
  now_.add(gap_ns);
  return now_.rounded_ns();
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

TimeNs ArrivalTimes::next_of_walk() {
  const double gap = draw_gap();
  return walk_->advance(gap);
}

}  // namespace headroom
