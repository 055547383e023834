#pragma once
// What the charts of a run draw, as the pages of `headroom report` have it.

#include <nlohmann/json.hpp>

#include "sim/api/headroom.hpp"

namespace headroom::playground {

// {latency: {levels, ttft_ms: {count, values}, tpot_ms, e2el_ms}, timeline: {samples, replicas,
// columns, rows, oom}} of a run with tables. Latencies are of finished requests, by the definitions
// of summary.json; TPOT of those with two or more output tokens. Of a long timeline each slice
// gives two samples, the one with most KV in use and the one with most waiting.
[[nodiscard]] nlohmann::json run_charts(const api::RunAnswer& answer);

}  // namespace headroom::playground
