#include "sim/serving/step_cost.hpp"

namespace headroom {

std::string_view name_of(CostTerm term) {
  static constexpr std::array<std::string_view, kCostTermCount> kNames{
      "linear_memory",     "linear_compute",   "elementwise",
      "attention_prefill", "attention_decode", "head",
      "communication",     "step_overhead",    "host",
      "transfer",          "pipeline"};
  return kNames[static_cast<std::size_t>(term)];
}

}  // namespace headroom
