// Option rows of /slo for limits on all requests together.

#include "sim/scenario/option_tables.hpp"

namespace headroom {
namespace {

constexpr Bounds kAboveNothing{.low = 0, .low_open = true};

template <auto Member>
OptionRow limit_row(std::string_view pointer, std::string_view doc) {
  return {.pointer = pointer,
          .reach = field<&Scenario::slo, Member>,
          .unit = "ms",
          .bounds = kAboveNothing,
          .doc = doc,
          .absent = "no limit",
          .group = pointer};
}

const OptionRow kSloRows[] = {
    limit_row<&SloSection::mean_ttft_ms>("/slo/mean_ttft_ms",
                                         "limit on the mean time to first token"),
    limit_row<&SloSection::median_ttft_ms>("/slo/median_ttft_ms",
                                           "limit on the median time to first token"),
    limit_row<&SloSection::p90_ttft_ms>("/slo/p90_ttft_ms",
                                        "limit on the 90th percentile of the time to first token"),
    limit_row<&SloSection::p95_ttft_ms>("/slo/p95_ttft_ms",
                                        "limit on the 95th percentile of the time to first token"),
    limit_row<&SloSection::p99_ttft_ms>("/slo/p99_ttft_ms",
                                        "limit on the 99th percentile of the time to first token"),
    limit_row<&SloSection::mean_tpot_ms>("/slo/mean_tpot_ms",
                                         "limit on the mean time per output token"),
    limit_row<&SloSection::median_tpot_ms>("/slo/median_tpot_ms",
                                           "limit on the median time per output token"),
    limit_row<&SloSection::p90_tpot_ms>(
        "/slo/p90_tpot_ms", "limit on the 90th percentile of the time per output token"),
    limit_row<&SloSection::p95_tpot_ms>(
        "/slo/p95_tpot_ms", "limit on the 95th percentile of the time per output token"),
    limit_row<&SloSection::p99_tpot_ms>(
        "/slo/p99_tpot_ms", "limit on the 99th percentile of the time per output token"),
    limit_row<&SloSection::mean_e2el_ms>("/slo/mean_e2el_ms",
                                         "limit on the mean end-to-end latency"),
    limit_row<&SloSection::median_e2el_ms>("/slo/median_e2el_ms",
                                           "limit on the median end-to-end latency"),
    limit_row<&SloSection::p90_e2el_ms>("/slo/p90_e2el_ms",
                                        "limit on the 90th percentile of the end-to-end latency"),
    limit_row<&SloSection::p95_e2el_ms>("/slo/p95_e2el_ms",
                                        "limit on the 95th percentile of the end-to-end latency"),
    limit_row<&SloSection::p99_e2el_ms>("/slo/p99_e2el_ms",
                                        "limit on the 99th percentile of the end-to-end latency"),
};

}  // namespace

std::span<const OptionRow> slo_options() { return kSloRows; }

}  // namespace headroom
