#pragma once
// Conditions on the figures of a run, as people write them: "p99_ttft_ms < 800", "oom == 0",
// "goodput_share >= 99%", "p99_ttft=2s".

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headroom {

enum class Relation : std::uint8_t { less, at_most, more, at_least, equal, unequal };
// "<=", as it is written.
[[nodiscard]] std::string_view name_of(Relation relation);

struct Assertion {
  std::string text;    // as it was given
  std::string metric;  // of run_metrics() or latency_metrics()
  Relation relation = Relation::at_most;
  double bound = 0;  // in the metric's unit

  [[nodiscard]] bool holds_at(double value) const;
  // Whether a true value anywhere between `low` and `high` would break it.
  [[nodiscard]] bool may_break(double low, double high) const;
};

// Whether a word has a relation in it, so that it is no name of a scenario.
[[nodiscard]] bool is_assertion(std::string_view word);

// In order. A metric is named as in `headroom list metrics`; a latency may leave out _ms, and `oom`
// is oom_count. The relations are <, <=, >, >=, == and !=; a single = gives a latency's limit, as
// `ask --slo` does, in lists with commas, too. Numbers are in the metric's unit, or have their own
// (short_number). ConfigError: no such metric, with the nearest names of all that are unknown; a
// metric without a relation or a number; an assertion that stands twice.
[[nodiscard]] std::vector<Assertion> parse_assertions(const std::vector<std::string>& words);

// Of a metric, as results show it: "ms", "requests/s".
[[nodiscard]] std::string_view unit_of_metric(std::string_view metric);

}  // namespace headroom
