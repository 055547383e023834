#include "workloads/length_pair.hpp"

#include <fmt/format.h>

#include "sim/kernel/errors.hpp"

namespace headroom {

void check_joint_lengths(const LengthOptions& prompt, const LengthOptions& output) {
  const bool same_rows = prompt.law == LengthLaw::empirical && output.law == LengthLaw::empirical &&
                         prompt.values.size() == output.values.size() &&
                         prompt.weights == output.weights;
  if (same_rows) return;
  throw ConfigError(
      "joint_lengths needs two empirical laws with equally many values and the same weights");
}

LengthPair::LengthPair(const LengthOptions& prompt, const LengthOptions& output,
                       const PairOptions& options, std::string_view scope)
    : prompt_(length_quantile(prompt, fmt::format("{}lengths/prompt", scope))),
      output_(length_quantile(output, fmt::format("{}lengths/output", scope))),
      copula_(options.correlation),
      independent_(options.correlation == 0.0),
      joint_(options.joint) {
  if (!joint_) return;
  check_joint_lengths(prompt, output);
  if (independent_) return;
  throw ConfigError(
      fmt::format("{}lengths: the correlation is {}; joint_lengths allows only 0, because the "
                  "table's rows set the correlation",
                  scope, options.correlation));
}

std::int32_t LengthPair::prompt(std::uint64_t prompt_bits) const {
  return length_at(prompt_, prompt_bits);
}

std::int32_t LengthPair::output(std::uint64_t prompt_bits, std::uint64_t output_bits) const {
  if (joint_) return length_at(output_, prompt_bits);
  if (independent_) return length_at(output_, output_bits);
  const double tied = copula_(uniform_of(prompt_bits), uniform_of(output_bits));
  return length_at(output_, bits_of(tied));
}

}  // namespace headroom
