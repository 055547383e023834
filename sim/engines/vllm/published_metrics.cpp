// vllm/v1/metrics/loggers.py, PrometheusStatLogger: names, types and buckets; prometheus_client
// adds _total to the names of counters.

#include "sim/engines/published_metrics.hpp"

namespace headroom {
namespace {

constexpr double kFirstTokenBounds[] = {0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1,
                                        0.25,  0.5,   0.75, 1,    2.5,  5,    7.5,  10,
                                        20,    40,    80,   160,  640,  2560};
constexpr double kTokenBounds[] = {0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5,
                                   0.75, 1,     2.5,  5,     7.5, 10,   20,  40,  80};
constexpr double kRequestBounds[] = {0.3, 0.5, 0.8, 1,  1.5, 2,   2.5, 5,   10,   15,  20,
                                     30,  40,  50,  60, 120, 240, 480, 960, 1920, 7680};

constexpr PublishedMetric kVllmPublished[] = {
    {Published::running, MetricType::gauge, "vllm:num_requests_running",
     "Requests in the batch of the engine."},
    {Published::waiting, MetricType::gauge, "vllm:num_requests_waiting",
     "Requests in the queue of the engine."},
    {Published::kv_share, MetricType::gauge, "vllm:kv_cache_usage_perc",
     "Share of the KV cache in use, 0 to 1."},
    {Published::prefix_queries, MetricType::counter, "vllm:prefix_cache_queries_total",
     "Tokens looked for in the prefix cache."},
    {Published::prefix_hits, MetricType::counter, "vllm:prefix_cache_hits_total",
     "Tokens found in the prefix cache."},
    {Published::preemptions, MetricType::counter, "vllm:num_preemptions_total",
     "Preemptions so far."},
    {Published::prompt_tokens, MetricType::counter, "vllm:prompt_tokens_total",
     "Prompt tokens so far."},
    {Published::generation_tokens, MetricType::counter, "vllm:generation_tokens_total",
     "Tokens of answers so far."},
    {Published::successes, MetricType::counter, "vllm:request_success_total",
     "Answers that ended, by reason."},
    {Published::prompt_lengths, MetricType::histogram, "vllm:request_prompt_tokens",
     "Tokens of a prompt."},
    {Published::answer_lengths, MetricType::histogram, "vllm:request_generation_tokens",
     "Tokens of an answer."},
    {Published::max_tokens, MetricType::histogram, "vllm:request_params_max_tokens",
     "max_tokens of a request."},
    {Published::first_token_s, MetricType::histogram, "vllm:time_to_first_token_seconds",
     "Time to the first token.", kFirstTokenBounds},
    {Published::between_tokens_s, MetricType::histogram, "vllm:inter_token_latency_seconds",
     "Time from token to token.", kTokenBounds},
    {Published::per_token_s, MetricType::histogram, "vllm:request_time_per_output_token_seconds",
     "Mean time of a token behind the first, by request.", kTokenBounds},
    {Published::e2e_s, MetricType::histogram, "vllm:e2e_request_latency_seconds",
     "Time of a request from end to end.", kRequestBounds},
    {Published::queue_s, MetricType::histogram, "vllm:request_queue_time_seconds",
     "Time of a request in the queue.", kRequestBounds},
    {Published::inference_s, MetricType::histogram, "vllm:request_inference_time_seconds",
     "Time of a request in the batch.", kRequestBounds},
    {Published::prefill_s, MetricType::histogram, "vllm:request_prefill_time_seconds",
     "Time of a request from the queue to its first token.", kRequestBounds},
    {Published::decode_s, MetricType::histogram, "vllm:request_decode_time_seconds",
     "Time of a request from its first token to its last.", kRequestBounds},
};
static_assert(std::size(kVllmPublished) == kPublished);

constexpr PublishedMetrics kVllmPublishedMetrics{kVllmPublished, "model_name", "engine",
                                                 "finished_reason"};

}  // namespace

const PublishedMetrics& published_metrics() { return kVllmPublishedMetrics; }

}  // namespace headroom
