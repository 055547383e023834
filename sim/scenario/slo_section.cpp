#include "sim/scenario/slo_section.hpp"

#include <algorithm>
#include <string>

namespace headroom {

std::span<const LatencyLimit> latency_limits() {
  static constexpr LatencyLimit kLimits[] = {
      {"mean_ttft_ms", &SloSection::mean_ttft_ms},
      {"median_ttft_ms", &SloSection::median_ttft_ms},
      {"p90_ttft_ms", &SloSection::p90_ttft_ms},
      {"p95_ttft_ms", &SloSection::p95_ttft_ms},
      {"p99_ttft_ms", &SloSection::p99_ttft_ms},
      {"mean_tpot_ms", &SloSection::mean_tpot_ms},
      {"median_tpot_ms", &SloSection::median_tpot_ms},
      {"p90_tpot_ms", &SloSection::p90_tpot_ms},
      {"p95_tpot_ms", &SloSection::p95_tpot_ms},
      {"p99_tpot_ms", &SloSection::p99_tpot_ms},
      {"mean_e2el_ms", &SloSection::mean_e2el_ms},
      {"median_e2el_ms", &SloSection::median_e2el_ms},
      {"p90_e2el_ms", &SloSection::p90_e2el_ms},
      {"p95_e2el_ms", &SloSection::p95_e2el_ms},
      {"p99_e2el_ms", &SloSection::p99_e2el_ms},
  };
  return kLimits;
}

std::optional<double> promised_ms(const SloSection& slo, std::string_view latency) {
  std::optional<double> least = latency == "ttft" ? slo.ttft_ms : slo.tpot_ms;
  const std::string ending = "_" + std::string(latency) + "_ms";
  for (const LatencyLimit& limit : latency_limits()) {
    const std::optional<double>& ms = slo.*limit.limit;
    if (ms && limit.metric.ends_with(ending)) least = std::min(least.value_or(*ms), *ms);
  }
  return least;
}

}  // namespace headroom
