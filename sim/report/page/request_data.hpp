#pragma once
// Parts of `run_data` that are made of the requests.

#include <span>

#include "sim/metrics/serving_metrics.hpp"
#include "sim/scenario/json_document.hpp"
#include "sim/serving/request.hpp"

namespace headroom {

// Percentiles that are given of every latency, ascending: each half per cent, and the tail finer.
[[nodiscard]] std::vector<double> quantile_levels();

// {levels, ttft_ms: {count, values}, tpot_ms: ..., e2el_ms: ...} of the finished requests, by the
// definitions and with the exact arithmetic of summary.json. TPOT is of requests with two or more
// output tokens. `values` is empty where count is 0.
[[nodiscard]] Json latency_data(std::span<const RequestRecord> records,
                                const ClientLatency& client_latency);

// {total, columns, sample, slowest}: rows of a drawn part, and of the finished requests with the
// longest E2EL. The draw depends on the requests' numbers alone.
[[nodiscard]] Json requests_data(std::span<const RequestRecord> records,
                                 const ClientLatency& client_latency);

// {bin_s, arrived_per_s, finished_per_s, output_tokens_per_s}: by bin of equal length, up to
// `end_s`. The tokens of an answer are spread evenly from its first to its last one.
[[nodiscard]] Json throughput_data(std::span<const RequestRecord> records, double end_s);

}  // namespace headroom
