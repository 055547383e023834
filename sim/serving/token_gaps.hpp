#pragma once
// Gaps between tokens whose predecessor is not one step old: behind a preemption, and behind steps
// in which the decoding rows stood by (prefill-first engines).

#include <cstdint>
#include <span>
#include <vector>

#include "sim/kernel/likely.hpp"
#include "sim/kernel/time.hpp"
#include "sim/serving/metrics_sink.hpp"
#include "sim/serving/request.hpp"
#include "sim/serving/request_story.hpp"
#include "sim/serving/types.hpp"

namespace headroom {

class TokenGaps {
 public:
  // Those of the run of steps that is reported next.
  [[nodiscard]] std::span<const GapGroup> groups() const { return groups_; }
  void add(TickSum gap) { groups_.push_back({gap, 1}); }
  // Of the first tokens of a stay, which come out at `end`: one after a preemption is not the first
  // of its request.
  void add_resumed(std::span<const RequestId> first_tokens, std::span<const RequestStory> stories,
                   TickSum end) {
    for (const RequestId id : first_tokens) {
      const TickSum last = stories[id].last_token;
      if (rarely(last >= 0)) add(end - last);
    }
  }
  // All of them reach the clients so much later.
  void shift(TickSum by) {
    for (GapGroup& group : groups_) group.gap += by;
  }
  void clear() { groups_.clear(); }

  // `id` was preempted while a token of it was in flight: it comes out at the end of step
  // RequestStory::counted_to.
  void await_last_token(RequestId id) { interrupted_.push_back(id); }
  [[nodiscard]] bool awaits_last_tokens() const { return !interrupted_.empty(); }
  // Step `completed` has ended, and clients have its tokens at `latest`: notes it of those that
  // awaited them.
  void note_last_tokens(std::span<RequestStory> stories, RequestPool& requests, StepIndex completed,
                        TickSum latest);

  // `id` is gone.
  void forget(RequestId id) {
    if (rarely(!interrupted_.empty())) std::erase(interrupted_, id);
  }

  // With pipeline stages: a step of `micro_batch` ends at `end`, in which `rows` yield that yielded
  // in its step before.
  void add_of_micro_batch(std::int32_t micro_batch, TickSum end, std::int64_t rows) {
    if (rows > 0) groups_.push_back({end - ends_[static_cast<std::size_t>(micro_batch)], rows});
  }
  // Clients have the tokens of that step at `latest`.
  void note_end(std::int32_t micro_batch, TickSum latest);

  // Whether the latest steps that have ended were no decode steps: the decoding rows stand by.
  [[nodiscard]] bool paused() const { return !paused_.empty(); }
  // Step `step` has ended without the `rows` that decode; `begun` more begin with it and pause from
  // now on. Their latest tokens were produced at `before` it, and at `after` it.
  void pause(StepIndex step, std::int64_t rows, std::int64_t begun, TickSum before, TickSum after);
  // A decode step ends at `end`: adds the gaps of the `rows` that paused.
  void add_over_pause(TickSum end, std::int64_t rows);
  void end_pause() { paused_.clear(); }
  // Nothing is in flight, and nobody stands by.
  void on_engine_lost() {
    end_pause();
    interrupted_.clear();
  }
  // A row that stands by, and whose first token of this stay came out in step `sample_step`,
  // leaves.
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

  std::vector<GapGroup> groups_;        // add...(), shift() and clear() write
  std::vector<PausedRows> paused_;      // pause(), leave_pause() and end_pause() write
  std::vector<TickSum> ends_;           // by micro-batch; note_end() writes
  std::vector<RequestId> interrupted_;  // await_last_token() writes, note_last_tokens() clears
};

}  // namespace headroom
