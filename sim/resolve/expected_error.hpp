#pragma once
// How far the true figures may be from a run's: what replays of measured runs showed for the
// constants in use; where nothing was measured, what the constants of other devices would say.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/catalog.hpp"
#include "sim/metrics/serving_metrics.hpp"
#include "sim/resolve/resolve.hpp"

namespace headroom {

struct CostFacts;

struct ErrorRange {
  std::string_view metric;  // of `vllm bench serve`, or decode_step / prefill_step: one step's time
  double low = 0;           // true / shown - 1
  double high = 0;
};

struct ExpectedError {
  // "same model": replayed runs of this model with this row of constants. "other model": of others.
  // "uncalibrated": generic constants, or a row without known runs; `runs` is 0 and the range is
  // over the constants that were fitted on other devices; none where another device's kernel times
  // are in use. "none": level spec or affine.
  std::string_view situation = "none";
  std::int64_t runs = 0;
  std::vector<ErrorRange> ranges;
};

// `metrics`: of the run, which say what its usual steps were.
[[nodiscard]] ExpectedError expected_error(const Resolved& resolved, const Catalog& catalog,
                                           TokenCount pool_tokens, const CostFacts& cost,
                                           const ServingMetrics& metrics);

}  // namespace headroom
