#include "sim/study/assert/assertion.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "sim/intake/values.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/kernel/nearest_name.hpp"
#include "sim/metrics/latency_metrics.hpp"
#include "sim/options/bounds.hpp"
#include "sim/scenario/short_values.hpp"
#include "sim/study/ask/ask_target.hpp"
#include "sim/study/sweep/run_row.hpp"

namespace headroom {
namespace {

constexpr std::string_view kAssertOrigin = "assert";
constexpr std::string_view kRelationSigns = "<>=!";
constexpr std::string_view kLatencyEnd = "_ms";
constexpr std::array<std::string_view, 6> kRelations{"<", "<=", ">", ">=", "==", "!="};
constexpr std::pair<std::string_view, std::string_view> kShortMetric{"oom", "oom_count"};

// What stands left and right of a relation.
struct Parts {
  std::string_view metric;
  std::string_view sign;
  std::string_view number;
};

ConfigError wrong_assertion(std::string_view text, std::string problem, ErrorKind kind) {
  return ConfigError(Complaint{.kind = kind,
                               .origin = std::string(kAssertOrigin),
                               .value = std::string(text),
                               .problem = std::move(problem)});
}

Parts parts_of(std::string_view text) {
  const std::size_t begin = std::min(text.find_first_of(kRelationSigns), text.size());
  const std::size_t end = std::min(text.find_first_not_of(kRelationSigns, begin), text.size());
  const Parts parts{trimmed(text.substr(0, begin)), text.substr(begin, end - begin),
                    trimmed(text.substr(end))};
  if (parts.metric.empty() || parts.sign.empty() || parts.number.empty()) {
    throw wrong_assertion(text, "expected a metric, a relation and a number: p99_ttft_ms < 800",
                          ErrorKind::missing);
  }
  return parts;
}

// The full name; empty: there is no such metric.
std::string full_metric(std::string_view name) {
  if (name == kShortMetric.first) return std::string(kShortMetric.second);
  const std::vector<std::string> known = metric_names();
  for (const std::string& full : {std::string(name), fmt::format("{}{}", name, kLatencyEnd)}) {
    if (std::ranges::find(known, full) != known.end()) return full;
  }
  return "";
}

// All metrics are known, or all that are not are named at once.
void check_metrics(const std::vector<Parts>& all) {
  std::vector<std::string> known = metric_names();
  known.emplace_back(kShortMetric.first);
  for (const LatencyMetric& metric : latency_metrics()) {
    known.emplace_back(metric.name.substr(0, metric.name.size() - kLatencyEnd.size()));
  }
  std::vector<std::string> unknown;
  for (const Parts& parts : all) {
    if (!full_metric(parts.metric).empty()) continue;
    const std::string nearest = nearest_name(parts.metric, known);
    const std::string p99 = fmt::format("p99_{}", parts.metric);
    std::string hint = nearest.empty() ? "" : fmt::format(" (nearest: {})", nearest);
    if (!full_metric(p99).empty()) {
      hint = fmt::format(" (say which: {}, p95_{}, mean_{})", p99, parts.metric, parts.metric);
    }
    unknown.push_back(std::string(parts.metric) + hint);
  }
  if (unknown.empty()) return;
  throw ConfigError(Complaint{.kind = ErrorKind::unknown,
                              .origin = std::string(kAssertOrigin),
                              .problem = "no such metric: " + comma_list(unknown),
                              .context = "see `headroom list metrics`"});
}

// A limit as `ask --slo` takes it.
Assertion target_assertion(std::string_view text, const Parts& parts, const std::string& metric) {
  if (find_latency(metric) == nullptr) {
    throw wrong_assertion(
        text, "a single = gives the limit of a latency: expected ==, !=, <, <=, > or >=",
        ErrorKind::value);
  }
  const std::string target = fmt::format("{}={}", metric, parts.number);
  const Limit limit = parse_targets({target}, std::string(kAssertOrigin)).front();
  return {std::string(text), metric, Relation::at_most, limit.bound};
}

double bound_of(std::string_view text, std::string_view number, std::string_view metric) {
  if (const std::optional<double> plain = decimal_number(number)) return *plain;
  const std::string_view unit = unit_of_metric(metric);
  const Bounds bounds = unit == "share" ? kShare : Bounds{};
  if (const std::optional<double> named = short_number(number, unit, bounds)) return *named;
  throw wrong_assertion(text, fmt::format("expected a number of {} ({})", metric, unit),
                        ErrorKind::value);
}

Assertion assertion_of(std::string_view text, const Parts& parts) {
  const std::string metric = full_metric(parts.metric);
  if (parts.sign == "=") return target_assertion(text, parts, metric);
  const auto relation = std::ranges::find(kRelations, parts.sign);
  if (relation == kRelations.end()) {
    throw wrong_assertion(text, "expected one of <, <=, >, >=, == and !=", ErrorKind::value);
  }
  return {std::string(text), metric, static_cast<Relation>(relation - kRelations.begin()),
          bound_of(text, parts.number, metric)};
}

}  // namespace

std::string_view name_of(Relation relation) {
  return kRelations[static_cast<std::size_t>(relation)];
}

bool Assertion::holds_at(double value) const {
  switch (relation) {
    case Relation::less: return value < bound;
    case Relation::at_most: return value <= bound;
    case Relation::more: return value > bound;
    case Relation::at_least: return value >= bound;
    case Relation::equal: return value == bound;
    case Relation::unequal: return value != bound;
  }
  return false;
}

bool Assertion::may_break(double low, double high) const {
  if (relation == Relation::unequal) return low <= bound && bound <= high;
  return !holds_at(low) || !holds_at(high);
}

bool is_assertion(std::string_view word) {
  return word.find_first_of(kRelationSigns) != std::string_view::npos;
}

std::vector<Assertion> parse_assertions(const std::vector<std::string>& words) {
  std::vector<std::string_view> texts;
  std::vector<Parts> all;
  for (const std::string& word : words) {
    for (const std::string_view part : split(word, ',')) {
      const std::string_view text = trimmed(part);
      if (text.empty()) continue;
      texts.push_back(text);
      all.push_back(parts_of(text));
    }
  }
  check_metrics(all);
  std::vector<Assertion> assertions;
  for (std::size_t i = 0; i < all.size(); ++i) {
    Assertion one = assertion_of(texts[i], all[i]);
    const bool is_twice = std::ranges::any_of(assertions, [&one](const Assertion& other) {
      return other.metric == one.metric && other.relation == one.relation;
    });
    if (is_twice) {
      throw wrong_assertion(texts[i],
                            fmt::format("{} {} stands twice", one.metric, name_of(one.relation)),
                            ErrorKind::conflict);
    }
    assertions.push_back(std::move(one));
  }
  return assertions;
}

std::string_view unit_of_metric(std::string_view metric) {
  if (find_latency(metric) != nullptr) return "ms";
  const auto found = std::ranges::find(run_metrics(), metric, &RunMetric::name);
  return found == run_metrics().end() ? "" : found->unit;
}

}  // namespace headroom
