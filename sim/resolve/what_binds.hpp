#pragma once
// What keeps the load of a run from growing.

#include <cstdint>
#include <string_view>

#include "hardware/catalog.hpp"
#include "sim/resolve/run.hpp"

namespace headroom {

enum class Binds : std::uint8_t {
  nothing,
  pool,
  batch_limit,
  prefill,
  decode,
  api_server,
  length,  // requests are longer than the engine accepts
  alone    // even one request alone is too slow
};
[[nodiscard]] std::string_view name_of(Binds binds);
// "the KV pool is full"
[[nodiscard]] std::string_view sentence_of(Binds binds);

// `run`: a little beyond the largest load that holds. `broken`: the metric whose target it misses;
// empty: another rule. In this order: a full API server; where requests wait (all but targets on
// TPOT and ITL) a full batch or a full pool; else the work that takes most of the steps' time.
[[nodiscard]] Binds what_binds(const RunResult& run, std::string_view broken,
                               const Catalog& catalog);

}  // namespace headroom
