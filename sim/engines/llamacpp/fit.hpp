#pragma once
// How llama.cpp fits a model to the free memory of its devices, where the user leaves that to it.
// Rules: common/fit.cpp (common_params_fit_impl), pull request 16653 of December 2025.

#include <string>
#include <vector>

#include "sim/engines/llamacpp/split.hpp"

namespace headroom {

struct LlamacppFit {
  LlamacppBudgetOptions options;  // with the context that was chosen
  LlamacppPlacement placement;
  std::vector<std::string> notes;
};
[[nodiscard]] LlamacppFit llamacpp_fit(const BudgetInputs& inputs,
                                       const LlamacppBudgetOptions& options);

[[nodiscard]] LlamacppFitRule llamacpp_fit_rule(const LlamacppBudgetOptions& options);

// What others leave free on the device, and what of it the engine's own process holds when it asks
// how much is free.
[[nodiscard]] ByteCount llamacpp_free_bytes(const BudgetInputs& inputs);
[[nodiscard]] ByteCount llamacpp_context_before_fit(const DeviceSpec& device);

}  // namespace headroom
