#pragma once
// The answer of a run in one sentence: does the system hold this traffic, and what stops it?

#include <cstdint>
#include <string>
#include <string_view>

#include "hardware/catalog.hpp"
#include "sim/metrics/latency_metrics.hpp"
#include "sim/resolve/run.hpp"
#include "sim/resolve/what_binds.hpp"

namespace headroom {

enum class HoldVerdict : std::uint8_t {
  holds,
  tight,  // holds, by less than the known error of latencies or of the memory budget
  does_not_hold,
  does_not_start
};
// "does_not_hold"
[[nodiscard]] std::string_view name_of(HoldVerdict verdict);
// "DOES NOT HOLD"
[[nodiscard]] std::string_view title_of(HoldVerdict verdict);

struct RunVerdict {
  HoldVerdict verdict = HoldVerdict::holds;
  std::string reason;            // one sentence
  Binds binds = Binds::nothing;  // what stops traffic that is not served
};

// Targets are the scenario's `slo`. Limits on a latency of all requests (p99_ttft_ms) are kept as
// in searches and plans, by the latency itself. Those of each request (ttft_ms) are kept where at
// least this share of the requests keeps them all: then the p99 of each is within its own.
inline constexpr double kKeptShare = 0.99;

[[nodiscard]] RunVerdict judge_run(const RunResult& run, const Catalog& catalog);

// Why traffic is not served, whatever the targets: requests that are rejected, lost or given up, or
// a backlog that grows ("overloaded: serves 2.90 of 5.00 requests/s"); empty: it is. Requests in
// flight when a run was cut short are not counted.
[[nodiscard]] std::string unserved_traffic(const RunResult& run);

// Relative to what a run shows: the lowest and the highest that measured runs were. Both 0: not
// known.
[[nodiscard]] ErrorRange latency_range(const ExpectedError& error, LatencyKind kind);

// Whose word its end is: "measured runs were", or where there are none of the kind "constants of
// other devices give".
[[nodiscard]] std::string_view range_source(const ExpectedError& error);

// "p99 TTFT" of p99_ttft_ms.
[[nodiscard]] std::string latency_title(std::string_view metric);
// "1.53 s", "171 ms"
[[nodiscard]] std::string latency_text(double ms);

}  // namespace headroom
