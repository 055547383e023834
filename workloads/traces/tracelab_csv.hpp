#pragma once
// The table that TraceLab (https://github.com/uw-syfi/TraceLab, artifacts/trace_facts/csv_export;
// TRACES.md 3.11) makes of its recordings of coding agents, one row per round of a session:
//   id,input_len,output_len,arrival_time,round_idx,tool_wait_after_ms,prefix_len
// and the same without arrival_time, with session_id for id: then sessions need an arrival process.
// A prompt is prefix_len tokens of the context (all prompts and answers so far) and input_len new
// ones; a prefix_len below the context means that the context was cut there. What a prefix_len has
// beyond the context (as in a first round) is private to the session: other sessions' hits are not
// in the file. arrival_time: of the session, in milliseconds, in each of its rows and made up by
// the export; a later round is sent tool_wait_after_ms after the answer to the one before it.
// Rounds of a session stand in order; sessions may interleave.

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "workloads/traces/csv_rows.hpp"
#include "workloads/traces/session_chain.hpp"
#include "workloads/traces/trace_reader.hpp"

namespace headroom {

[[nodiscard]] bool is_tracelab_csv(const FileStart& start);

class TraceLabCsvReader final : public TraceReader {
 public:
  explicit TraceLabCsvReader(LineReader& lines);
  [[nodiscard]] bool next(TraceRecord& record) override;
  [[nodiscard]] TraceClock clock() const override;

 private:
  struct Session {
    std::int64_t next_round;
    TimeNs wait_ns;  // after its latest round
    SessionChain chain;
  };

  void set_time(bool first, const Session& session, TraceRecord& record) const;
  void set_prompt(SessionChain& chain, TraceRecord& record) const;

  CsvRows rows_;
  CsvRows::Column session_;
  CsvRows::Column round_;
  CsvRows::Column kept_;
  CsvRows::Column added_;
  CsvRows::Column output_;
  CsvRows::Column wait_;
  std::optional<CsvRows::Column> time_;
  std::unordered_map<std::uint64_t, Session> sessions_;
};

}  // namespace headroom
