#pragma once
// The metrics of `vllm bench serve`, by their names there (vLLM benchmarks/serve.py; ENGINES.md
// 7.1). Only finished requests count.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "sim/metrics/itl_meter.hpp"
#include "sim/metrics/statistics.hpp"
#include "sim/serving/request.hpp"

namespace headroom {

// Limits in ms; a request is good when it keeps (<=) all that are given. A request of one output
// token has TPOT 0 here.
struct GoodputLimits {
  std::optional<double> ttft_ms = {};
  std::optional<double> tpot_ms = {};
  std::optional<double> e2el_ms = {};
  [[nodiscard]] bool any() const { return ttft_ms || tpot_ms || e2el_ms; }
};

// What clients wait for outside of the engine, network and front end: of every TTFT and E2EL.
struct ClientLatency {
  TimeNs request_ns = 0;
  std::int64_t prompt_token_ps = 0;  // 1e-12 s more for each token of the prompt

  [[nodiscard]] TimeNs of(std::int64_t prompt_tokens) const {
    return request_ns + prompt_tokens * prompt_token_ps / 1000;
  }
  friend bool operator==(const ClientLatency&, const ClientLatency&) = default;
};

struct ServingOptions {
  ClientLatency client_latency = {};
  GoodputLimits goodput = {};
  std::vector<GoodputLimits> class_goodput = {};  // by class id: instead of `goodput`, where any()

  [[nodiscard]] const GoodputLimits& limits_of(std::int32_t class_id) const {
    const auto id = static_cast<std::size_t>(class_id);
    return id < class_goodput.size() && class_goodput[id].any() ? class_goodput[id] : goodput;
  }
  [[nodiscard]] bool has_goodput() const;
};

struct ServingMetrics {
  double duration = 0;  // s, first arrival to last finish
  std::int64_t completed = 0;
  std::int64_t total_input_tokens = 0;
  std::int64_t total_output_tokens = 0;
  double request_throughput = 0;               // 1/s
  double output_throughput = 0;                // tokens/s
  double total_token_throughput = 0;           // tokens/s, prompt and output
  std::optional<double> request_goodput = {};  // 1/s; only with limits

  double mean_ttft_ms = 0, median_ttft_ms = 0, std_ttft_ms = 0;
  double p90_ttft_ms = 0, p95_ttft_ms = 0, p99_ttft_ms = 0;
  double mean_tpot_ms = 0, median_tpot_ms = 0, std_tpot_ms = 0;  // requests with >= 2 output tokens
  double p90_tpot_ms = 0, p95_tpot_ms = 0, p99_tpot_ms = 0;
  double mean_e2el_ms = 0, median_e2el_ms = 0, std_e2el_ms = 0;
  double p90_e2el_ms = 0, p95_e2el_ms = 0, p99_e2el_ms = 0;
  // Pooled over all tokens of the run; not known for a part of its requests (has_itl is false
  // then).
  bool has_itl = false;
  double mean_itl_ms = 0, median_itl_ms = 0, std_itl_ms = 0;
  double p90_itl_ms = 0, p95_itl_ms = 0, p99_itl_ms = 0;
};

inline constexpr double kMsPerNs = 1e-6;
// TPOT is a quotient: it is kept in whole 2^-10 ns, so that its sums are exact too.
inline constexpr int kTpotBits = 10;
inline constexpr double kMsPerTpotUnit = kMsPerNs / (1 << kTpotBits);

// What the client of a finished request saw.
struct RequestLatencies {
  TimeNs ttft_ns = 0;
  TimeNs e2el_ns = 0;
  std::optional<std::int64_t> tpot = {};  // 2^-10 ns; with two output tokens or more
  bool good = false;                      // kept the limits of its class
};
[[nodiscard]] RequestLatencies latencies_of(const RequestRecord& record,
                                            const ServingOptions& options);

// The sums behind ServingMetrics that are no latencies; all but the first arrival are of finished
// requests.
struct ServingSums {
  std::int64_t completed = 0;
  std::int64_t good = 0;
  std::int64_t input_tokens = 0;
  std::int64_t output_tokens = 0;
  TimeNs first_arrival_ns = kNever;
  TimeNs last_finish_ns = 0;

  void note_arrival(const RequestRecord& record) {
    first_arrival_ns = std::min(first_arrival_ns, record.arrival_ns);
  }
  void add(const RequestRecord& record, bool is_good);
  void merge(const ServingSums& other);
};

struct ServingLatencies {
  LatencyStats ttft;
  LatencyStats tpot;
  LatencyStats e2el;
};

// All but TTFT, TPOT and E2EL, which `set_latencies` adds when anything finished. `itl` may be
// null; `with_goodput`: there are limits to keep.
[[nodiscard]] ServingMetrics metrics_of(const ServingSums& sums, const ItlMeter* itl,
                                        bool with_goodput);
void set_latencies(ServingMetrics& metrics, const ServingLatencies& latencies);

// One of the above in ms or tokens/s, by its name; those that measured runs publish.
[[nodiscard]] double metric_of(const ServingMetrics& metrics, std::string_view name);

// `itl` may be null. `records` in order of arrival.
[[nodiscard]] ServingMetrics serving_metrics(std::span<const RequestRecord> records,
                                             const ItlMeter* itl, const ServingOptions& options);

// The same of all records, and of their first sizes[0], the next sizes[1], ...; a part knows no
// ITL. Each record is read as often as for all of them alone: that is what it costs.
struct MetricsByPart {
  ServingMetrics all;
  std::vector<ServingMetrics> parts;
};
[[nodiscard]] MetricsByPart serving_metrics_by_part(std::span<const RequestRecord> records,
                                                    std::span<const std::size_t> sizes,
                                                    const ItlMeter* itl,
                                                    const ServingOptions& options);

}  // namespace headroom
