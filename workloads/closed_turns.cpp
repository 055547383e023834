#include "workloads/closed_turns.hpp"

#include <algorithm>

#include "sim/kernel/check.hpp"
#include "workloads/session_rows.hpp"
#include "workloads/transforms/row_order.hpp"

namespace headroom {
namespace {

TimeNs sent_after(const Trace& trace, std::uint32_t row, TimeNs now_ns) {
  const TimeNs gap_ns = trace.details[row].after_previous_ns;
  if (gap_ns < 0) return std::max(trace.rows[row].time_ns, now_ns);
  return checked_instant(trace, row, static_cast<Int128>(now_ns) + gap_ns, "after_previous_ns");
}

}  // namespace

ClosedTurns::ClosedTurns(const Trace& trace, std::size_t rows)
    : trace_(trace), end_(rows), follows_(rows), taken_(rows), dropped_(rows) {
  const std::vector<std::uint32_t> previous = previous_in_session(trace, rows);
  next_ = next_in_session(previous);
  for (std::size_t i = 0; i < rows; ++i) follows_[i] = previous[i] != kNoRow;
  states_gaps_ = std::ranges::any_of(
      trace.details, [](const TraceDetail& detail) { return detail.after_previous_ns >= 0; });
}

bool ClosedTurns::waits(std::size_t row) const {
  return follows_[row] && (!states_gaps_ || trace_.details[row].after_previous_ns >= 0);
}

void ClosedTurns::skip() {
  while (at_ < end_ && (taken_[at_] || dropped_[at_] || waits(at_))) ++at_;
  while (!ready_.empty() && dropped_[ready_.top().row]) ready_.pop();
}

ClosedTurns::Turn ClosedTurns::next() {
  skip();
  Turn first;
  if (at_ < end_) {
    first = {.time_ns = trace_.rows[at_].time_ns, .row = static_cast<std::uint32_t>(at_)};
  }
  return ready_.empty() ? first : std::min(first, ready_.top());
}

ClosedTurns::Turn ClosedTurns::take() {
  const Turn turn = next();
  HEADROOM_CHECK(turn.time_ns != kNever, "request taken from a workload that has none");
  if (waits(turn.row)) ready_.pop();
  taken_[turn.row] = true;
  return turn;
}

void ClosedTurns::on_answer(std::uint32_t row, TimeNs now_ns) {
  const std::uint32_t next = next_[row];
  if (next == kNoRow || dropped_[next] || !waits(next)) return;
  ready_.push({.time_ns = sent_after(trace_, next, now_ns), .row = next});
}

// Behind a dropped row all were taken or dropped, so that the walk ends there.
void ClosedTurns::on_loss(std::uint32_t row) {
  for (std::uint32_t i = next_[row]; i != kNoRow && !dropped_[i]; i = next_[i]) {
    if (taken_[i]) continue;
    dropped_[i] = true;
    ++turns_dropped_;
  }
}

}  // namespace headroom
