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
  std::string_view preemptions;
  std::string_view prefix_hits;  // tokens
  std::string_view prefix_queries;
  std::string_view drafts;
  std::string_view model_label;   // on every sample: the served name,
  std::string_view engine_label;  // and the number of a data parallel engine
};

}  // namespace headroom
