#pragma once
// When synthetic requests arrive. Every process starts at 0 and its first request comes after the
// first gap. Instants are summed in whole nanoseconds plus a fraction below one and rounded once,
// to the nearest nanosecond (halves up), when they are handed out: gaps are never rounded one by
// one, so no rate drifts.

#include <cstdint>
#include <optional>
#include <span>

#include "sim/kernel/random.hpp"
#include "sim/kernel/time.hpp"

namespace headroom {

enum class ArrivalProcess : std::uint8_t {
  poisson,      // exponential gaps of mean 1/rate
  gamma,        // gamma gaps: shape = burstiness, scale 1/(rate * burstiness), so mean 1/rate
  constant,     // request k (from 1) at k/rate
  all_at_once,  // every request at 0
  // `vllm bench serve` (vllm/benchmarks/serve.py, get_request; ENGINES.md 7.1): gamma gaps, then
  // the whole schedule is scaled so that the last request comes at count/rate exactly. Its mean
  // rate is exact, and its gaps are not independent: not a Poisson process even with burstiness 1.
  vllm_bench
};

struct ArrivalOptions {
  ArrivalProcess process = ArrivalProcess::poisson;
  double rate_per_s = 1.0;  // > 0; infinity = all at once; unused by all_at_once
  // > 0; of gamma and vllm_bench. Coefficient of variation of the gaps = 1/sqrt(burstiness).
  // 1 draws exactly what poisson draws; infinity = equal gaps, exactly those of constant.
  double burstiness = 1.0;
};

// The stream "arrivals" of a run, instant by instant, in constant memory.
class ArrivalTimes {
 public:
  // `count` requests will be asked for; absent = no end. vllm_bench and processes with all requests
  // at one instant need it (ConfigError). vllm_bench draws its schedule twice, first to learn its
  // length.
  ArrivalTimes(const ArrivalOptions& options, std::uint64_t seed,
               std::optional<std::int64_t> count);

  // The next instants, non-decreasing. ConfigError beyond 2^62 ns (146 years).
  void fill(std::span<TimeNs> times);

 private:
  [[nodiscard]] double draw_gap();  // in units of the mean gap
  [[nodiscard]] TimeNs next_of_sum();
  [[nodiscard]] TimeNs next_of_grid();
  [[nodiscard]] TimeNs next_of_scaled();
  void measure_schedule(std::int64_t count);

  enum class Form : std::uint8_t { zero, grid, sum, scaled };

  RandomStream stream_;
  double rate_per_s_;
  double shape_;  // of the gaps' gamma law
  Form form_;
  std::int64_t given_ = 0;    // instants handed out
  TimeNs whole_ns_ = 0;       // sum: whole nanoseconds
  double fraction_ns_ = 0.0;  // sum: the rest, in [0, 1)
  double drawn_ = 0.0;        // scaled: sum of the gaps so far, in mean gaps
  double scale_ns_ = 0.0;     // scaled: ns per unit of `drawn_`
  std::int64_t count_ = 0;    // scaled: requests in all
  TimeNs end_ns_ = 0;         // scaled: count / rate
};

}  // namespace headroom
