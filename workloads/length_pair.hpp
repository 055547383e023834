#pragma once
// Prompt and output length of one request from two draws: independent, tied by a Gaussian copula,
// or from the same row of an empirical table.

#include <cstdint>
#include <string_view>

#include "workloads/gaussian_copula.hpp"
#include "workloads/length_laws/length_quantile.hpp"
#include "workloads/length_options.hpp"

namespace headroom {

// ConfigError unless both laws are empirical, with equally many values and equal weights.
void check_joint_lengths(const LengthOptions& prompt, const LengthOptions& output);

struct PairOptions {
  double correlation = 0.0;  // of the Gaussian copula, -1 .. 1
  bool joint = false;        // the same row of two empirical laws; correlation 0
};

class LengthPair {
 public:
  // `scope` stands before the laws' names in errors, "lengths/prompt" and "lengths/output".
  LengthPair(const LengthOptions& prompt, const LengthOptions& output, const PairOptions& options,
             std::string_view scope);  // ConfigError

  // Both of 64 uniform bits. The prompt depends on its own draw alone.
  [[nodiscard]] std::int32_t prompt(std::uint64_t prompt_bits) const;
  [[nodiscard]] std::int32_t output(std::uint64_t prompt_bits, std::uint64_t output_bits) const;

 private:
  LengthQuantile prompt_;
  LengthQuantile output_;
  GaussianCopula copula_;
  bool independent_;
  bool joint_;
};

// The length of a draw.
[[nodiscard]] inline std::int32_t length_at(const LengthQuantile& quantile, std::uint64_t bits) {
  return std::visit([bits](const auto& law) { return law(bits); }, quantile);
}

}  // namespace headroom
