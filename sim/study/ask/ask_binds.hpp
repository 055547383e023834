#pragma once
// What keeps the load of a run from growing.

#include <string_view>

#include "hardware/catalog.hpp"
#include "sim/resolve/run.hpp"
#include "sim/study/ask/ask.hpp"

namespace headroom {

// `run`: a little beyond the largest load that holds. `broken`: the metric whose target it misses;
// empty: another rule. In this order: a full API server; where requests wait (all but targets on
// TPOT and ITL) a full batch or a full pool; else the work that takes most of the steps' time.
[[nodiscard]] AskBinds what_binds(const RunResult& run, std::string_view broken,
                                  const Catalog& catalog);

}  // namespace headroom
