#include "workloads/transforms/superpose.hpp"

#include <algorithm>
#include <cstddef>
#include <unordered_map>
#include <vector>

#include "sim/kernel/check.hpp"
#include "workloads/session_rows.hpp"
#include "workloads/transforms/row_order.hpp"

namespace headroom {
namespace {

// First half of the key of a copy (fractional digits of the square root of 7).
constexpr std::uint64_t kCopy = 0xA54FF53A5F1D36F1;

TimeNs cycle_of(const Trace& trace) {
  const std::vector<TraceRow>& rows = trace.rows;
  const TimeNs span = rows.back().time_ns - rows.front().time_ns;
  const auto gaps = std::max<std::int64_t>(static_cast<std::int64_t>(rows.size()) - 1, 1);
  const Int128 mean_gap = (static_cast<Int128>(span) + gaps / 2) / gaps;
  return checked_instant(trace, rows.size() - 1, span + std::max<Int128>(mean_gap, 1), "copies");
}

// For each row the first one of its session.
std::vector<std::uint32_t> session_heads(const Trace& trace) {
  std::vector<std::uint32_t> heads = previous_in_session(trace);
  for (std::size_t i = 0; i < heads.size(); ++i) {
    heads[i] = heads[i] == kNoRow ? static_cast<std::uint32_t>(i) : heads[heads[i]];
  }
  return heads;
}

// Which identities different sessions have in common.
class CommonIds {
 public:
  CommonIds(const Trace& trace, const std::vector<std::uint32_t>& heads) {
    for (std::size_t i = 0; i < trace.details.size(); ++i) {
      for (const PrefixSegment& segment : trace.prefix(i)) note(segment.id, heads[i]);
      note(trace.details[i].output_segment, heads[i]);
    }
  }
  [[nodiscard]] bool has(std::uint64_t id) const {
    const auto found = heads_.find(id);
    return found != heads_.end() && found->second == kNoRow;
  }

 private:
  void note(std::uint64_t id, std::uint32_t head) {
    const auto [found, first] = heads_.try_emplace(id, head);
    if (!first && found->second != head) found->second = kNoRow;
  }

  std::unordered_map<std::uint64_t, std::uint32_t> heads_;  // kNoRow: of several sessions
};

class Superposition {
 public:
  Superposition(Trace& trace, CopyReport& report)
      : trace_(trace),
        report_(report),
        heads_(session_heads(trace)),
        rows_(trace.rows.size()),
        segments_(trace.segments.size()) {}

  void share_common_ids() { common_.emplace(trace_, heads_); }

  void add_copy(std::int64_t number) {
    key_ = mixed_id(kCopy, static_cast<std::uint64_t>(number));
    const Int128 shift = static_cast<Int128>(report_.shift_ns) * number % report_.cycle_ns;
    const TimeNs first_ns = trace_.rows.front().time_ns;
    for (std::size_t i = 0; i < rows_; ++i) {
      const TimeNs head_ns = trace_.rows[heads_[i]].time_ns;
      const Int128 place = head_ns - first_ns + shift;
      const bool wraps = place >= report_.cycle_ns;
      TraceRow row = trace_.rows[i];
      const Int128 moved = shift - (wraps ? report_.cycle_ns : 0);
      row.time_ns = checked_instant(trace_, i, row.time_ns + moved, "copies");
      report_.rows_wrapped += wraps ? 1 : 0;
      trace_.rows.push_back(row);
    }
    if (!trace_.details.empty()) copy_details(static_cast<std::size_t>(number));
    report_.rows_added += static_cast<std::int64_t>(rows_);
  }

 private:
  void copy_details(std::size_t number) {
    for (std::size_t i = 0; i < rows_; ++i) {
      TraceDetail detail = trace_.details[i];
      if (detail.session != kNoSession) detail.session = mixed_id(key_, detail.session);
      if (detail.output_segment != 0) detail.output_segment = id_of(detail.output_segment);
      detail.first_segment += number * segments_;
      trace_.details.push_back(detail);
    }
    for (std::size_t i = 0; i < segments_; ++i) {
      const PrefixSegment segment = trace_.segments[i];
      trace_.segments.push_back({.id = id_of(segment.id), .tokens = segment.tokens});
    }
  }

  [[nodiscard]] std::uint64_t id_of(std::uint64_t id) const {
    return common_ && common_->has(id) ? id : mixed_id(key_, id);
  }

  Trace& trace_;
  CopyReport& report_;
  std::vector<std::uint32_t> heads_;
  std::size_t rows_;  // of one copy
  std::size_t segments_;
  std::optional<CommonIds> common_;
  std::uint64_t key_ = 0;  // of the copy
};

}  // namespace

CopyReport superpose(Trace& trace, std::int64_t copies, std::optional<TimeNs> shift_ns,
                     bool share_prefixes) {
  CopyReport report;
  if (copies == 1 || trace.rows.empty()) return report;
  const auto total = static_cast<Int128>(trace.rows.size()) * copies;
  HEADROOM_CHECK(copies >= 1 && total < kNoRow, "copies have 32-bit row numbers");
  HEADROOM_CHECK(shift_ns.value_or(0) >= 0, "copies come later, never earlier");
  report.cycle_ns = cycle_of(trace);
  report.shift_ns = shift_ns.value_or(report.cycle_ns / copies);
  Superposition all(trace, report);
  if (share_prefixes) all.share_common_ids();
  const auto rows = static_cast<std::size_t>(total);
  trace.rows.reserve(rows);
  if (!trace.details.empty()) trace.details.reserve(rows);
  trace.segments.reserve(trace.segments.size() * static_cast<std::size_t>(copies));
  for (std::int64_t number = 1; number < copies; ++number) all.add_copy(number);
  sort_by_time(trace);
  return report;
}

}  // namespace headroom
