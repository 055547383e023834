#pragma once
// WekaTrace: recorded sessions of coding agents (https://github.com/callanjfox/kv-cache-tester,
// docs/trace_replay_tester.md, read at commit 19c263bd;
// https://huggingface.co/datasets/semianalysisai cc-traces-weka-*; the schema as ai-dynamo/aiperf
// checks it, weka_trace models; TRACES.md 3.11). One JSON object per session, on one line:
//   id, block_size (64), hash_id_scope "local" (ids are private to the session; also where the key
//   is missing, as in older files) or "global", requests[]
// A request: type "n" or "s" (streamed), t (seconds since the start of the session), model (the
// class of the row), in, out, hash_ids (of the prompt's blocks; the last, partial block may have
// none), and where recorded think_time, api_time, ttft (seconds). An entry of type "subagent" holds
// requests of its own. Rows come in the order of the file, a subagent's in its place.
// Sessions have no common clock: they need an arrival process. Within a session a request is sent
// think_time after the answer to the row before it. The first request of a session and of each
// subagent, one that follows a subagent which was only launched (status "async_launched"), and one
// without think_time are sent at their own t: so subagents of one request run side by side, and the
// request after them waits for the last of them.
// A streamed and a plain request with the same prompt often stand in pairs; both are rows.

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_set>
#include <vector>

#include "workloads/traces/json_line.hpp"
#include "workloads/traces/trace_reader.hpp"

namespace headroom {

[[nodiscard]] bool is_weka(const FileStart& start);

class WekaReader final : public TraceReader {
 public:
  explicit WekaReader(LineReader& lines) : rows_(lines) {}
  [[nodiscard]] bool next(TraceRecord& record) override;
  [[nodiscard]] TraceClock clock() const override { return TraceClock::per_session; }

 private:
  struct Request {
    const JsonNode* node;  // of the session's row
    bool at_own_time;
  };

  [[nodiscard]] bool next_session();
  // Appends the requests below `parent`, a session or a subagent.
  void flatten(const JsonNode& parent);
  void read_prefix(const JsonNode& request, TraceRecord& record) const;
  [[nodiscard]] const JsonNode& need_array(const JsonNode& object, std::string_view key) const;

  JsonRows rows_;
  std::unordered_set<std::uint64_t> sessions_read_;
  std::uint64_t session_ = 0;
  bool ids_are_global_ = false;
  std::int32_t block_tokens_ = 0;
  std::vector<Request> requests_;  // of the session
  std::size_t at_ = 0;
};

}  // namespace headroom
