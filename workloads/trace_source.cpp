#include "workloads/trace_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/kernel/check.hpp"
#include "sim/kernel/errors.hpp"
#include "workloads/duration_law.hpp"

namespace headroom {
namespace {

constexpr std::int64_t kMaxClasses = 255;  // RequestRecord::class_id

SessionReplay replay_of(const Trace& trace, std::optional<SessionReplay> wanted) {
  if (trace.clock != TraceClock::absolute) {
    throw ConfigError("trace: it has no arrival times, so it needs an arrival process");
  }
  const bool has_timeless = std::ranges::any_of(trace.details, &TraceDetail::timeless);
  if (has_timeless && wanted == SessionReplay::open) {
    throw ConfigError(
        "trace: sessions is open; allowed: closed, because some rows have no time of their own but "
        "follow the previous answer");
  }
  return wanted.value_or(has_timeless ? SessionReplay::closed : SessionReplay::open);
}

void check_classes(const Trace& trace, std::int32_t first, const MaxTokens& max_tokens) {
  const std::int64_t classes = std::max<std::int64_t>(std::ssize(trace.classes), 1);
  if (first < 0 || first + classes > kMaxClasses) {
    throw ConfigError(fmt::format("trace: it has {} classes, numbered from {}; allowed: 0 .. {}",
                                  classes, first, kMaxClasses - 1));
  }
  for (std::int64_t i = 0; i < classes; ++i) {
    max_tokens.check_class(first + static_cast<std::int32_t>(i));
  }
}

}  // namespace

TraceSource::TraceSource(std::shared_ptr<const Trace> trace, const TraceSourceOptions& options)
    : trace_(std::move(trace)), max_tokens_(options.max_tokens), class_id_(options.class_id) {
  const std::int64_t wanted = options.num_requests.value_or(INT64_MAX);
  if (wanted < 0) {
    throw ConfigError(fmt::format("num_requests is {}; allowed: 0 or more", wanted));
  }
  check_classes(*trace_, class_id_, max_tokens_);
  const auto rows = static_cast<std::int64_t>(trace_->rows.size());
  end_ = static_cast<std::size_t>(std::min(wanted, rows));
  if (replay_of(*trace_, options.sessions) == SessionReplay::closed) turns_.emplace(*trace_, end_);
}

SessionReplay TraceSource::sessions() const {
  return turns_ ? SessionReplay::closed : SessionReplay::open;
}

std::int64_t TraceSource::turns_dropped() const { return turns_ ? turns_->turns_dropped() : 0; }

std::int64_t TraceSource::rows_left() const {
  return static_cast<std::int64_t>(end_ - taken_) - turns_dropped();
}

TimeNs TraceSource::next_time() {
  if (turns_) return turns_->next().time_ns;
  return taken_ == end_ ? kNever : trace_->rows[taken_].time_ns;
}

Arrival TraceSource::take() {
  HEADROOM_CHECK(taken_ < end_, "request taken from a workload that has ended");
  if (!turns_) {
    const std::size_t row = taken_++;
    return arrival_of(row, trace_->rows[row].time_ns);
  }
  const ClosedTurns::Turn turn = turns_->take();
  ++taken_;
  rows_by_index_.push_back(turn.row);
  return arrival_of(turn.row, turn.time_ns);
}

Arrival TraceSource::arrival_of(std::size_t row, TimeNs time_ns) {
  Arrival arrival{.time_ns = time_ns,
                  .prompt_tokens = trace_->rows[row].prompt_tokens,
                  .output_tokens = trace_->rows[row].output_tokens,
                  .max_tokens = 0,
                  .class_id = class_id_};
  if (!trace_->details.empty()) {
    const TraceDetail& detail = trace_->details[row];
    arrival.thinking_tokens = detail.thinking_tokens;
    arrival.max_tokens = detail.max_tokens;
    arrival.class_id += detail.class_id;
    arrival.priority = detail.priority;
    arrival.session = detail.session;
    arrival.prefix = trace_->prefix(row);
    if (detail.gives_up_ns >= 0) {
      arrival.deadline_ns = instant_after(time_ns, detail.gives_up_ns);
    }
    arrival.output_segment = detail.output_segment;
  }
  max_tokens_.apply(arrival);
  return arrival;
}

void TraceSource::on_done(std::uint64_t index, Outcome outcome, TimeNs now_ns) {
  if (!turns_) return;  // open loop: what becomes of a request changes nothing
  HEADROOM_CHECK(index < rows_by_index_.size(), "a request that was not taken");
  const std::uint32_t row = rows_by_index_[index];
  if (outcome == Outcome::finished) {
    turns_->on_answer(row, now_ns);
  } else {
    turns_->on_loss(row);
  }
}

}  // namespace headroom
