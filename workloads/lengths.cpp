#include "workloads/lengths.hpp"

#include <algorithm>
#include <cstddef>
#include <type_traits>
#include <variant>

#include "sim/kernel/check.hpp"

namespace headroom {

LengthSampler::LengthSampler(const LengthOptions& options, std::uint64_t seed,
                             std::string_view stream)
    : stream_(seed, stream), quantile_(length_quantile(options, stream)) {}

void LengthSampler::fill(std::span<std::int32_t> tokens) {
  // Chosen once for all lengths, so that each law's loop stands alone.
  std::visit(
      [&](const auto& law) {
        if constexpr (std::is_same_v<std::decay_t<decltype(law)>, FixedLength>) {
          std::fill(tokens.begin(), tokens.end(), law.tokens);
        } else {
          for (std::int32_t& value : tokens) value = law(stream_.bits());
        }
      },
      quantile_);
}

void LengthSampler::fill(std::span<std::int32_t> tokens, std::span<double> draws) {
  HEADROOM_CHECK(tokens.size() == draws.size(), "as many lengths as draws");
  std::visit(
      [&](const auto& law) {
        for (std::size_t i = 0; i < tokens.size(); ++i) {
          const std::uint64_t bits = stream_.bits();
          tokens[i] = law(bits);
          draws[i] = uniform_of(bits);
        }
      },
      quantile_);
}

double LengthSampler::draw() { return stream_.uniform(); }

std::int32_t LengthSampler::at(double u) const {
  HEADROOM_CHECK(u > 0.0 && u < 1.0, "a draw lies between 0 and 1");
  const std::uint64_t bits = bits_of(u);
  return std::visit([bits](const auto& law) { return law(bits); }, quantile_);
}

}  // namespace headroom
