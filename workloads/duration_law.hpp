#pragma once
// Every duration law as a quantile function of one draw: a pause keeps its draw when a parameter or
// the law changes.

#include <cstdint>
#include <string_view>
#include <variant>

#include "sim/kernel/det_math.hpp"
#include "sim/kernel/time.hpp"
#include "workloads/duration_options.hpp"
#include "workloads/length_laws/gamma_quantile.hpp"
#include "workloads/lognormal_quantile.hpp"

namespace headroom {

// The longest duration that is drawn: 146 years. Longer ones become it.
inline constexpr TimeNs kLongestDurationNs = TimeNs{1} << 62;

// The instant `duration_ns` (>= 0) after `from_ns` (>= 0); kNever where the clock does not reach.
[[nodiscard]] inline TimeNs instant_after(TimeNs from_ns, TimeNs duration_ns) {
  return duration_ns < kNever - from_ns ? from_ns + duration_ns : kNever;
}

class DurationQuantile {
 public:
  // ConfigError that begins with `name`.
  DurationQuantile(const DurationOptions& options, std::string_view name);

  // The duration of a draw, 64 uniform bits: never shorter for a larger draw. Rounded to the
  // nearest nanosecond, halves up.
  [[nodiscard]] TimeNs operator()(std::uint64_t bits) const;

 private:
  struct Fixed {
    double mean_s;
    [[nodiscard]] double operator()(double /*u*/) const { return mean_s; }
  };
  struct Uniform {
    double min_s;
    double max_s;
    [[nodiscard]] double operator()(double u) const { return min_s + u * (max_s - min_s); }
  };
  struct Exponential {
    double mean_s;
    // The difference is exact.
    [[nodiscard]] double operator()(double u) const { return -mean_s * det::log(1.0 - u); }
  };
  using Law = std::variant<Fixed, Uniform, Exponential, LognormalQuantile, GammaQuantile>;

  [[nodiscard]] static Law law_of(const DurationOptions& options, std::string_view name);

  Law law_;
  double min_s_;
  double max_s_;
};

}  // namespace headroom
