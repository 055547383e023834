#pragma once
// Named independent random streams. A stream is identified by the run's seed and a name such as
// "arrivals" or "lengths/output", so adding a stream never changes what another one draws, and two
// scenarios that differ in one setting see the same traffic.
//
// All laws use the engine's bits, IEEE arithmetic and `det_math` only: the same numbers on every
// compiler and machine. `normal` and `gamma` reject, so they use a varying number of draws: a
// stream that must stay aligned with another one needs a name of its own.

#include <boost/random/mersenne_twister.hpp>
#include <cstdint>
#include <string_view>

namespace headroom {

class RandomStream {
 public:
  RandomStream(std::uint64_t seed, std::string_view name);

  [[nodiscard]] std::uint64_t bits();  // 64 uniform bits
  // In (0, 1): the midpoints of 2^52 equal intervals, so never 0, never 1, and symmetric.
  [[nodiscard]] double uniform();
  [[nodiscard]] std::int64_t uniform_int(std::int64_t low, std::int64_t high);  // both included

  [[nodiscard]] double exponential(double mean);                // mean > 0
  [[nodiscard]] double normal();                                // mean 0, variance 1
  [[nodiscard]] double gamma(double shape, double scale);       // both > 0; mean shape * scale
  [[nodiscard]] double lognormal(double median, double sigma);  // median > 0, sigma >= 0

 private:
  boost::random::mt19937_64 engine_;
};

}  // namespace headroom
