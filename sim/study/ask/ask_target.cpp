#include "sim/study/ask/ask_target.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "sim/intake/values.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/kernel/lower_case.hpp"
#include "sim/kernel/nearest_name.hpp"
#include "sim/metrics/latency_metrics.hpp"
#include "sim/scenario/options.hpp"

namespace headroom {
namespace {

constexpr std::string_view kMsSuffix = "_ms";
constexpr std::array<std::pair<std::string_view, double>, 5> kTargetUnits{
    {{"ms", 1}, {"us", 1e-3}, {"s", 1e3}, {"sec", 1e3}, {"min", 6e4}}};

// One target, and the flag or command that gave it.
struct TargetText {
  std::string_view text;
  const std::string& origin;
};

ConfigError wrong_target(const TargetText& target, std::string problem, ErrorKind kind,
                         std::string nearest = {}) {
  return ConfigError(Complaint{.kind = kind,
                               .origin = target.origin,
                               .value = std::string(target.text),
                               .problem = std::move(problem),
                               .nearest = std::move(nearest)});
}

std::vector<std::string> target_names() {
  std::vector<std::string> names;
  for (const LatencyMetric& metric : latency_metrics()) {
    if (metric.is_spread) continue;
    names.emplace_back(metric.name.substr(0, metric.name.size() - kMsSuffix.size()));
  }
  return names;
}

// In lower case, with one sign between words, without a unit.
std::string written_plainly(std::string_view as_written) {
  std::string name = lower_case(std::string(as_written));
  std::ranges::replace(name, ' ', '_');
  std::ranges::replace(name, '-', '_');
  if (name.ends_with(kMsSuffix)) name.resize(name.size() - kMsSuffix.size());
  if (name.ends_with("e2e")) name += 'l';  // AIPerf and GuideLLM leave out the latency
  return name;
}

std::string metric_called(const TargetText& target, std::string_view as_written) {
  const std::string name = written_plainly(as_written);
  const std::vector<std::string> names = target_names();
  if (std::ranges::find(names, name) != names.end()) return name + "_ms";
  const std::size_t last = name.rfind('_');
  if (last != std::string::npos) {  // "ttft_p99", as dashboards have it
    const std::string turned = name.substr(last + 1) + "_" + name.substr(0, last);
    if (std::ranges::find(names, turned) != names.end()) return turned + "_ms";
  }
  const std::string p99 = fmt::format("p99_{}", name);
  if (std::ranges::find(names, p99) != names.end()) {
    throw wrong_target(target, fmt::format("say which: {}, p95_{}, mean_{}", p99, name, name),
                       ErrorKind::missing);
  }
  throw wrong_target(target, "expected one of " + comma_list(names), ErrorKind::unknown,
                     nearest_name(name, names));
}

// "p99_ttft=2": neither the name nor the value says which unit.
bool lacks_unit(std::string_view name, std::string_view value) {
  return !name.ends_with(kMsSuffix) && decimal_number(value).has_value();
}

double milliseconds(const TargetText& target, std::string_view value) {
  double unit = 1;
  for (const auto& [name, ms] : kTargetUnits) {
    if (!value.ends_with(name)) continue;
    value.remove_suffix(name.size());
    unit = ms;
    break;
  }
  const std::optional<double> number = decimal_number(trimmed(value));
  if (!number || *number <= 0) {
    throw wrong_target(target, "expected a time above 0, as in p99_ttft=2s or p95_tpot=50ms",
                       ErrorKind::value);
  }
  return *number * unit;
}

}  // namespace

std::vector<Limit> parse_targets(const std::vector<std::string>& texts, const std::string& origin) {
  std::vector<Limit> targets;
  for (const std::string& list : texts) {
    // A variable that is not set must not read as "no targets".
    if (list.find_first_not_of(" ,") == std::string::npos) {
      throw wrong_target({list, origin}, "expected targets, as in p99_ttft=2s,p95_tpot=50ms",
                         ErrorKind::missing);
    }
    for (const std::string_view part : split(list, ',')) {
      const std::string_view text = trimmed(part);
      if (text.empty()) continue;
      const TargetText target{text, origin};
      const std::size_t equals = text.find_first_of("=<:");
      if (equals == std::string_view::npos) {
        throw wrong_target(target, "expected a latency and its limit, as in p99_ttft=2s",
                           ErrorKind::value);
      }
      Limit limit;
      limit.metric = metric_called(target, trimmed(text.substr(0, equals)));
      limit.bound = milliseconds(target, trimmed(text.substr(equals + 1)));
      if (std::ranges::find(targets, limit.metric, &Limit::metric) != targets.end()) {
        throw wrong_target(target, fmt::format("{} stands twice", limit.metric),
                           ErrorKind::conflict);
      }
      targets.push_back(std::move(limit));
    }
  }
  return targets;
}

std::vector<std::string> unit_notes(const std::vector<std::string>& texts) {
  std::vector<std::string> notes;
  for (const std::string& list : texts) {
    for (const std::string_view part : split(list, ',')) {
      const std::size_t sign = std::min(part.find_first_of("=<>!:"), part.size());
      const std::size_t behind = std::min(part.find_first_not_of("=<>!: ", sign), part.size());
      const std::string_view value = trimmed(part.substr(behind));
      if (!lacks_unit(trimmed(part.substr(0, sign)), value)) continue;
      notes.push_back(
          fmt::format("{0} is taken as {1} ms; write {1}s for seconds", trimmed(part), value));
    }
  }
  return notes;
}

std::vector<Limit> with_limits_of(const SloSection& slo, std::vector<Limit> targets) {
  for (const LatencyLimit& one : latency_limits()) {
    const std::optional<double>& limit = slo.*one.limit;
    if (!limit || std::ranges::find(targets, one.metric, &Limit::metric) != targets.end()) continue;
    Limit target;
    target.metric = one.metric;
    target.bound = *limit;
    targets.push_back(std::move(target));
  }
  return targets;
}

void keep_targets(const std::vector<Limit>& targets, JsonDocument& document,
                  const std::string& origin) {
  for (const Limit& target : targets) {
    const auto limits = latency_limits();
    if (std::ranges::find(limits, target.metric, &LatencyLimit::metric) == limits.end()) {
      throw ConfigError(Complaint{.kind = ErrorKind::unsupported,
                                  .origin = origin,
                                  .value = target.metric,
                                  .problem = "a scenario has no limit on it (slo)"});
    }
    set_option(document, fmt::format("slo.{}={}", target.metric, target.bound));
  }
}

}  // namespace headroom
