#pragma once
// /slo of a scenario and of a class: latency targets.

#include <optional>
#include <span>
#include <string_view>

namespace headroom {

struct SloSection {
  // Of each request: goodput counts those that keep all of them.
  std::optional<double> ttft_ms;
  std::optional<double> tpot_ms;
  std::optional<double> e2el_ms;
  // Of all requests together, by the names that results and plans have for them.
  std::optional<double> mean_ttft_ms;
  std::optional<double> median_ttft_ms;
  std::optional<double> p90_ttft_ms;
  std::optional<double> p95_ttft_ms;
  std::optional<double> p99_ttft_ms;
  std::optional<double> mean_tpot_ms;
  std::optional<double> median_tpot_ms;
  std::optional<double> p90_tpot_ms;
  std::optional<double> p95_tpot_ms;
  std::optional<double> p99_tpot_ms;
  std::optional<double> mean_e2el_ms;
  std::optional<double> median_e2el_ms;
  std::optional<double> p90_e2el_ms;
  std::optional<double> p95_e2el_ms;
  std::optional<double> p99_e2el_ms;
};

struct LatencyLimit {
  std::string_view metric;  // "p99_ttft_ms"
  std::optional<double> SloSection::*limit;
};
// The limits on all requests together.
[[nodiscard]] std::span<const LatencyLimit> latency_limits();

// The least of the targets on "ttft" or "tpot": what a router or an admission policy promises to
// each request.
[[nodiscard]] std::optional<double> promised_ms(const SloSection& slo, std::string_view latency);

}  // namespace headroom
