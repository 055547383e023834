#pragma once
// The names under which an engine publishes its traffic at /metrics (Prometheus).

#include <cstdint>
#include <span>
#include <string_view>

namespace headroom {

enum class LabelType : std::uint8_t { integer, number, text, boolean };

// A label of the metric that holds the configuration, and the option it is.
struct MetricLabel {
  std::string_view label;
  std::string_view pointer;
  LabelType type;
};

struct EngineMetrics {
  std::string_view prefix;  // of every name
  std::string_view config;
  std::span<const MetricLabel> labels;
  std::string_view pool_option;     // which of their options sizes the KV pool
  std::string_view prompt_lengths;  // histograms of finished requests
  std::string_view output_lengths;
  std::string_view drafts;
  std::string_view model_label;   // on every sample: the served name,
  std::string_view engine_label;  // and the number of a data parallel engine
};

// What it publishes of its load. "a|b": the one that is there; empty: it does not say.
struct LoadMetrics {
  std::string_view running;      // requests in the batch
  std::string_view waiting;      // requests in the queue
  std::string_view kv_share;     // of the KV pool, 0 to 1
  std::string_view preemptions;  // so far, as are the next two
  std::string_view prefix_hits;  // tokens
  std::string_view prefix_queries;
};

}  // namespace headroom
