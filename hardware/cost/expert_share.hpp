#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "hardware/llm/model_spec.hpp"
#include "sim/kernel/det_math.hpp"

namespace headroom {

// Routing of the layers with experts; all have the same in the models there are. nullptr: none has.
inline const MoeSpec* experts_of(const ModelSpec& model) {
  for (const LayerKind& kind : model.kinds) {
    if (kind.moe) return &*kind.moe;
  }
  return nullptr;
}

inline std::int64_t layers_with_experts(const ModelSpec& model) {
  std::int64_t layers = 0;
  for (std::size_t k = 0; k < model.kinds.size(); ++k) {
    if (model.kinds[k].moe) layers += model.layers_of(k);
  }
  return layers;
}

// Share of the experts that T `tokens` reach, each picking top_k of E at random: 1 - (1 - k/E)^T.
// log_missed = ln(1 - k/E). Tokens that are alike pick alike: each but the first counts as `reach`
// tokens, in (0, 1]. Below exp(-40) the rest no longer changes a double.
inline double share_of_experts(double log_missed, std::int64_t tokens, double reach) {
  if (tokens == 0) return 0;
  const double exponent = log_missed * (1.0 + reach * static_cast<double>(tokens - 1));
  return exponent < -40 ? 1.0 : 1.0 - det::exp(exponent);
}

// Expected largest of n standard normal variables, n >= 1: exact to 1e-4 at powers of two
// (integral of x n phi(x) Phi(x)^(n-1)), linear in log2 n between, as from 1024 to 2048 beyond.
inline double largest_of_normals(std::int64_t n) {
  constexpr std::array kAtPowers{0.0,    0.5642, 1.0294, 1.4236, 1.7660, 2.0697,
                                 2.3437, 2.5946, 2.8269, 3.0439, 3.2482, 3.4418};
  const double place = det::log(static_cast<double>(n)) / det::log(2.0);
  const auto low = std::min(static_cast<std::size_t>(place + 1e-9), kAtPowers.size() - 2);
  return kAtPowers[low] +
         (kAtPowers[low + 1] - kAtPowers[low]) * (place - static_cast<double>(low));
}

}  // namespace headroom
