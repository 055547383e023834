#pragma once
// Gaps between tokens whose predecessor is not one step old: behind a preemption, and behind steps
// in which the decoding rows stood by (prefill-first engines).

#include <cstdint>
#include <span>
#include <vector>

#include "sim/kernel/time.hpp"
#include "sim/serving/metrics_sink.hpp"
#include "sim/serving/types.hpp"

namespace headroom {

class TokenGaps {
 public:
  // Those of the run of steps that is reported next.
  [[nodiscard]] std::span<const GapGroup> groups() const { return groups_; }
  void add(TickSum gap) { groups_.push_back({gap, 1}); }
  // All of them reach the clients so much later.
  void shift(TickSum by) {
    for (GapGroup& group : groups_) group.gap += by;
  }
  void clear() { groups_.clear(); }

  // Whether the latest ended steps were not decode steps, so that the decoding rows pause.
  [[nodiscard]] bool paused() const { return !paused_.empty(); }
  // Step `step` has ended without the `rows` that decode; `begun` more begin with it and pause from
  // now on. Their latest tokens were produced at `before` it, and at `after` it.
  void pause(StepIndex step, std::int64_t rows, std::int64_t begun, TickSum before, TickSum after);
  // A decode step ends at `end`: adds the gaps of the `rows` that paused.
  void add_over_pause(TickSum end, std::int64_t rows);
  void end_pause() { paused_.clear(); }
  // A paused row leaves whose first token of this stay was produced in step `sample_step`.
  void leave_pause(StepIndex sample_step);
  // When that row produced its latest token; `latest`: for rows that do not pause.
  [[nodiscard]] TickSum latest_token(StepIndex sample_step, TickSum latest) const;

 private:
  // Paused rows, by the instant of their latest token. The first group is of rows from before the
  // pause.
  struct PausedRows {
    StepIndex sample_step = 0;  // of the other groups
    TickSum instant = 0;
    std::int64_t rows = 0;
  };

  std::vector<GapGroup> groups_;
  std::vector<PausedRows> paused_;
};

}  // namespace headroom
