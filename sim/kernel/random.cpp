#include "sim/kernel/random.hpp"

#include "sim/kernel/check.hpp"
#include "sim/kernel/det_math.hpp"
#include "sim/kernel/time.hpp"

namespace headroom {
namespace {

std::uint64_t fnv1a_64(std::string_view text) {
  std::uint64_t hash = 0xCBF29CE484222325;
  for (const char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001B3;
  }
  return hash;
}

// Steele, Lea and Flood, "Fast splittable pseudorandom number generators" (2014): one step.
std::uint64_t splitmix64(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

// Mixed in sequence, not by a plain xor: no pair (seed, name) is tied to another one.
std::uint64_t stream_key(std::uint64_t seed, std::string_view name) {
  return splitmix64(splitmix64(seed) ^ fnv1a_64(name));
}

}  // namespace

RandomStream::RandomStream(std::uint64_t seed, std::string_view name)
    : engine_(stream_key(seed, name)) {}

std::uint64_t RandomStream::bits() { return engine_(); }

double RandomStream::uniform() {
  const std::uint64_t interval = bits() >> 12;
  return (static_cast<double>(interval) + 0.5) * 0x1p-52;  // 53 significant bits: exact
}

std::int64_t RandomStream::uniform_int(std::int64_t low, std::int64_t high) {
  HEADROOM_CHECK(low <= high, "empty range of integers");
  const std::uint64_t range =
      static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low) + 1;
  std::uint64_t offset = bits();
  if (range != 0) {  // 0: all of the 2^64 integers
    // Lemire, "Fast random integer generation in an interval" (2019): the low half of the product
    // is rejected where it would favour a result.
    const std::uint64_t threshold = (0 - range) % range;
    Uint128 product = Uint128{offset} * range;
    while (static_cast<std::uint64_t>(product) < threshold) {
      offset = bits();
      product = Uint128{offset} * range;
    }
    offset = static_cast<std::uint64_t>(product >> 64);
  }
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + offset);
}

double RandomStream::exponential(double mean) {
  HEADROOM_CHECK(mean > 0.0, "mean of an exponential law must be above 0");
  return -mean * det::log(uniform());
}

double RandomStream::normal() {
  // Marsaglia's polar method. Its second value is discarded, so that a stream's state is only that
  // of its engine.
  while (true) {
    const double x = 2.0 * uniform() - 1.0;
    const double y = 2.0 * uniform() - 1.0;
    const double square = x * x + y * y;  // never 0: neither coordinate is
    if (square < 1.0) return x * det::sqrt(-2.0 * det::log(square) / square);
  }
}

double RandomStream::gamma(double shape, double scale) {
  HEADROOM_CHECK(shape > 0.0 && scale > 0.0, "shape and scale of a gamma law must be above 0");
  // Marsaglia and Tsang, "A simple method for generating gamma variables" (2000); below shape 1
  // their boost G(shape) = G(shape + 1) * U^(1 / shape).
  double boost = 1.0;
  if (shape < 1.0) {
    boost = det::pow(uniform(), 1.0 / shape);
    shape += 1.0;
  }
  const double d = shape - 1.0 / 3.0;
  const double c = 1.0 / det::sqrt(9.0 * d);
  while (true) {
    const double x = normal();
    const double root = 1.0 + c * x;
    if (root <= 0.0) continue;
    const double v = root * root * root;
    const double u = uniform();
    const double xx = x * x;
    if (u < 1.0 - 0.0331 * xx * xx) return d * v * boost * scale;  // implies the exact test below
    const double bound = 0.5 * xx + d * (1.0 - v + det::log(v));
    if (det::log(u) < bound) return d * v * boost * scale;
  }
}

double RandomStream::lognormal(double median, double sigma) {
  HEADROOM_CHECK(median > 0.0 && sigma >= 0.0, "a lognormal law needs median > 0 and sigma >= 0");
  return median * det::exp(sigma * normal());
}

}  // namespace headroom
