#pragma once
// In which order the rows of a trace are sent when the turns of a session wait for each other.

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

#include "sim/kernel/time.hpp"
#include "workloads/traces/trace.hpp"

namespace headroom {

class ClosedTurns {
 public:
  // Of the first `rows` rows; the trace outlives the object.
  ClosedTurns(const Trace& trace, std::size_t rows);

  struct Turn {
    TimeNs time_ns = kNever;  // kNever: none is known now
    std::uint32_t row = 0;
    friend constexpr auto operator<=>(const Turn&, const Turn&) = default;
  };
  // By time, then by row.
  [[nodiscard]] Turn next();
  Turn take();
  // The request of a row that was taken has its answer: the turn that waits for it may go.
  // ConfigError: at an instant that a run cannot have.
  void on_answer(std::uint32_t row, TimeNs now_ns);
  // It will never have one: later rows of its session that were not taken are dropped.
  void on_loss(std::uint32_t row);

  [[nodiscard]] std::int64_t turns_dropped() const { return turns_dropped_; }

 private:
  [[nodiscard]] bool waits(std::size_t row) const;
  void skip();

  const Trace& trace_;
  std::size_t end_;
  bool states_gaps_ = false;         // some row does
  std::vector<std::uint32_t> next_;  // of the same session
  std::vector<bool> follows_;        // has a row of its session before it
  std::vector<bool> taken_;
  std::vector<bool> dropped_;
  std::size_t at_ = 0;  // first row that is sent at its own time and was not yet
  // Turns that need wait for nothing but their time any more, the earliest on top.
  std::priority_queue<Turn, std::vector<Turn>, std::greater<>> ready_;
  std::int64_t turns_dropped_ = 0;
};

}  // namespace headroom
