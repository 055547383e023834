#include "workloads/session_rows.hpp"

#include <unordered_map>

#include "sim/kernel/check.hpp"

namespace headroom {

std::vector<std::uint32_t> previous_in_session(const Trace& trace, std::size_t rows) {
  HEADROOM_CHECK(rows <= trace.rows.size() && rows < kNoRow, "rows of a trace by 32-bit numbers");
  std::vector<std::uint32_t> previous(rows, kNoRow);
  if (trace.details.empty()) return previous;
  std::unordered_map<std::uint64_t, std::uint32_t> latest;  // row by session
  for (std::size_t i = 0; i < rows; ++i) {
    const std::uint64_t session = trace.details[i].session;
    if (session == kNoSession) continue;
    const auto row = static_cast<std::uint32_t>(i);
    const auto [found, first] = latest.try_emplace(session, row);
    if (first) continue;
    previous[i] = found->second;
    found->second = row;
  }
  return previous;
}

std::vector<std::uint32_t> previous_in_session(const Trace& trace) {
  return previous_in_session(trace, trace.rows.size());
}

std::vector<std::uint32_t> next_in_session(const std::vector<std::uint32_t>& previous) {
  std::vector<std::uint32_t> next(previous.size(), kNoRow);
  for (std::size_t i = 0; i < previous.size(); ++i) {
    if (previous[i] != kNoRow) next[previous[i]] = static_cast<std::uint32_t>(i);
  }
  return next;
}

}  // namespace headroom
