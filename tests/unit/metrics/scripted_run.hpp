#pragma once
// A made-up replica that reports the same history in pieces of any length.

#include <functional>
#include <vector>

#include "sim/kernel/random.hpp"
#include "sim/serving/metrics_sink.hpp"

namespace headroom {

// One batch composition: `steps` steps of decoding rows, after an idle time.
struct ScriptedBatch {
  TickSum idle_ticks = 0;
  StepCount steps = 1;
  CostTerms base;                   // first step
  SlopeTerms slope;                 // more per further step
  std::vector<TokenCount> lengths;  // of the rows, before the first step
  std::int64_t ghosts = 0;
  TokenCount reserved = 0;
  BlockCount cached = 0;
  std::vector<GapGroup> other_gaps;  // only with steps == 1
};

struct Script {
  std::int32_t block_tokens = 16;
  bool grows_with_decode = true;
  BlockCount total_blocks = 0;
  std::vector<ScriptedBatch> batches;
  std::vector<TimeNs> queued;  // sorted; none of these requests is ever admitted
  TimeNs end_ns = 0;
};

[[nodiscard]] Script random_script(RandomStream& random);

enum class Pricing { by_offset, anew };  // `anew`: each piece is priced as a composition of its own

// How many of the `left` steps the next report covers.
using Cut = std::function<StepCount(StepCount left)>;

void play(const Script& script, const Cut& cut, Pricing pricing, MetricsSink& sink);

[[nodiscard]] inline StepCount whole(StepCount left) { return left; }
[[nodiscard]] inline StepCount single(StepCount) { return 1; }

}  // namespace headroom
