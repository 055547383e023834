// tools/server/server-task.cpp, to_prometheus. Builds up to 2025 also published the share of cells
// in use.

#include "sim/engines/engine_metrics.hpp"
#include "sim/engines/llamacpp/engine.hpp"

namespace headroom {

const LoadMetrics kLlamacppLoadMetrics{
    .running = "llamacpp:requests_processing",
    .waiting = "llamacpp:requests_deferred",
    .kv_share = "llamacpp:kv_cache_usage_ratio",
    .preemptions = {},
    .prefix_hits = {},
    .prefix_queries = {},
};

}  // namespace headroom
