#pragma once
// The steps that are planned and have not ended, as segments of equal composition.

#include <cstdint>
#include <vector>

#include "sim/kernel/check.hpp"
#include "sim/kernel/likely.hpp"
#include "sim/kernel/time.hpp"
#include "sim/serving/step_cost.hpp"
#include "sim/serving/types.hpp"

namespace headroom {

// `steps` repetitions of one batch composition, of which `done` have ended.
struct Segment {
  StepIndex first = 0;
  StepCount steps = 0;
  StepCount done = 0;
  bool decodes = true;             // the decoding sequences run; else steps == 1
  std::int32_t micro_batch = 0;    // of an engine with pipeline stages; then steps == 1
  std::int64_t gaps_per_step = 0;  // decoding rows that yield a token
  std::int64_t rows_paused = 0;    // decoding rows that pause
  std::int64_t rows_resumed = 0;   // decoding rows that were swapped in; then steps == 1
  StepShape shape;
  StepPrice price;
  std::vector<RequestId> first_tokens;  // prefills that reach their last token; then steps == 1

  [[nodiscard]] StepCount left() const { return steps - done; }
  // Ticks of the next step.
  [[nodiscard]] Ticks next_ticks() const { return price.base + price.slope * done; }
  // Ticks of the next `count` steps, count <= left() <= kManySteps.
  [[nodiscard]] TickSum duration(StepCount count) const {
    if (count == 1) return next_ticks();
    constexpr StepCount kFewSteps = StepCount{1} << 31;  // whose square has 64 bits
    const TickSum level = TickSum{next_ticks()} * count;
    if (mostly(count <= kFewSteps)) return level + TickSum{count * (count - 1) / 2} * price.slope;
    return level + TickSum{count} * (count - 1) / 2 * price.slope;
  }
  // Smallest count >= 1 with duration(count) >= ticks; left() + 1 when there is none.
  [[nodiscard]] StepCount steps_to_reach(TickSum ticks) const;
};

// A ring of segments whose buffers are reused.
class StepPipeline {
 public:
  // At most `depth` segments are held at a time.
  explicit StepPipeline(std::int32_t depth);

  [[nodiscard]] bool empty() const { return count_ == 0; }
  [[nodiscard]] std::size_t size() const { return count_; }
  // i <= size().
  [[nodiscard]] Segment& operator[](std::size_t i) { return ring_[place(i)]; }
  [[nodiscard]] const Segment& operator[](std::size_t i) const { return ring_[place(i)]; }
  [[nodiscard]] Segment& front() { return ring_[head_]; }
  [[nodiscard]] Segment& back() { return (*this)[count_ - 1]; }

  // A segment to be filled, with the values of an earlier one, but without first tokens; it counts
  // once `push` is called.
  [[nodiscard]] Segment& next() {
    HEADROOM_CHECK(count_ < slots_, "more segments than the pipeline is deep");
    Segment& segment = (*this)[count_];
    HEADROOM_CHECK(segment.first_tokens.empty(), "unread first tokens");
    return segment;
  }
  void push() { ++count_; }
  void pop() {
    HEADROOM_CHECK(count_ > 0, "pop of an empty pipeline");
    head_ = place(1);
    --count_;
  }
  void clear();

 private:
  // Avoids the division of a remainder, because this is used ten times per event.
  [[nodiscard]] std::size_t place(std::size_t i) const {
    const std::size_t at = head_ + i;
    return at < slots_ ? at : at - slots_;
  }

  std::size_t slots_;
  std::vector<Segment> ring_;
  std::size_t head_ = 0;
  std::size_t count_ = 0;
};

}  // namespace headroom
