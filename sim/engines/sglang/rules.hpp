#pragma once

#include "scheduler/batching/sglang_rules.hpp"
#include "sim/engines/sglang/defaults.hpp"

namespace headroom {

// How the scheduler of a release counts.
[[nodiscard]] SglangRules sglang_rules(SglangRelease release);

}  // namespace headroom
