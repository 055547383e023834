#pragma once
// Mooncake traces (https://github.com/kvcache-ai/Mooncake, FAST25-release; TRACES.md 3.3), the
// `timed_trace` files of vLLM's benchmark, and what AIPerf and Dynamo add to them: one JSON object
// a line with timestamp (ms, a decimal), input_length, output_length, hash_ids (one id for each
// block of the prompt, the last block maybe in part; the same id is the same text behind the same
// blocks).
//
// The block size is not in the file: 512 tokens in Mooncake's own, 16 by default in vLLM's. The
// first row of two or more ids tells it (at most one of the sizes of `kMooncakeBlocks` fits); a row
// that does not fit into it is refused. AIPerf's keys: session_id, and delay (Dynamo also:
// delay_ms) in ms: a later row of a session without a timestamp is sent so long after the answer to
// the session's row before it; next to a timestamp it is not used. A file without any timestamp has
// no clock. Rows with text_input or messages in place of input_length have no count of prompt
// tokens: 0, as there is no tokenizer here.
// What the later turns of a session state: mooncake_sessions.hpp.

#include <array>
#include <cstdint>

#include "workloads/traces/json_line.hpp"
#include "workloads/traces/mooncake_sessions.hpp"
#include "workloads/traces/trace_reader.hpp"

namespace headroom {

// Block sizes that are looked for, in tokens.
inline constexpr std::array<std::int32_t, 7> kMooncakeBlocks = {512, 16, 64, 128, 256, 1024, 32};

[[nodiscard]] bool is_mooncake(const FileStart& start);

class MooncakeReader final : public TraceReader {
 public:
  MooncakeReader(LineReader& lines, SessionInput input);
  [[nodiscard]] bool next(TraceRecord& record) override;
  [[nodiscard]] TraceClock clock() const override { return clock_; }
  [[nodiscard]] const SessionTurns* session_turns() const override { return &sessions_.turns(); }

 private:
  void read_tokens(TraceRecord& record);
  void read_prefix(TraceRecord& record);
  void find_block_size(std::size_t ids, std::int32_t tokens);
  void read_time(bool is_later_turn, TraceRecord& record);

  JsonRows rows_;
  TraceClock clock_;
  std::int32_t block_tokens_ = 0;    // 0: no row told it yet
  std::int32_t longest_single_ = 0;  // tokens of the longest prompt with one id until then
  MooncakeSessions sessions_;
};

}  // namespace headroom
