#include "workloads/traces/tracelab_csv.hpp"

#include <fmt/format.h>

#include "workloads/traces/identity.hpp"

namespace headroom {
namespace {

CsvRows::Column session_column(const CsvRows& rows) {
  const std::optional<CsvRows::Column> column = rows.find("session_id");
  return column ? *column : rows.need("id");
}

}  // namespace

bool is_tracelab_csv(const FileStart& start) {
  return csv_header_has(start.first_line, "round_idx") &&
         csv_header_has(start.first_line, "tool_wait_after_ms") &&
         csv_header_has(start.first_line, "prefix_len");
}

TraceLabCsvReader::TraceLabCsvReader(LineReader& lines)
    : rows_(lines),
      session_(session_column(rows_)),
      round_(rows_.need("round_idx")),
      kept_(rows_.need("prefix_len")),
      added_(rows_.need("input_len")),
      output_(rows_.need("output_len")),
      wait_(rows_.need("tool_wait_after_ms")),
      time_(rows_.find("arrival_time")) {}

TraceClock TraceLabCsvReader::clock() const {
  return time_ ? TraceClock::absolute : TraceClock::per_session;
}

bool TraceLabCsvReader::next(TraceRecord& record) {
  if (!rows_.next()) return false;
  const std::uint64_t id = session_of(rows_.text(session_));
  if (id == kNoSession) rows_.refuse(session_, "the session of the round");
  const std::int64_t round = rows_.count(round_);
  const auto [found, first] = sessions_.try_emplace(
      id, Session{.next_round = round, .wait_ns = 0, .chain = SessionChain(id)});
  Session& session = found->second;
  if (round != session.next_round) {
    rows_.refuse(round_, fmt::format("{}, the next round of its session", session.next_round));
  }
  ++session.next_round;
  record.session = id;
  set_time(first, session, record);
  session.wait_ns = rows_.optional_time(wait_, kNsPerMs).value_or(0);
  set_prompt(session.chain, record);
  return true;
}

void TraceLabCsvReader::set_time(bool first, const Session& session, TraceRecord& record) const {
  record.after_previous_ns = first ? -1 : session.wait_ns;
  const TimeNs session_ns = time_ ? rows_.time(*time_, kNsPerMs) : 0;
  record.time_ns = first ? session_ns : kNoTime;
}

void TraceLabCsvReader::set_prompt(SessionChain& chain, TraceRecord& record) const {
  const std::int32_t kept = rows_.count(kept_);
  const std::int32_t added = rows_.count(added_);
  if (kept > INT32_MAX - added) {
    rows_.refuse(kept_, fmt::format("at most {}, with input_len", INT32_MAX));
  }
  record.prompt_tokens = kept + added;
  record.output_tokens = rows_.count(output_);
  chain.prompt(kept, added);
  record.prefix = chain.segments();
  record.output_segment = chain.answer(record.output_tokens);
}

}  // namespace headroom
