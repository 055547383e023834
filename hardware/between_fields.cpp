#include "hardware/between_fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "sim/kernel/errors.hpp"
#include "sim/kernel/nearest_name.hpp"

namespace headroom {
namespace {

using B = BetweenKernels;

constexpr double kBetweenUs = 1e3;
constexpr double kBetweenMs = 1e6;
constexpr double kBetweenUsPerMillion = 1e3 / 1e6;  // us per million elements of hidden states
constexpr double kMostBetween = 1e6;

// key, member, unit, legal up to, a fit up to, spread
constexpr std::array kBetweenFields{
    BetweenField{"launch_us", &B::launch_ns, kBetweenUs, kMostBetween, 100, 10},
    BetweenField{"layer_launches", &B::layer_launches, 1, kMostBetween, 40, 4},
    BetweenField{"expert_launches", &B::expert_launches, 1, kMostBetween, 40, 4},
    BetweenField{"latent_launches", &B::latent_launches, 1, kMostBetween, 80, 8},
    BetweenField{"recurrent_launches", &B::recurrent_launches, 1, kMostBetween, 200, 20},
    BetweenField{"quantise_launches", &B::quantise_launches, 1, kMostBetween, 40, 4},
    BetweenField{"layer_us", &B::layer_ns, kBetweenUs, kMostBetween, 60, 6},
    BetweenField{"latent_layer_share", &B::latent_layer_share, 1, 1, 1, 0.25},
    BetweenField{"sparse_us", &B::sparse_ns, kBetweenUs, kMostBetween, 200, 60},
    BetweenField{"recurrent_us", &B::recurrent_ns, kBetweenUs, kMostBetween, 200, 60},
    BetweenField{"quantise_us", &B::quantise_ns, kBetweenUs, kMostBetween, 60, 6},
    BetweenField{"reduce_us", &B::reduce_ns, kBetweenUs, kMostBetween, 40, 3},
    BetweenField{"elementwise_us", &B::elementwise_ns, kBetweenUsPerMillion, kMostBetween, 60, 5},
    BetweenField{"quantise_token_us", &B::quantise_token_ns, kBetweenUsPerMillion, kMostBetween, 60,
                 5},
    BetweenField{"sequence_us", &B::sequence_ns, kBetweenUs, kMostBetween, 40, 3},
    BetweenField{"request_ms", &B::request_ns, kBetweenMs, kMostBetween, 40, 5},
    BetweenField{"prompt_token_us", &B::prompt_token_ns, kBetweenUs, kMostBetween, 20, 2},
    BetweenField{"entry_ms", &B::entry_ns, kBetweenMs, kMostBetween, 20, 3},
    BetweenField{"entry_token_us", &B::entry_token_ns, kBetweenUs, kMostBetween, 20, 2}};

}  // namespace

std::span<const BetweenField> between_fields() { return kBetweenFields; }

const BetweenField& between_field(std::string_view key) {
  const auto* found = std::ranges::find(kBetweenFields, key, &BetweenField::key);
  if (found != kBetweenFields.end()) return *found;
  std::vector<std::string> names;
  names.reserve(kBetweenFields.size());
  for (const BetweenField& field : kBetweenFields) names.emplace_back(field.key);
  throw ConfigError(Complaint{.kind = ErrorKind::unknown,
                              .value = std::string(key),
                              .problem = "no constant of between_kernels.json",
                              .nearest = nearest_name(key, names)});
}

}  // namespace headroom
