#include "workloads/traces/trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace headroom {
namespace {

bool has_details(const TraceRecord& record) {
  return record.session != kNoSession || record.after_previous_ns >= 0 ||
         record.output_segment != 0 || !record.prefix.empty() || !record.class_name.empty() ||
         record.priority != 0 || record.max_tokens != 0 || record.thinking_tokens != 0 ||
         record.gives_up_ns >= 0;
}

bool is_earlier(const TraceRow& a, const TraceRow& b) { return a.time_ns < b.time_ns; }

template <typename T>
void reorder(std::vector<T>& values, const std::vector<std::uint32_t>& order) {
  std::vector<T> sorted;
  sorted.reserve(values.size());
  for (const std::uint32_t place : order) sorted.push_back(values[place]);
  values = std::move(sorted);
}

}  // namespace

void ZeroTokenRows::count(const TraceRecord& record) {
  if (record.prompt_tokens != 0) {
    ++output_only;
  } else if (record.output_tokens != 0) {
    ++prompt_only;
  } else {
    ++both;
  }
}

std::string odd_gap(const Trace& trace) {
  constexpr double kYearNs = 365.25 * 86'400 * kNsPerSecondReal;
  constexpr double kMostOfSpan = 0.9;
  if (trace.clock != TraceClock::absolute || trace.rows.size() < 2) return {};
  TimeNs widest = 0;
  std::size_t behind = 0;
  for (std::size_t i = 1; i < trace.rows.size(); ++i) {
    const TimeNs gap = trace.rows[i].time_ns - trace.rows[i - 1].time_ns;
    if (gap <= widest) continue;
    widest = gap;
    behind = i;
  }
  const auto span = static_cast<double>(trace.rows.back().time_ns - trace.rows.front().time_ns);
  const auto gap = static_cast<double>(widest);
  if (gap < kYearNs || gap < kMostOfSpan * span) return {};
  return fmt::format(
      "{:.1f} years pass without a request between request {} and {} of {} in order of time, which "
      "makes no sense: look for a wrong time",
      gap / kYearNs, behind, behind + 1, trace.rows.size());
}

void sort_by_time(Trace& trace) {
  if (std::ranges::is_sorted(trace.rows, is_earlier)) return;
  std::vector<std::uint32_t> order(trace.rows.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return is_earlier(trace.rows[a], trace.rows[b]);
  });
  reorder(trace.rows, order);
  if (!trace.details.empty()) reorder(trace.details, order);
}

std::string Trace::sha256() const {
  return pipe_sha256.empty() ? content_sha256(path, file_state) : pipe_sha256;
}

TraceBuilder::TraceBuilder(TraceOptions options, TraceClock clock, bool whole_file)
    : options_(std::move(options)), whole_file_(whole_file) {
  trace_.clock = clock;
}

bool TraceBuilder::add(const TraceRecord& record) {
  const bool has_zero = record.prompt_tokens == 0 || record.output_tokens == 0;
  if (has_zero && options_.zero_tokens == ZeroTokens::error) return false;
  const TimeNs time_ns = time_of(record);
  if (trace_.rows_read == 0) first_ns_ = time_ns;
  ++trace_.rows_read;
  if (trace_.clock == TraceClock::absolute) {
    trace_.backward_steps += time_ns < previous_ns_ ? 1 : 0;
    previous_ns_ = time_ns;
    earliest_ns_ = std::min(earliest_ns_, time_ns);
  }
  if (has_zero) {
    const bool clamps = options_.zero_tokens == ZeroTokens::clamp;
    (clamps ? trace_.rows_clamped : trace_.rows_dropped).count(record);
    if (!clamps) return true;
  }
  if (!whole_file_ && is_outside(time_ns - first_ns_)) {
    ++trace_.rows_outside;
    return true;
  }
  keep(record, {.time_ns = time_ns,
                .prompt_tokens = std::max(record.prompt_tokens, 1),
                .output_tokens = std::max(record.output_tokens, 1)});
  return true;
}

bool TraceBuilder::must_read_again() const {
  return !whole_file_ && trace_.backward_steps != 0 && trace_.rows_outside != 0;
}

// A row without a time of its own belongs where its session's previous one stands.
TimeNs TraceBuilder::time_of(const TraceRecord& record) {
  if (trace_.clock == TraceClock::none) return 0;
  if (record.time_ns == kNoTime) {
    const auto found = session_times_.find(record.session);
    if (found != session_times_.end()) return found->second;
    return previous_ns_ == INT64_MIN ? 0 : previous_ns_;
  }
  if (record.session != kNoSession) session_times_[record.session] = record.time_ns;
  return record.time_ns;
}

bool TraceBuilder::is_outside(TimeNs time_ns) const {
  return time_ns < options_.from_ns || time_ns >= options_.to_ns ||
         static_cast<std::int64_t>(trace_.rows.size()) >= options_.limit;
}

void TraceBuilder::keep(const TraceRecord& record, const TraceRow& row) {
  trace_.rows.push_back(row);
  if (trace_.details.empty()) {
    if (!has_details(record)) return;
    trace_.details.resize(trace_.rows.size() - 1);
    // The rows before have no class: that is a class of its own.
    if (!trace_.details.empty()) static_cast<void>(class_id_of(""));
  }
  TraceDetail detail;
  detail.session = record.session;
  detail.after_previous_ns = record.after_previous_ns;
  detail.output_segment = record.output_segment;
  detail.first_segment = trace_.segments.size();
  detail.segment_count = static_cast<std::int32_t>(record.prefix.size());
  detail.class_id = class_id_of(record.class_name);
  detail.priority = record.priority;
  detail.max_tokens = record.max_tokens;
  detail.thinking_tokens = record.thinking_tokens;
  detail.gives_up_ns = record.gives_up_ns;
  detail.timeless = trace_.clock != TraceClock::none && record.time_ns == kNoTime;
  trace_.details.push_back(detail);
  trace_.segments.insert(trace_.segments.end(), record.prefix.begin(), record.prefix.end());
}

std::int32_t TraceBuilder::class_id_of(std::string_view name) {
  const auto found = class_ids_.find(name);
  if (found != class_ids_.end()) return found->second;
  const auto id = static_cast<std::int32_t>(trace_.classes.size());
  class_ids_.emplace(name, id);
  trace_.classes.emplace_back(name);
  return id;
}

void TraceBuilder::cut() {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < trace_.rows.size(); ++i) {
    const TimeNs time_ns = trace_.rows[i].time_ns;
    if (time_ns < options_.from_ns || time_ns >= options_.to_ns) continue;
    if (static_cast<std::int64_t>(kept) >= options_.limit) break;
    trace_.rows[kept] = trace_.rows[i];
    if (!trace_.details.empty()) trace_.details[kept] = trace_.details[i];
    ++kept;
  }
  trace_.rows_outside = static_cast<std::int64_t>(trace_.rows.size() - kept);
  trace_.rows.resize(kept);
  if (!trace_.details.empty()) trace_.details.resize(kept);
}

Trace TraceBuilder::finish() {
  if (trace_.clock == TraceClock::absolute && trace_.rows_read != 0) {
    trace_.offset_ns = earliest_ns_;
    for (TraceRow& row : trace_.rows) row.time_ns -= trace_.offset_ns;
    if (trace_.backward_steps != 0) sort_by_time(trace_);
  }
  if (whole_file_) cut();
  return std::move(trace_);
}

}  // namespace headroom
