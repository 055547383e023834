#pragma once
// What the later turns of a session state in a Mooncake file: the whole prompt, as Dynamo writes
// it, or only what the turn adds to the turns and answers before it, as AIPerf writes and reads it
// (docs/reference/conversation-context-mode.md and src/aiperf/dataset/agentic_code_gen/writer.py of
// https://github.com/ai-dynamo/aiperf, read at commits 0109a64e and b26a1814).
//
// A session whose first row has a context_mode says so itself. The others of a file are alike, and
// the later turns in the first 64 KiB tell which it is:
//   1. hash_ids: a whole prompt begins with the block that the session's first prompt begins with.
//      Another first block counts only where that of the first prompt was full.
//   2. without any such block, lengths: where more than one later turn in four is shorter than the
//      turn before it, turns state what they add; a whole prompt shrinks only when it is compacted.
// Without a later turn there, the first one further on tells it.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "workloads/traces/json_line.hpp"
#include "workloads/traces/session_chain.hpp"
#include "workloads/traces/trace_reader.hpp"

namespace headroom {

// What the later turns of a file speak for.
class TurnVotes {
 public:
  void add(std::uint64_t session, std::int64_t prompt_tokens, const std::vector<std::int64_t>& ids);
  // Nothing before the first later turn.
  [[nodiscard]] std::optional<SessionInput> result() const;

 private:
  struct Session {
    std::optional<std::int64_t> first_id;
    bool first_block_is_full = false;
    std::int64_t latest_tokens = 0;
  };

  std::unordered_map<std::uint64_t, Session> sessions_;
  std::int64_t turns_ = 0;
  std::int64_t shorter_ = 0;     // than the turn before
  std::int64_t same_block_ = 0;  // as the session's first prompt begins with
  std::int64_t new_block_ = 0;
};

class MooncakeSessions {
 public:
  // `wanted`: unless it is `detect`, that of all sessions, whatever the file says.
  MooncakeSessions(const FileStart& start, SessionInput wanted);

  // Takes the tokens and blocks of the row as it states them; where turns state what they add, the
  // session's turns and answers before go in front. Whether the row is a later turn of a session.
  [[nodiscard]] bool take(const JsonRows& rows, TraceRecord& record);
  [[nodiscard]] const SessionTurns& turns() const { return turns_; }

 private:
  struct Session {
    explicit Session(std::uint64_t id) : chain(id) {}
    SessionChain chain;
    SessionInput input = SessionInput::detect;
    bool answers_are_stated = false;  // by the later turns: AIPerf's deltas_with_responses
  };

  void read_mode(const JsonRows& rows, Session& session) const;
  static void add_up(const JsonRows& rows, Session& session, TraceRecord& record);

  SessionInput input_;  // of sessions that do not say; `detect`: not known yet
  bool wanted_;
  TurnVotes votes_;
  std::unordered_map<std::uint64_t, Session> sessions_;
  SessionTurns turns_;
};

}  // namespace headroom
