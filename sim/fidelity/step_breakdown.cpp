#include "sim/fidelity/step_breakdown.hpp"

#include <fmt/format.h>

#include <string_view>

#include "hardware/cost/factory.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/resolve/factory.hpp"
#include "sim/resolve/parallel.hpp"
#include "sim/resolve/startup_budget.hpp"

namespace headroom {
namespace {

void check(const char* what, std::int64_t value, std::int64_t low) {
  if (value >= low) return;
  throw ConfigError(fmt::format("--{}: {}: at least {}", what, value, low));
}

// Of the flags themselves.
void check_flags(const StepQuestion& q) {
  check("decode", q.decodes, 0);
  check("chunks", q.chunks, 0);
  check("context", q.context, 1);
  check("chunk-tokens", q.chunk_tokens, 1);
  check("cached", q.cached_tokens, 0);
  if (q.decodes == 0 && q.chunks == 0) {
    throw ConfigError("the step is empty: give --decode N, --chunks N, or both");
  }
  if (q.measured_ms && !(*q.measured_ms > 0 && *q.measured_ms < 1e9)) {
    throw ConfigError(fmt::format("--measured-ms: {}: above 0, below 1e9", *q.measured_ms));
  }
}

void check_most(std::string_view flags, std::int64_t value, std::int64_t most,
                std::string_view what) {
  if (value <= most) return;
  throw ConfigError(
      Complaint{.origin = std::string(flags),
                .problem = fmt::format("{}: this system has at most {} {}", value, most, what)});
}

// Checks against the largest step of this system; each bound keeps the later products small.
void check_fits_system(const StepQuestion& q, const CostLimits& limits) {
  check_most("--context", q.decodes > 0 ? q.context : 0, limits.max_model_len,
             "tokens in a sequence");
  check_most("--cached", q.chunks > 0 ? q.cached_tokens : 0, limits.max_model_len,
             "tokens in a sequence");
  check_most("--chunk-tokens", q.chunks > 0 ? q.chunk_tokens : 0, limits.max_model_len,
             "tokens in a sequence");
  check_most("--cached with --chunk-tokens", q.chunks > 0 ? q.cached_tokens + q.chunk_tokens : 0,
             limits.max_model_len, "tokens in a sequence");
  check_most("--decode", q.decodes, limits.max_num_seqs, "sequences in a batch");
  check_most("--chunks", q.chunks, limits.max_num_seqs, "sequences in a batch");
  check_most("--decode with --chunks", q.decodes + q.chunks, limits.max_num_seqs,
             "sequences in a batch");
  check_most("--chunks of --chunk-tokens with --decode", q.decodes + q.chunks * q.chunk_tokens,
             limits.max_step_tokens, "tokens in a step");
  if (limits.max_context_tokens == 0) return;
  check_most("--context, --cached and --chunk-tokens of all sequences",
             q.decodes * q.context + q.chunks * (q.cached_tokens + q.chunk_tokens),
             limits.max_context_tokens, "tokens in the KV pool");
}

StepShape shape_of(const StepQuestion& q) {
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
  check_flags(question);
  StepBreakdown result;
  auto [started, budget] = budgeted(resolve(scenario, catalog));
  result.resolved = std::move(started);
  const Resolved& resolved = result.resolved;
  if (budget.failure) throw ConfigError(fmt::format("does not start: {}", budget.failure->message));
  const TokenCount pool = engine_pool_tokens(resolved, budget);
  check_fits_system(question, roofline_options(resolved, pool).limits);
  const StepShape shape = shape_of(question);
  make_cost(resolved, catalog, pool, result.cost)->price(shape, result.price);
  const EngineMode mode = resolved.overlaps_host() ? EngineMode::async : EngineMode::sync;
  StepPrice bound;
  make_roofline_cost(resolved.model, resolved.device, spec_calibration(mode),
                     roofline_options(resolved, pool))
      ->price(shape, bound);
  result.data_sheet = bound.base_terms;
  result.plausible =
      plausible_share(resolved, catalog, pool, result.cost.calibration, shape, result.price.base);
  return result;
}

}  // namespace headroom
