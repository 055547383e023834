#pragma once
// One table of all batch schedulers, with their options, and each allocator that a scenario may
// combine them with (sim/resolve/validate.cpp). What is in it goes through every check of
// conformance_test.cpp; a new scheduler, order, capacity policy or placement needs rows here.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tests/support/policy_run.hpp"

namespace headroom::test {

inline constexpr TimeNs kUs = 1'000;
inline constexpr std::int32_t kConformanceModelLen = 160;  // tokens, of every row

struct EngineSize {
  std::int32_t seats = 4;
  std::int32_t step_tokens = 48;  // for engines with a token budget; a multiple of 16, >= seats
  TokenCount pool_tokens = 512;   // what slots have in all follows from the seats
};

struct ConformanceRow {
  // Options as `key=value`, by their names in a scenario, a blank behind each.
  std::string name;
  int depths = 2;                      // pipeline depths that the engine knows: 1, or 1 and 2
  bool pads = false;                   // computes padding beside the prompts
  std::int32_t adapters = 0;           // LoRA adapters that requests may use
  std::int32_t ranks = 1;              // data ranks, of the engine's size each
  bool may_die = false;                // a run-time OOM of the device is part of its model
  TimeNs idle_while_some_wait_ns = 0;  // longest, by its own rule
  TimeNs restart_ns = 0;
  std::function<PolicySetup(const EngineSize&)> make;
};

[[nodiscard]] const std::vector<ConformanceRow>& conformance_rows();
// The row with this name.
[[nodiscard]] const ConformanceRow& conformance_row(const std::string& name);

}  // namespace headroom::test
