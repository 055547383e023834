#pragma once
// The table of all batch policies.

#include <span>
#include <string>
#include <string_view>

#include "scheduler/batching/batch_policy.hpp"

namespace headroom {

[[nodiscard]] std::span<const BatchPolicy* const> batch_policies();
// A name of the table.
[[nodiscard]] const BatchPolicy& batch_policy(std::string_view name);

// Whether the policy takes that option of /engine.
[[nodiscard]] bool reads_option(const BatchPolicy& policy, std::string_view option);
// Names of those that have the trait.
[[nodiscard]] std::vector<std::string_view> policies_that(bool BatchTraits::*trait);

}  // namespace headroom
