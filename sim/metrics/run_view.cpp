#include "sim/metrics/run_view.hpp"

#include <algorithm>

#include "sim/kernel/check.hpp"
#include "sim/kernel/likely.hpp"

namespace headroom {

StepCount steps_ended_by(const StepRun& run, TimeNs t) {
  const TickSum target = ticks_from_ns(t + 1);  // the first instant after nanosecond t
  StepCount low = 0;
  StepCount high = run.steps;
  while (low < high) {
    const StepCount middle = low + (high - low + 1) / 2;
    if (run.begin + ticks_of(run, middle) < target) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

namespace {

// G(steps - 1), and the sums of G(i) and of i * G(i) over i < steps.
template <typename Int>
struct GrowthSums {
  BlockCount last = 0;
  Int plain = 0;
  Int weighted = 0;
};

// Continues the sums from `from` steps to `to`, both within the first cycle of block-size steps.
template <typename Int>
void extend(const DecodeSet& decodes, StepCount from, StepCount to, GrowthSums<Int>& sums) {
  const std::span<const std::int32_t> growth = decodes.growth();
  for (StepCount i = std::max<StepCount>(from, 1); i < to; ++i) {
    sums.last += growth[static_cast<std::size_t>(i - 1)];
    sums.plain += sums.last;
    sums.weighted += static_cast<Int>(i) * sums.last;
  }
}

template <typename Int>
GrowthSums<Int> growth_sums(const DecodeSet& decodes, StepCount steps) {
  const auto block_steps = static_cast<StepCount>(decodes.growth().size());
  GrowthSums<Int> sums;
  if (steps <= block_steps) {
    extend(decodes, 0, steps, sums);
    return sums;
  }
  // A cycle takes `size` ids, whatever its first step: G(q * block + r) = q * size + G(r).
  const StepCount rest_steps = steps % block_steps;
  GrowthSums<Int> part;
  extend(decodes, 0, rest_steps, part);
  GrowthSums<Int> cycle = part;
  extend(decodes, rest_steps, block_steps, cycle);
  const Int block = block_steps;
  const Int cycles = steps / block_steps;
  const Int rest = rest_steps;
  const Int size = decodes.ids_per_cycle();
  const Int sum_q = cycles * (cycles - 1) / 2;
  const Int sum_qq = sum_q * (2 * cycles - 1) / 3;
  const Int sum_r = block * (block - 1) / 2;
  sums.last = rest_steps > 0 ? decodes.ids_per_cycle() * (steps / block_steps) + part.last
                             : decodes.ids_per_cycle() * (steps / block_steps - 1) + cycle.last;
  // Whole cycles first, then the rest.
  sums.plain = size * block * sum_q + cycles * cycle.plain + rest * cycles * size + part.plain;
  sums.weighted = size * block * block * sum_qq + size * sum_q * sum_r +
                  block * sum_q * cycle.plain + cycles * cycle.weighted +
                  cycles * size * (cycles * block * rest + rest * (rest - 1) / 2) +
                  cycles * block * part.plain + part.weighted;
  return sums;
}

// Up to here i^2 * G(i) and its sums stay far below 2^63: 2^15 * 2^15 * 2^30.
constexpr StepCount kFewSteps = StepCount{1} << 15;
constexpr BlockCount kFewBlocks = BlockCount{1} << 30;

template <typename Int>
RunGrowth growth_of(const StepRun& run, StepCount steps) {
  const GrowthSums<Int> sums = growth_sums<Int>(*run.decodes, steps);
  return {sums.last, static_cast<Int128>(run.first_ticks) * sums.plain +
                         static_cast<Int128>(run.slope_ticks) * sums.weighted};
}

}  // namespace

RunGrowth growth_over(const StepRun& run, StepCount steps) {
  const DecodeSet& decodes = *run.decodes;
  if (steps <= 1 || decodes.growth().empty() || decodes.size() == 0) return {};
  const bool small = steps <= kFewSteps && run.state->pool.total_blocks <= kFewBlocks;
  return mostly(small) ? growth_of<std::int64_t>(run, steps) : growth_of<Int128>(run, steps);
}

RunView view_of_several(const StepRun& run) {
  HEADROOM_CHECK(run.steps > 1 && run.steps <= kMaxRunSteps, "steps of a run out of range");
  const TickSum ticks = ticks_of(run, run.steps);
  RunView view{.run = run, .ticks = ticks, .end = run.begin + ticks};
  view.growth = growth_over(run, run.steps);
  view.tokens_per_step = run.decodes->ids_per_cycle();
  // Without chunks, every running sequence writes one of its reserved tokens per step.
  if (rarely(!run.state->pool.grows_with_decode)) view.reserved_per_step = run.state->running;
  return view;
}

namespace {

void go_to_step(const RunView& view, StepCount i, BlockCount growth, ReplicaState& state) {
  state.pool.cached_blocks -= std::max<BlockCount>(0, growth - state.pool.plain_first());
  state.pool.free_blocks -= growth;
  state.pool.largest_hole -= growth;
  state.kv_tokens += i * view.tokens_per_step;
  state.reserved_tokens =
      std::max<TokenCount>(0, state.reserved_tokens - i * view.reserved_per_step);
}

}  // namespace

ReplicaState state_in_step(const RunView& view, StepCount i) {
  ReplicaState state = *view.run.state;
  if (i > 0) go_to_step(view, i, view.run.decodes->blocks_needed(i), state);
  return state;
}

void go_to_last_step(const RunView& view, ReplicaState& state) {
  go_to_step(view, view.run.steps - 1, view.growth.last, state);
}

}  // namespace headroom
