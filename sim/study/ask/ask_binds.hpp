#pragma once
// What stops a load from growing: found by giving the system more of one thing at a time and
// running it again.

#include <atomic>
#include <string>

#include "hardware/catalog.hpp"
#include "sim/resolve/what_binds.hpp"
#include "sim/study/ask/ask_load.hpp"

namespace headroom {

// Of the load of `question`, whose edge is `largest` and whose next value breaks `broken` (a metric
// with a target, or another rule). Memory or seats bind if twice as much of them carries a load
// that is 5 % larger; else it is the work of the steps.
[[nodiscard]] Binds binds_beyond(const EdgeQuestion& question, double largest,
                                 const std::string& broken, const RunResult& beyond,
                                 const Catalog& catalog, const std::atomic<bool>* stop);

}  // namespace headroom
