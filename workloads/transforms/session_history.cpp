#include "workloads/transforms/session_history.hpp"

#include <algorithm>
#include <cstddef>
#include <span>

#include "workloads/session_rows.hpp"
#include "workloads/traces/session_chain.hpp"

namespace headroom {
namespace {

// Keeps these identities apart from those that readers make of sessions (fractional digits of the
// square root of 5).
constexpr std::uint64_t kHistory = 0x3C6EF372FE94F82B;

// The turns of one session, in order.
class SessionHistory {
 public:
  SessionHistory(Trace& trace, std::uint64_t session)
      : trace_(trace), chain_(mixed_id(kHistory, session)), at_(trace.segments.size()) {}

  void add(std::size_t row, std::int32_t document_tokens, HistoryReport& report) {
    TraceDetail& detail = trace_.details[row];
    const std::int32_t document = std::min(document_tokens, trace_.rows[row].prompt_tokens);
    const bool has_document = document > 0;
    if (detail.segment_count > (has_document ? 1 : 0)) {
      ++report.rows_with_identity;
      is_known_ = false;
      return;
    }
    const std::int32_t text = trace_.rows[row].prompt_tokens - document;
    const std::int64_t context = is_known_ ? chain_.tokens() : 0;
    const auto kept = static_cast<std::int32_t>(std::min<std::int64_t>(context, text));
    report.rows += kept > 0 ? 1 : 0;
    report.tokens += kept;
    chain_.prompt(kept, text - kept);
    if (has_document) {
      store_behind(trace_.prefix(row).front(), detail);
    } else {
      store(detail);
    }
    const std::uint64_t answer =
        chain_.answer(trace_.rows[row].output_tokens - detail.thinking_tokens);
    detail.output_segment = detail.thinking_tokens == 0 ? answer : 0;
    is_known_ = true;
  }

 private:
  // Most chains continue where the previous one ended and share its memory, so that long sessions
  // use no more memory than their turns.
  void store(TraceDetail& detail) {
    const std::vector<PrefixSegment>& chain = chain_.segments();
    const auto stored = std::span(trace_.segments).subspan(at_);
    const bool goes_on = chain.size() >= stored.size() &&
                         std::ranges::equal(stored, std::span(chain).first(stored.size()));
    if (!goes_on) at_ = trace_.segments.size();
    const auto have = static_cast<std::ptrdiff_t>(trace_.segments.size() - at_);
    trace_.segments.insert(trace_.segments.end(), chain.begin() + have, chain.end());
    refer(detail);
  }

  void store_behind(PrefixSegment document, TraceDetail& detail) {
    const std::vector<PrefixSegment>& chain = chain_.segments();
    at_ = trace_.segments.size();
    trace_.segments.push_back(document);
    trace_.segments.insert(trace_.segments.end(), chain.begin(), chain.end());
    refer(detail);
  }

  void refer(TraceDetail& detail) const {
    detail.first_segment = at_;
    detail.segment_count = static_cast<std::int32_t>(trace_.segments.size() - at_);
  }

  Trace& trace_;
  SessionChain chain_;
  std::size_t at_;         // of the latest chain stored, which ends the segments
  bool is_known_ = false;  // what was said in the turn before
};

}  // namespace

HistoryReport give_history(Trace& trace, const std::vector<std::int32_t>& document_tokens) {
  HistoryReport report;
  if (trace.details.empty()) return report;
  const std::vector<std::uint32_t> previous = previous_in_session(trace);
  const std::vector<std::uint32_t> next = next_in_session(previous);
  for (std::size_t i = 0; i < previous.size(); ++i) {
    const std::uint64_t session = trace.details[i].session;
    if (session == kNoSession || previous[i] != kNoRow) continue;
    SessionHistory history(trace, session);
    for (auto row = static_cast<std::uint32_t>(i); row != kNoRow; row = next[row]) {
      history.add(row, document_tokens.empty() ? 0 : document_tokens[row], report);
    }
  }
  return report;
}

}  // namespace headroom
