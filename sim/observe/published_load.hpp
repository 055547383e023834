#pragma once
// What a dump of /metrics says of the server's load at that moment.

#include <optional>

#include "sim/engines/engine.hpp"
#include "sim/intake/prometheus_text.hpp"
#include "sim/kernel/time.hpp"

namespace headroom {

struct LoadSample {
  TimeNs time_ns = 0;                      // when the answer had come, by the client's clock
  std::optional<double> running = {};      // requests
  std::optional<double> waiting = {};      // requests
  std::optional<double> kv_share = {};     // of the pool; mean of several engines
  std::optional<double> preemptions = {};  // since the server started, as are the next two
  std::optional<double> prefix_hits = {};  // tokens
  std::optional<double> prefix_queries = {};
};

// The engine whose names are in the dump; nullptr: of none that is known.
[[nodiscard]] const Engine* engine_with_load(const MetricsDump& dump);

// `engine`: engine_with_load.
[[nodiscard]] LoadSample published_load(const MetricsDump& dump, const Engine& engine,
                                        TimeNs now_ns);

}  // namespace headroom
