// SchedulerMetricsCollector of sglang/srt, published with --enable-metrics.

#include "sim/engines/engine_metrics.hpp"
#include "sim/engines/sglang/engine.hpp"

namespace headroom {

// num_retracted_reqs is a gauge of the latest step; the counter has another name.
const LoadMetrics kSglangLoadMetrics{
    .running = "sglang:num_running_reqs",
    .waiting = "sglang:num_queue_reqs",
    .kv_share = "sglang:token_usage",
    .preemptions = "sglang:num_retracted_requests_total",
    .prefix_hits = "sglang:cached_tokens_total",
    .prefix_queries = "sglang:prompt_tokens_total",
};

}  // namespace headroom
