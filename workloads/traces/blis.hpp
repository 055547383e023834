#pragma once
// TraceV2 of BLIS (https://github.com/inference-sim/inference-sim, sim/workload: tracev2.go at
// commit 0045b72, replay.go at 195cdff, fixed_accumulate.go at d76307e; TRACES.md 3.12): a table,
// and a YAML file with its metadata beside it (blis_header.hpp). Columns by name; all times in
// microseconds:
//   input_tokens,output_tokens,arrival_time_us                 needed
//   send_time_us             when the request was really sent: its arrival, as in `blis replay`; 0:
//                            not recorded, then arrival_time_us is
//   first_chunk_time_us,last_chunk_time_us,status              measured TTFT and E2E since the
//                            request was sent, where status is ok; 0: not recorded. In traces that
//                            BLIS made itself (mode generated, replayed) they are simulated.
//   prefix_group,prefix_length                                 the prompt begins with so many
//                            tokens that all rows of the group share; input_tokens follow them
//   server_input_tokens      the server's own count of the prompt, 0: not recorded; it replaces
//                            input_tokens, except in a prefix group
//   slo_class                the class; vllm_priority, the priority (smaller is served first)
//   session_id,round_index   in traces whose rounds accumulate (blis_header.hpp) the prompt of a
//                            later round is the prompt before, its answer, and input_tokens; after
//                            a compaction it is input_tokens_reset tokens that share nothing
//   think_time_us            from the answer before to this request
//   reason_ratio             part of the output that is thinking
// Other columns (tenant, deadlines, modalities, adapters, messages) are not used.

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "workloads/traces/csv_rows.hpp"
#include "workloads/traces/session_chain.hpp"
#include "workloads/traces/trace_reader.hpp"

namespace headroom {

[[nodiscard]] bool is_blis(const FileStart& start);

class BlisReader final : public TraceReader {
 public:
  explicit BlisReader(LineReader& lines);
  [[nodiscard]] bool next(TraceRecord& record) override;

 private:
  using Column = std::optional<CsvRows::Column>;
  struct Session {
    std::int64_t next_round = 0;
    SessionChain chain;
  };
  struct PromptParts {
    PrefixSegment shared;  // of the row's prefix group; no tokens: none
    std::int32_t added = 0;
  };

  void set_times(TraceRecord& record) const;
  [[nodiscard]] TimeNs since(TimeNs sent_ns, bool succeeded, const Column& column) const;
  [[nodiscard]] PromptParts prompt_parts() const;
  void set_prompt(TraceRecord& record) const;
  void set_accumulated_prompt(TraceRecord& record);
  void set_thinking(TraceRecord& record) const;
  [[nodiscard]] std::int32_t count(const Column& column) const;
  [[nodiscard]] TimeNs time(const Column& column) const;  // 0: not recorded

  CsvRows rows_;
  CsvRows::Column input_;
  CsvRows::Column output_;
  CsvRows::Column arrival_;
  Column send_;
  Column first_chunk_;
  Column last_chunk_;
  Column status_;
  Column group_;
  Column group_tokens_;
  Column server_input_;
  Column class_;
  Column priority_;
  Column session_;
  Column round_;
  Column reset_;
  Column think_;
  Column reason_ratio_;
  bool accumulates_;
  std::unordered_map<std::uint64_t, Session> sessions_;  // of a trace that accumulates
};

}  // namespace headroom
