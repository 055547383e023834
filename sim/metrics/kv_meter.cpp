#include "sim/metrics/kv_meter.hpp"

#include <algorithm>

#include "sim/kernel/likely.hpp"

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
  if (mostly(steps <= kFewSteps) && mostly(value <= kFewTokens) && mostly(slope <= kFewRows) &&
      mostly(slope >= -kFewRows)) {
    return weigh<std::int64_t>(run, steps, value, slope);
  }
  return weigh<Int128>(run, steps, value, slope);
}

// Of max(0, reserved - i * per step).
Int128 reserved_integral(const RunView& view) {
  const TokenCount reserved = view.run.state->reserved_tokens;
  const StepCount until_empty = reserved / view.reserved_per_step + 1;
  return weigh(view.run, std::min(view.run.steps, until_empty), reserved, -view.reserved_per_step);
}

// What the integral of the cached blocks is less than if they stayed: they begin to fall when
// growth has taken those without content that come first.
Int128 cached_loss(const RunView& view) {
  const BlockCount slack = view.run.state->pool.plain_first();
  if (view.run.state->pool.cached_blocks == 0 || view.growth.last <= slack) return 0;
  if (slack == 0) return view.growth.block_ticks;
  const StepCount whole = view.run.decodes->steps_within(slack, view.run.steps - 1) + 1;
  return view.growth.block_ticks - growth_over(view.run, whole).block_ticks -
         slack * (view.ticks - ticks_of(view.run, whole));
}

}  // namespace

KvIntegrals KvMeter::integrals() const {
  KvIntegrals integrals = integrals_;
  integrals.total_blocks += Int128{capacity_blocks_} * (observed_ - resized_at_);
  return integrals;
}

void KvMeter::resize(const KvPoolState& pool) {
  integrals_.total_blocks += Int128{capacity_blocks_} * (observed_ - resized_at_);
  resized_at_ = observed_;
  block_tokens_ = pool.block_tokens;
  capacity_blocks_ = pool.total_blocks;
}

void KvMeter::add_constant(const ReplicaState& state, TickSum ticks) {
  if (mostly(ticks <= INT64_MAX)) return add_lasting(state, static_cast<Ticks>(ticks));
  add_lasting(state, ticks);  // hours, as of an idle replica
}

// As if the first step's state lasted, and what changes in the further ones.
void KvMeter::add_run(const RunView& view) {
  add_constant(*view.run.state, view.ticks);
  if (mostly(view.run.steps > 1)) add_growth(view);
}

// The pool grows with decode and then has no holes to speak of, or what was reserved is used up.
void KvMeter::add_growth(const RunView& view) {
  const ReplicaState& state = *view.run.state;
  note_pool(state.pool, state.pool.used_blocks() + view.growth.last,
            state.kv_tokens + (view.run.steps - 1) * view.tokens_per_step);
  integrals_.kv_tokens += weigh(view.run, view.run.steps, 0, view.tokens_per_step);
  if (view.growth.last > 0) {
    integrals_.used_blocks += view.growth.block_ticks;
    integrals_.cached_blocks -= cached_loss(view);
  }
  if (rarely(state.reserved_tokens != 0) && view.reserved_per_step != 0) {
    integrals_.reserved_tokens += reserved_integral(view) - state.reserved_tokens * view.ticks;
  }
}

}  // namespace headroom
