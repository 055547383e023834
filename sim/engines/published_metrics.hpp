#pragma once
// What a server of OpenAI's API publishes at /metrics for Prometheus: names, types, explanations
// and buckets. EngineMetrics and LoadMetrics (engine_metrics.hpp) are for reading such pages.

#include <cstdint>
#include <span>
#include <string_view>

namespace headroom {

enum class MetricType : std::uint8_t { gauge, counter, histogram };

// What is counted.
enum class Published : std::uint8_t {
  running,         // requests in the batch
  waiting,         // requests in the queue
  kv_share,        // of the KV pool in use, 0 to 1
  prefix_queries,  // tokens looked for in the prefix cache,
  prefix_hits,     //   and found
  preemptions,
  prompt_tokens,      // of requests whose answer has begun
  generation_tokens,  // of answers
  successes,          // answers that ended, by reason
  // Histograms over requests that ended,
  prompt_lengths,
  answer_lengths,
  max_tokens,  // declared
  e2e_s,
  queue_s,      // until the first chunk is planned
  inference_s,  // from there to the last token
  prefill_s,    // from there to the first token
  decode_s,     // from the first token to the last
  per_token_s,  // decode_s by the tokens behind the first
  // and over tokens.
  first_token_s,
  between_tokens_s
};
inline constexpr std::size_t kPublished = 20;

struct PublishedMetric {
  Published what = Published::running;
  MetricType type = MetricType::gauge;
  std::string_view name;  // of a counter with its _total
  std::string_view doc;
  std::span<const double> bounds = {};  // of a histogram; empty: 1, 2, 5, 10, ... to the context
};

struct PublishedMetrics {
  std::span<const PublishedMetric> metrics;  // each of Published once
  std::string_view model_label;              // on every sample,
  std::string_view engine_label;             // likewise,
  std::string_view reason_label;             // and on successes
};

// Those of the server whose API others imitate.
[[nodiscard]] const PublishedMetrics& published_metrics();

}  // namespace headroom
