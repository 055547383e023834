#include "sim/serving/step_pipeline.hpp"

#include "sim/kernel/check.hpp"

namespace headroom {

StepCount Segment::steps_to_reach(TickSum ticks) const {
  StepCount low = 1;
  StepCount high = left() + 1;
  while (low < high) {
    const StepCount middle = low + (high - low) / 2;
    if (duration(middle) >= ticks) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

StepPipeline::StepPipeline(std::int32_t depth)
    : slots_(static_cast<std::size_t>(depth) + 1), ring_(slots_) {
  HEADROOM_CHECK(depth >= 1, "a pipeline holds at least one step");
}

Segment& StepPipeline::next() {
  HEADROOM_CHECK(count_ < slots_, "more segments than the pipeline is deep");
  Segment& segment = (*this)[count_];
  segment.first_tokens.clear();
  segment.done = 0;
  segment.decodes = true;
  segment.gaps_per_step = 0;
  segment.rows_paused = 0;
  segment.rows_resumed = 0;
  segment.shape = {};
  return segment;
}

}  // namespace headroom
