#pragma once
// How long synthetic prompts and outputs are. Each length is one draw u of its own stream, put
// through the quantile function of its law: request k keeps its u when a parameter or the law
// changes, so scenarios that differ in one length setting are compared request by request.

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "sim/kernel/random.hpp"
#include "workloads/lognormal_quantile.hpp"

namespace headroom {

inline constexpr std::int64_t kMaxLengthTokens = INT32_MAX;  // lengths are 1 .. 2^31 - 1

enum class LengthLaw : std::uint8_t { fixed, uniform, lognormal, empirical };

struct LengthOptions {
  LengthLaw law = LengthLaw::fixed;
  std::int64_t tokens = 1;  // fixed
  // uniform: both included. lognormal: smaller and larger values become min and max.
  std::int64_t min = 1;
  std::int64_t max = kMaxLengthTokens;
  // lognormal, tokens: exactly one of the two, of the law before it is clamped and rounded (to the
  // nearest token, halves up). median = mean * exp(-sigma^2 / 2).
  std::optional<double> median = {};
  std::optional<double> mean = {};
  double sigma = 1.0;  // standard deviation of the logarithm, 0 .. 10
  // empirical: drawn with replacement. Weights: none = all equal, else one per value, >= 0.
  std::vector<std::int64_t> values = {};
  std::vector<std::int64_t> weights = {};
};

class LengthSampler {
 public:
  // `stream` also names the option in errors: "lengths/prompt", "lengths/output".
  LengthSampler(const LengthOptions& options, std::uint64_t seed, std::string_view stream);

  // The next lengths, each in [1, 2^31), at one draw each (fixed lengths: none).
  void fill(std::span<std::int32_t> tokens);

 private:
  void fill_uniform(std::span<std::int32_t> tokens);
  void fill_lognormal(std::span<std::int32_t> tokens);
  void fill_empirical(std::span<std::int32_t> tokens);
  void prepare_empirical(const LengthOptions& options, std::string_view stream);

  RandomStream stream_;
  LengthLaw law_;
  std::int32_t min_ = 1;  // fixed: the length
  std::int32_t max_ = 1;
  std::optional<LognormalQuantile> lognormal_;
  std::vector<std::int32_t> values_;
  std::vector<std::uint64_t> cumulative_;  // of the weights; empty = all equal
};

}  // namespace headroom
