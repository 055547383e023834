#pragma once
// A single report of decode steps, written out by hand.

#include <vector>

#include "sim/serving/metrics_sink.hpp"

namespace headroom {

inline constexpr Ticks kNsTicks = kTicksPerNs;

// Owns what a StepRun points to. `lengths`: tokens of the rows before the first step.
struct OneRun {
  DecodeSet decodes;
  ReplicaState state;
  StepPrice price;
  StepShape shape;
  StepRun run;

  OneRun(std::int32_t block_tokens, BlockCount total_blocks, const std::vector<TokenCount>& lengths)
      : decodes(block_tokens) {
    BlockCount used = 0;
    for (const TokenCount length : lengths) {
      decodes.join(length);
      used += length / block_tokens + 1;
    }
    decodes.advance(1);
    const auto rows = static_cast<std::int64_t>(lengths.size());
    state.running = rows;
    state.kv_tokens = decodes.context_sum();
    state.pool = {block_tokens, true, total_blocks, total_blocks - used, 0, total_blocks - used};
    run.gaps_per_step = shape.decode_rows = shape.sampled_rows = rows;
    shape.decode_context = decodes.context_sum();
    run.shape = &shape;
    run.state = &state;
    run.decodes = &decodes;
    run.price = &price;
  }
  OneRun(const OneRun&) = delete;
  OneRun& operator=(const OneRun&) = delete;

  void takes(TickSum begin, StepCount steps, Ticks first, Ticks slope) {
    run.begin = begin;
    run.steps = steps;
    run.first_ticks = price.base = price.base_terms[CostTerm::linear_memory] = first;
    run.slope_ticks = price.slope = price.slope_terms.attention_decode = slope;
  }
};

}  // namespace headroom
