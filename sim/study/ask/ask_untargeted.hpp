#pragma once
// What is said of a load without latency targets: any wait is accepted then, so the answer names
// the waits, and how many requests memory and seats carry at once.

#include <cstdint>
#include <optional>
#include <string>

#include "sim/resolve/run.hpp"
#include "sim/resolve/what_binds.hpp"

namespace headroom {

struct AskAtOnce {
  std::int64_t requests = 0;
  Binds binds = Binds::pool;  // or the batch limit
};

// Requests of the run's mean length, prompt and whole answer, that have a seat and memory at the
// same time; all others wait for their turn. Of all replicas. Nothing: the run finished no request,
// the engine keeps no pool of blocks or sets aside more than a request's length, or its replicas
// differ.
[[nodiscard]] std::optional<AskAtOnce> requests_at_once(const RunResult& run);

// One sentence with the latencies of a run that finished requests.
[[nodiscard]] std::string untargeted_reason(const RunResult& run);

}  // namespace headroom
