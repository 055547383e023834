#pragma once

#include "scheduler/batching/sglang_rules.hpp"
#include "scheduler/kv/radix.hpp"
#include "sim/engines/sglang/defaults.hpp"

namespace headroom {

// How the scheduler of a release counts.
[[nodiscard]] SglangRules sglang_rules(SglangRelease release);

// How its cache evicts.
[[nodiscard]] RadixOptions sglang_radix(SglangRelease release);

}  // namespace headroom
