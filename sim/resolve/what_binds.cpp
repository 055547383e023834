#include "sim/resolve/what_binds.hpp"

#include <algorithm>
#include <array>
#include <memory>

#include "sim/metrics/latency_metrics.hpp"
#include "sim/resolve/factory.hpp"
#include "sim/resolve/resolve.hpp"

namespace headroom {
namespace {

constexpr std::array<std::string_view, 8> kBindNames{
    "nothing", "pool", "batch_limit", "prefill", "decode", "api_server", "length", "alone"};
constexpr std::array<std::string_view, 8> kBindTexts{"nothing that was tried stops it",
                                                     "the KV pool is full",
                                                     "the batch is full",
                                                     "computing prompts (prefill) is too slow",
                                                     "writing answers (decode) is too slow",
                                                     "the API server is too slow",
                                                     "requests are longer than is accepted",
                                                     "even one request alone is too slow"};
constexpr double kFullPool = 0.97;
constexpr double kMostlyPrefill = 0.8;  // a larger batch would carry 1 / 0.8 at the most
constexpr double kSecondsPerTick = 1e-9 / static_cast<double>(kTicksPerNs);

bool is_kind(std::string_view metric, LatencyKind kind) {
  const LatencyMetric* latency = find_latency(metric);
  return latency != nullptr && latency->kind == kind;
}

// Most requests in the batches of all replicas at once.
std::int64_t most_running(const RunResult& run) {
  std::int64_t most = 0;
  for (const TimelineRow& row : run.recorder->timeline().fleet_rows()) {
    most = std::max(most, row.running);
  }
  return most;
}

std::int64_t replicas_of(const RunResult& run) {
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(run.recorder->timeline().replicas()));
}

bool fills_batch(const RunResult& run) {
  return most_running(run) >= run.resolved.max_num_seqs * replicas_of(run);
}

// Requests are promised what they may ever need, and there is no room for one more: of the pool
// they may use little.
bool promises_pool(const RunResult& run) {
  if (!promises_room(run.resolved)) return false;
  const std::int64_t replicas = replicas_of(run);
  const TokenCount next = most_running(run) + replicas;
  return next * mean_promise(run) > run.pool_tokens * replicas;
}

// Share of the steps' time that computing all prompts takes by itself, in chunks as long as a mean
// prompt, or as a step takes.
double prefill_share(const RunResult& run, const Catalog& catalog) {
  const ServingMetrics& m = run.summary.metrics;
  const EngineSummary& engine = run.summary.engine;
  if (m.completed == 0 || engine.busy_s <= 0) return 0;
  CostFacts ignored;
  const auto cost = make_cost(run.resolved, catalog, run.pool_tokens, ignored);
  const TokenCount most = roofline_options(run.resolved, run.pool_tokens).limits.max_step_tokens;
  const TokenCount prompt = m.total_input_tokens / m.completed;
  StepShape shape;
  shape.add_chunk(0, std::clamp<TokenCount>(prompt, 1, std::max<TokenCount>(1, most)));
  shape.sampled_rows = 1;
  StepPrice price;
  cost->price(shape, price);
  const double steps =
      static_cast<double>(engine.prefill_tokens) / static_cast<double>(shape.chunk_tokens);
  return steps * static_cast<double>(price.base) * kSecondsPerTick / engine.busy_s;
}

}  // namespace

std::string_view name_of(Binds binds) { return kBindNames[static_cast<std::size_t>(binds)]; }

std::string_view sentence_of(Binds binds) { return kBindTexts[static_cast<std::size_t>(binds)]; }

TokenCount mean_promise(const RunResult& run) {
  TokenCount promised = 0;
  for (const RequestRecord& record : run.recorder->records()) {
    promised += TokenCount{record.prompt_tokens} + record.max_tokens;
  }
  const auto requests = static_cast<TokenCount>(run.recorder->records().size());
  return promised / std::max<TokenCount>(requests, 1);
}

bool waits_for_tokens(std::string_view metric) {
  return is_kind(metric, LatencyKind::tpot) || is_kind(metric, LatencyKind::itl);
}

Binds slowest_work(const RunResult& run, std::string_view broken, const Catalog& catalog) {
  const bool of_first_token = is_kind(broken, LatencyKind::ttft);
  return of_first_token || prefill_share(run, catalog) >= 0.5 ? Binds::prefill : Binds::decode;
}

Binds what_binds(const RunResult& run, std::string_view broken, const Catalog& catalog) {
  if (!run.started) return Binds::pool;
  if (const auto& use = run.totals.api_server; use && is_saturated(*use)) {
    return Binds::api_server;
  }
  if (const auto& use = run.totals.entries; use && is_saturated(*use)) return Binds::api_server;
  if (run.summary.requests.rejected > 0) return Binds::length;
  if (!waits_for_tokens(broken) && prefill_share(run, catalog) < kMostlyPrefill) {
    if (fills_batch(run)) return Binds::batch_limit;
    const bool full = run.summary.memory.peak_utilisation >= kFullPool;
    if (full || run.summary.engine.preemptions > 0 || promises_pool(run)) return Binds::pool;
  }
  return slowest_work(run, broken, catalog);
}

}  // namespace headroom
