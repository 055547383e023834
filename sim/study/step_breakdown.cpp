#include "sim/study/step_breakdown.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "hardware/cost/roofline.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/setup/factory.hpp"
#include "sim/setup/startup_budget.hpp"

namespace headroom {
namespace {

constexpr std::int64_t kMost = 1'000'000'000;

void check(const char* what, std::int64_t value, std::int64_t low, std::int64_t times = 1) {
  if (value >= low && value <= kMost / std::max<std::int64_t>(times, 1)) return;
  throw ConfigError(fmt::format("--{}: {}: allowed are {} to {} (all of a step together)", what,
                                value, low, kMost));
}

StepShape shape_of(const StepQuestion& q) {
  check("decode", q.decodes, 0);
  check("chunks", q.chunks, 0);
  check("context", q.context, 1, q.decodes);
  check("chunk-tokens", q.chunk_tokens, 1, q.chunks);
  check("cached", q.cached_tokens, 0, q.chunks);
  if (q.decodes + q.chunks == 0) {
    throw ConfigError("nothing is in the step: give --decode N, --chunks N, or both");
  }
  if (q.measured_ms && !(*q.measured_ms > 0 && *q.measured_ms < 1e9)) {
    throw ConfigError(fmt::format("--measured-ms: {}: above 0, below 1e9", *q.measured_ms));
  }
  StepShape shape;
  shape.decode_rows = q.decodes;
  shape.decode_context = q.decodes * q.context;
  shape.chunk_rows = q.chunks;
  if (q.chunks > 0) {
    shape.chunk_tokens = q.chunks * q.chunk_tokens;
    shape.chunk_context = q.chunks * (q.cached_tokens + q.chunk_tokens);
    shape.chunk_pairs_twice = shape.chunk_tokens * (2 * q.cached_tokens + q.chunk_tokens);
  }
  shape.sampled_rows = q.decodes + q.chunks;
  return shape;
}

}  // namespace

StepBreakdown explain_step(const Scenario& scenario, const Catalog& catalog,
                           const StepQuestion& question) {
  const StepShape shape = shape_of(question);
  StepBreakdown result;
  result.resolved = resolve(scenario, catalog);
  Resolved& resolved = result.resolved;
  const MemoryBudget budget = startup_budget(resolved);
  if (budget.failure) throw ConfigError(fmt::format("does not start: {}", budget.failure->message));
  const TokenCount pool = pool_tokens(resolved, budget);
  make_cost(resolved, catalog, pool, result.cost)->price(shape, result.price);
  const EngineMode mode = resolved.async_scheduling ? EngineMode::async : EngineMode::sync;
  StepPrice bound;
  RooflineCost(resolved.model, resolved.device, spec_calibration(mode),
               roofline_options(resolved, pool))
      .price(shape, bound);
  result.data_sheet = bound.base_terms;
  result.plausible =
      plausible_share(resolved, catalog, pool, result.cost.calibration, shape, result.price.base);
  return result;
}

}  // namespace headroom
