#pragma once
// The laws of prompt and output lengths, and their parameters.

#include <cstdint>
#include <optional>
#include <vector>

namespace headroom {

inline constexpr std::int64_t kMaxLengthTokens = INT32_MAX;  // lengths are 1 .. 2^31 - 1

enum class LengthLaw : std::uint8_t {
  fixed,
  uniform,
  lognormal,
  empirical,
  normal,
  gamma,
  exponential,  // gamma with shape 1
  geometric,    // on 1, 2, 3 ...: the memoryless law of whole numbers
  zipf          // P(k) proportional to k^-exponent, k = min .. max tokens
};

struct LengthOptions {
  LengthLaw law = LengthLaw::fixed;
  std::int64_t tokens = 1;  // fixed
  // uniform, zipf: both included; zipf: at most a million different lengths. lognormal, normal,
  // gamma, exponential, geometric: smaller and larger values become min and max.
  std::int64_t min = 1;
  std::int64_t max = kMaxLengthTokens;
  // Tokens, of the law before it is clamped and rounded (to the nearest token, halves up; a
  // geometric law is whole already). lognormal: exactly one of the two, median = mean *
  // exp(-sigma^2 / 2). normal, gamma, exponential: the mean, above 0. geometric: the mean, 1 or
  // more.
  std::optional<double> median = {};
  std::optional<double> mean = {};
  double sigma = 1.0;  // lognormal: standard deviation of the logarithm, 0 .. 10
  // empirical: drawn with replacement. Weights: none = all equal, else one per value, >= 0.
  std::vector<std::int64_t> values = {};
  std::vector<std::int64_t> weights = {};
  std::optional<double> stddev = {};  // normal, needed: standard deviation, 0 .. 2^31 - 1 tokens
  double shape = 1.0;                 // gamma: 0.01 .. 10000; variance = mean^2 / shape
  double exponent = 1.0;              // zipf: above 0, at most 20
};

}  // namespace headroom
