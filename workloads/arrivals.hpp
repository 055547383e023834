#pragma once
// When synthetic requests arrive. Every process starts at 0 and its first request comes after the
// first gap. Instants are summed in whole nanoseconds plus a fraction below one and rounded once,
// to the nearest nanosecond (halves up), when they are handed out: gaps are never rounded one by
// one, so no rate drifts.

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "sim/kernel/random.hpp"
#include "sim/kernel/time.hpp"
#include "workloads/arrival_processes/modulated_rates.hpp"
#include "workloads/arrival_processes/rate_profiles.hpp"
#include "workloads/arrival_processes/rate_walk.hpp"
#include "workloads/arrival_processes/summed_time.hpp"

namespace headroom {

enum class ArrivalProcess : std::uint8_t {
  poisson,      // exponential gaps of mean 1/rate
  gamma,        // gamma gaps: shape = burstiness, scale 1/(rate * burstiness), so mean 1/rate
  constant,     // request k (from 1) at k/rate
  all_at_once,  // every request at 0
  // `vllm bench serve` (vllm/benchmarks/serve.py, get_request; ENGINES.md 7.1): gamma gaps, then
  // the whole schedule is scaled so that the last request comes at count/rate exactly. Its mean
  // rate is exact, and its gaps are not independent: not a Poisson process even with burstiness 1.
  vllm_bench,
  weibull,    // Weibull gaps of mean 1/rate: one draw a gap
  on_off,     // Poisson requests in on periods, none in off periods
  mmpp,       // Poisson requests at the rate of a Markov chain's state
  piecewise,  // a rate per segment of time
  diurnal,    // a rate that follows a sine
  ramp        // a rate that grows or falls to another one
};

struct ArrivalOptions {
  ArrivalProcess process = ArrivalProcess::poisson;
  // > 0; infinity = all at once. on_off and diurnal: the mean in the long run, at most 1e12. ramp:
  // the rate at the start (RampOptions). Unused by all_at_once, mmpp and piecewise.
  double rate_per_s = 1.0;
  // > 0; of gamma, vllm_bench, piecewise, diurnal and ramp. Coefficient of variation of the gaps =
  // 1/sqrt(burstiness); where the rate changes, of the gaps in integrated rate. 1 draws exactly
  // what poisson draws; infinity = equal gaps, exactly those of constant.
  double burstiness = 1.0;
  // 0.1 or more; of weibull. Below 1 the gaps vary more than those of poisson, above 1 less. 1
  // draws exactly what poisson draws; infinity = equal gaps, exactly those of constant.
  double weibull_shape = 1.0;
  OnOffOptions on_off = {};
  MmppOptions mmpp = {};
  PiecewiseOptions piecewise = {};
  DiurnalOptions diurnal = {};
  RampOptions ramp = {};
};

// The stream "arrivals" of a run, instant by instant, in constant memory. Rates that change at
// random have the stream "arrivals/states".
class ArrivalTimes {
 public:
  // `count` requests will be asked for; absent = no end. vllm_bench and processes with all requests
  // at one instant need it (ConfigError). vllm_bench draws its schedule twice, first to learn its
  // length. `prefix` stands before the names of the streams ("chat/").
  ArrivalTimes(const ArrivalOptions& options, std::uint64_t seed, std::optional<std::int64_t> count,
               std::string_view prefix = {});

  // The next instants, non-decreasing. ConfigError beyond 2^62 ns (146 years). Only piecewise and
  // ramp can end: when no rate is left to reach the next request, it and all after it are kNever.
  void fill(std::span<TimeNs> times);

 private:
  [[nodiscard]] double draw_gap();  // in units of the mean gap
  [[nodiscard]] TimeNs next_of_sum();
  [[nodiscard]] TimeNs next_of_grid();
  [[nodiscard]] TimeNs next_of_scaled();
  [[nodiscard]] TimeNs next_of_walk();
  void measure_schedule(std::int64_t count);
  void choose_form(const ArrivalOptions& options, std::uint64_t seed, std::string_view prefix);

  enum class Form : std::uint8_t { zero, grid, sum, scaled, walk };

  RandomStream stream_;
  double rate_per_s_;
  double shape_;               // of the gaps' gamma or Weibull law
  double weibull_mean_ = 0.0;  // of the Weibull law with scale 1; 0: the gaps are gamma
  Form form_ = Form::sum;
  std::int64_t given_ = 0;        // instants handed out
  SummedTime now_;                // sum: the last instant
  double drawn_ = 0.0;            // scaled: sum of the gaps so far, in mean gaps
  double scale_ns_ = 0.0;         // scaled: ns per unit of `drawn_`
  std::int64_t count_ = 0;        // scaled: requests in all
  TimeNs end_ns_ = 0;             // scaled: count / rate
  std::optional<RateWalk> walk_;  // walk: the rate, and the last instant
};

}  // namespace headroom
