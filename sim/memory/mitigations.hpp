#pragma once
// What gives KV tokens back on a machine whose host and device share one memory (seed document
// 000): each remedy alone, with the environment or the engine's option changed and the budget
// computed anew.

#include <cstdint>
#include <string>
#include <vector>

#include "sim/memory/what_if.hpp"

namespace headroom {

struct Mitigation {
  std::string remedy;
  std::string change;            // "environment.page_cache_gib 12.6 -> 0"
  TokenCount kv_tokens = 0;      // with the change
  TokenCount regained = 0;       // tokens of KV, > 0
  ByteCount regained_bytes = 0;  // of the pool
  std::string assumption;
  std::string source;
};

// Most tokens first. Empty on a device with a memory of its own: nothing on the host gives any of
// it back.
[[nodiscard]] std::vector<Mitigation> find_mitigations(const Scenario& scenario,
                                                       const Catalog& catalog);

}  // namespace headroom
