// vllm/v1/metrics/loggers.py.

#include "sim/engines/engine_metrics.hpp"
#include "sim/engines/vllm/engine.hpp"

namespace headroom {
namespace {

constexpr MetricLabel kVllmLabels[] = {
    {"gpu_memory_utilization", "/engine/gpu_memory_utilization", LabelType::number},
    {"cache_dtype", "/engine/kv_cache_dtype", LabelType::text},
    {"block_size", "/engine/block_size", LabelType::integer},
    {"enable_prefix_caching", "/engine/enable_prefix_caching", LabelType::boolean},
    {"kv_cache_memory_bytes", "/engine/kv_cache_memory_bytes", LabelType::integer},
    {"num_gpu_blocks", "/engine/num_gpu_blocks_override", LabelType::integer},
};

}  // namespace

const EngineMetrics kVllmMetrics{
    .prefix = "vllm:",
    .config = "vllm:cache_config_info",
    .labels = kVllmLabels,
    .pool_option = "/engine/num_gpu_blocks_override",
    .prompt_lengths = "vllm:request_prompt_tokens",
    .output_lengths = "vllm:request_generation_tokens",
    .drafts = "vllm:spec_decode_num_drafts_total",
    .model_label = "model_name",
    .engine_label = "engine",
};

// Second names: up to 0.9, when the pool could only be a GPU's.
const LoadMetrics kVllmLoadMetrics{
    .running = "vllm:num_requests_running",
    .waiting = "vllm:num_requests_waiting",
    .kv_share = "vllm:kv_cache_usage_perc|vllm:gpu_cache_usage_perc",
    .preemptions = "vllm:num_preemptions_total",
    .prefix_hits = "vllm:prefix_cache_hits_total|vllm:gpu_prefix_cache_hits_total",
    .prefix_queries = "vllm:prefix_cache_queries_total|vllm:gpu_prefix_cache_queries_total",
};

}  // namespace headroom
