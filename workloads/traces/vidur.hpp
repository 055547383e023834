#pragma once
// Traces of Vidur (https://github.com/microsoft/vidur, data/processed_traces), Sarathi-Serve and
// Frontier (https://github.com/NetX-lab/Frontier); TRACES.md 3.6 and 3.9. Columns by name:
//   arrived_at,num_prefill_tokens,num_decode_tokens     seconds; prompt; output
// Without arrived_at (num_prefill_tokens,num_decode_tokens,num_total_tokens,pd_ratio) a file states
// lengths only: its requests need an arrival process. Optional columns:
//   session_id                  a session; its rows keep their own times
//   priority                    smaller is served first
//   cohort                      the class
//   block_hash_ids              identities of the prompt's blocks, each for all up to and including
//                               it: 11|22, "[11,22]" or "11,22"
//   block_size                  tokens of a block; 16, the default of both programs, without it
//   thinking_round_plans_json   rounds that the request consists of, the last one as in the row
//   thinking_depth              their number
//   tool_call_latency           seconds between two rounds; 0.001 without it
// A row with n rounds becomes n requests of one session. Ids beyond the prompt (Vidur's go on into
// the answer) are not used. Both programs cut prompts to their own max_tokens and raise zero counts
// to 1 when they load a file; here counts stand as they are. num_prefill_tokens is the whole
// prompt: files for Frontier's session key mode, which state the new tokens of a turn only, look
// the same and cannot be told apart.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "workloads/traces/csv_rows.hpp"
#include "workloads/traces/trace_reader.hpp"

namespace headroom {

[[nodiscard]] bool is_vidur(const FileStart& start);

class VidurReader final : public TraceReader {
 public:
  explicit VidurReader(LineReader& lines);
  [[nodiscard]] bool next(TraceRecord& record) override;
  [[nodiscard]] TraceClock clock() const override;

 private:
  struct Round {
    std::int32_t prompt_tokens = 0;
    std::int32_t output_tokens = 0;
    friend bool operator==(const Round&, const Round&) = default;
  };

  void read_row();
  void read_rounds();
  void add_planned_rounds();
  void read_blocks();
  void set_round(TraceRecord& record);
  [[nodiscard]] std::int32_t priority() const;

  LineReader& lines_;
  CsvRows rows_;
  CsvRows::Column prompt_;
  CsvRows::Column output_;
  std::optional<CsvRows::Column> time_;
  std::optional<CsvRows::Column> session_;
  std::optional<CsvRows::Column> priority_;
  std::optional<CsvRows::Column> cohort_;
  std::optional<CsvRows::Column> blocks_;
  std::optional<CsvRows::Column> block_size_;
  std::optional<CsvRows::Column> plans_;
  std::optional<CsvRows::Column> depth_;
  std::optional<CsvRows::Column> latency_;

  // Of the row that is handed out, round by round.
  std::vector<Round> rounds_;
  std::size_t next_round_ = 0;
  std::uint64_t session_id_ = 0;
  TimeNs between_rounds_ns_ = 0;
  std::vector<std::uint64_t> ids_;
  std::int32_t block_tokens_ = 0;
};

}  // namespace headroom
