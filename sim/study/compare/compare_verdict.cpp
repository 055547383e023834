#include "sim/study/compare/compare_verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

namespace headroom {
namespace {

struct Headline {
  std::string_view metric;
  std::string_view title;
};
constexpr std::array kHeadlines{Headline{"output_throughput", "output throughput"},
                                Headline{"mean_ttft_ms", "mean TTFT"},
                                Headline{"p99_ttft_ms", "p99 TTFT"},
                                Headline{"mean_tpot_ms", "mean TPOT"},
                                Headline{"p99_tpot_ms", "p99 TPOT"},
                                Headline{"mean_e2el_ms", "mean latency"}};
constexpr double kWorthSaying = 0.01;
constexpr std::size_t kMostSaid = 3;

double share_of_a(const MetricPair& pair) {
  return pair.mean_a == 0 ? 0 : pair.difference / pair.mean_a;
}

double size_of_change(const MetricPair& pair) {
  const double share = share_of_a(pair);
  return share < 0 ? -share : share;
}

std::string stopped_side(const ComparisonResult& result) {
  std::string text;
  const auto add = [&](std::string_view side, const ComparedRuns& runs) {
    if (runs.verdict.verdict < HoldVerdict::does_not_hold) return;
    // Targets that are missed leave figures that can be compared.
    const bool comparable = runs.first.started && unserved_traffic(runs.first).empty();
    if (comparable) return;
    const bool starts = runs.first.started;
    text += fmt::format("{}{} {}{}", text.empty() ? "" : "; ", side,
                        starts ? "" : "does not start: ", runs.verdict.reason);
  };
  add("A:", result.a);
  add("B:", result.b);
  return text;
}

}  // namespace

std::string compare_sentence(const ComparisonResult& result) {
  if (std::string stopped = stopped_side(result); !stopped.empty()) return stopped;
  std::vector<std::pair<const MetricPair*, std::string_view>> said;
  for (const Headline& headline : kHeadlines) {
    const auto found = std::ranges::find(result.metrics, headline.metric, &MetricPair::name);
    if (found == result.metrics.end() || size_of_change(*found) < kWorthSaying) continue;
    if (found->is_certain() || found->pairs == 1) said.emplace_back(&*found, headline.title);
  }
  const std::size_t pairs = result.a.rows.size();
  if (said.empty()) {
    return fmt::format("no certain difference of 1 % or more in {} pair{}", pairs,
                       pairs == 1 ? "" : "s");
  }
  std::ranges::stable_sort(said, [](const auto& one, const auto& other) {
    return size_of_change(*one.first) > size_of_change(*other.first);
  });
  std::string text = pairs == 1 ? "one pair, so nothing is certain: with B " : "with B ";
  for (std::size_t i = 0; i < std::min(said.size(), kMostSaid); ++i) {
    const double share = share_of_a(*said[i].first);
    text += fmt::format("{}{} is {:.1f} % {}", i == 0 ? "" : ", ", said[i].second,
                        100 * size_of_change(*said[i].first), share > 0 ? "higher" : "lower");
  }
  return text;
}

}  // namespace headroom
