#include "sim/metrics/kv_meter.hpp"

#include <algorithm>

namespace headroom {

KvSplit split_of(const ReplicaState& state) {
  const KvPoolState& pool = state.pool;
  KvSplit split;
  split.capacity = pool.total_blocks * pool.block_tokens;
  split.used = state.kv_tokens;
  split.reserved = state.reserved_tokens;
  split.internal = pool.used_blocks() * pool.block_tokens - split.used - split.reserved;
  split.external = (pool.free_blocks - pool.largest_hole) * pool.block_tokens;
  split.cached = pool.cached_blocks * pool.block_tokens;
  return split;
}

namespace {

// Sum over the first `steps` steps of (value + i * slope) * duration of step i.
template <typename Int>
Int128 weigh(const StepRun& run, Int n, Int value, Int slope) {
  const Int sum_i = n * (n - 1) / 2;
  const Int sum_ii = sum_i * (2 * n - 1) / 3;
  return static_cast<Int128>(run.first_ticks) * (value * n + slope * sum_i) +
         static_cast<Int128>(run.slope_ticks) * (value * sum_i + slope * sum_ii);
}

// In 64 bits where that is enough: the sums stay below 2^62.
Int128 weigh(const StepRun& run, StepCount steps, TokenCount value, TokenCount slope) {
  constexpr std::int64_t kFewSteps = std::int64_t{1} << 15;
  constexpr std::int64_t kFewTokens = std::int64_t{1} << 31;
  constexpr std::int64_t kFewRows = std::int64_t{1} << 16;
  if (steps <= kFewSteps && value <= kFewTokens && slope <= kFewRows && slope >= -kFewRows) {
    return weigh<std::int64_t>(run, steps, value, slope);
  }
  return weigh<Int128>(run, steps, value, slope);
}

// Of max(0, reserved - i * per step).
Int128 reserved_integral(const RunView& view) {
  const TokenCount reserved = view.run.state->reserved_tokens;
  if (reserved == 0) return 0;
  if (view.reserved_per_step == 0) return reserved * view.ticks;
  const StepCount until_empty = reserved / view.reserved_per_step + 1;
  return weigh(view.run, std::min(view.run.steps, until_empty), reserved, -view.reserved_per_step);
}

// Of the cached blocks, which begin to fall when growth has taken those without content that come
// first.
Int128 cached_integral(const RunView& view) {
  const BlockCount cached = view.run.state->pool.cached_blocks;
  const BlockCount slack = view.run.state->pool.plain_first();
  const BlockCount reach = slack + cached;
  if (cached == 0) return 0;
  if (view.growth.last <= slack) return cached * view.ticks;
  if (slack == 0) return reach * view.ticks - view.growth.block_ticks;
  const StepCount whole = view.run.decodes->steps_within(slack, view.run.steps - 1) + 1;
  const TickSum whole_ticks = ticks_of(view.run, whole);
  return cached * whole_ticks + reach * (view.ticks - whole_ticks) -
         (view.growth.block_ticks - growth_over(view.run, whole).block_ticks);
}

}  // namespace

void KvMeter::add_run(const RunView& view) {
  const ReplicaState& state = *view.run.state;
  const KvPoolState& pool = state.pool;
  const StepCount further = view.run.steps - 1;
  note_pool(pool, pool.used_blocks() + view.growth.last,
            state.kv_tokens + further * view.tokens_per_step);
  observed_ += view.ticks;
  integrals_.total_blocks += pool.total_blocks * view.ticks;
  integrals_.used_blocks += pool.used_blocks() * view.ticks + view.growth.block_ticks;
  // A pool that grows with decode has no holes to speak of, so growth leaves this difference alone.
  if (pool.free_blocks != pool.largest_hole) {
    integrals_.external_blocks += (pool.free_blocks - pool.largest_hole) * view.ticks;
  }
  integrals_.cached_blocks += cached_integral(view);
  integrals_.kv_tokens +=
      further == 0 ? state.kv_tokens * view.ticks
                   : weigh(view.run, view.run.steps, state.kv_tokens, view.tokens_per_step);
  integrals_.reserved_tokens += reserved_integral(view);
}

void KvMeter::add_constant(const ReplicaState& state, TickSum ticks) {
  const KvPoolState& pool = state.pool;
  note_pool(pool, pool.used_blocks(), state.kv_tokens);
  observed_ += ticks;
  integrals_.total_blocks += pool.total_blocks * ticks;
  integrals_.used_blocks += pool.used_blocks() * ticks;
  integrals_.external_blocks += (pool.free_blocks - pool.largest_hole) * ticks;
  integrals_.cached_blocks += pool.cached_blocks * ticks;
  integrals_.kv_tokens += state.kv_tokens * ticks;
  integrals_.reserved_tokens += state.reserved_tokens * ticks;
}

void KvMeter::note_pool(const KvPoolState& pool, BlockCount used_blocks, TokenCount kv_tokens) {
  block_tokens_ = pool.block_tokens;
  capacity_blocks_ = pool.total_blocks;
  peak_used_blocks_ = std::max(peak_used_blocks_, used_blocks);
  peak_kv_tokens_ = std::max(peak_kv_tokens_, kv_tokens);
}

}  // namespace headroom
