#pragma once
// Synthetic traffic with classes, sessions, shared texts and clients that give up, open or closed
// loop (workloads/traffic_options.hpp).
//
// Sessions. Open loop: one starts at each instant of the arrival process. Closed loop: each user
// has one at a time; the next one starts a think time after the last turn of the one before left
// the system, whatever became of it. A session's turn k + 1 is sent a pause after its turn k was
// finished. When turn k was rejected, cancelled or lost the client goes away: the session ends
// early, and the totals say why. Several instants at one time: in order of session numbers. Users
// who think for no time and whose requests are rejected on the spot try again in the same
// nanosecond, without end.
//
// Numbers. Open loop: sessions count from 0 as they start. Closed loop: session n (from 0) of user
// u is number n * users + u: its content does not depend on which users started before it.
//
// Prompts. The session's system prompt, its document, then, with history, each turn's new text and
// the answer to it, in turn. An answer counts as many tokens as the arrival says; what an engine
// that has no declared max_tokens cuts further is not known here (such an engine would reject the
// next turn). Prompts have at most 2^31 - 1 tokens: what does not fit is cut off and counted; a
// session without room for another token of text ends early.
//
// Identities. Shared texts have one each; the new texts and answers of a session too, if a later
// prompt can repeat them (several turns, with history). The chain of turn k + 1 so begins with the
// chain and the answer of turn k.
//
// Draws. The class comes from the stream "classes" (one draw a session; none when there is one
// class). Sessions of a class that always has one turn, open loop, draw each variable from a named
// stream (workloads/variable_draws.hpp) and belong to no session (`Arrival::session` is
// kNoSession): changing one law changes nothing else. With one class, no shared texts and no
// patience they are the requests of SyntheticSource. All other sessions draw each variable at a
// fixed place of a stream of their own, keyed by their number ("sessions"), in a closed loop by
// user and n ("users"), the class too: what a session says in its turn k depends on nothing that
// happens in the system, and one user more changes what no other one says. All names stand behind
// `stream_prefix` and, where there are several classes, the class's name and a slash; "arrivals",
// "classes", "sessions" and "users" behind `stream_prefix` alone.
//
// Memory: sessions with turns to come or requests in flight, and one entry per request in flight.
// Time: O(log sessions that pause) a request.

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <unordered_map>
#include <vector>

#include "sim/kernel/random.hpp"
#include "sim/serving/workload_source.hpp"
#include "workloads/max_tokens.hpp"
#include "workloads/session_script.hpp"
#include "workloads/session_starts.hpp"
#include "workloads/traffic_options.hpp"
#include "workloads/variable_draws.hpp"

namespace headroom {

// Sessions started = completed + ended early + those with turns to come.
struct TrafficTotals {
  std::int64_t sessions_started = 0;
  std::int64_t sessions_completed = 0;  // sent their last turn
  // Ended early, with turns never sent:
  std::int64_t ended_rejected = 0;   // the turn before them was rejected,
  std::int64_t ended_cancelled = 0;  // its client gave up,
  std::int64_t ended_lost = 0;       // its engine died,
  std::int64_t ended_full = 0;       // the history left no room for a token,
  std::int64_t ended_by_limit = 0;   // end_ns or num_requests came before
  std::int64_t turns_dropped = 0;    // never sent, of all of these
  std::int64_t turns_sent = 0;       // requests
  std::int64_t think_pauses = 0;     // between turns; also those that num_requests cut short
  std::int64_t tool_pauses = 0;
  std::int64_t prompts_cut = 0;
  std::int64_t outputs_cut = 0;  // to max_tokens

  [[nodiscard]] std::int64_t ended_early() const {
    return ended_rejected + ended_cancelled + ended_lost + ended_full + ended_by_limit;
  }
};

class TrafficSource final : public WorkloadSource {
 public:
  TrafficSource(const TrafficOptions& options, std::uint64_t seed);  // ConfigError

  [[nodiscard]] TimeNs next_time() override;
  [[nodiscard]] Arrival take() override;
  void on_done(std::uint64_t index, Outcome outcome, TimeNs now_ns) override;

  [[nodiscard]] const TrafficTotals& totals() const { return totals_; }
  // Requests whose session waits for them, or whose prefix is in use.
  [[nodiscard]] std::size_t awaited_requests() const { return in_flight_.size(); }
  // Sessions (closed loop: users) in memory.
  [[nodiscard]] std::size_t live_sessions() const { return sessions_.size() - free_.size(); }

 private:
  using Slot = std::uint32_t;

  struct Class {
    std::int32_t class_id;
    std::int32_t priority;
    MaxTokens max_tokens;
    SessionScript script;
    std::optional<NamedStreams> streams;  // of sessions that have no stream of their own
  };

  struct Session {
    std::uint64_t number = 0;
    CounterStream stream;
    std::uint32_t class_index = 0;
    std::int32_t turns = 0;
    std::int32_t turn = 0;             // sent so far; 0: not begun
    std::int64_t before_tokens = 0;    // in front of the next turn's own text
    PrefixSegment answer;              // to the last turn
    std::vector<PrefixSegment> chain;  // of the last turn; unchanged while it is in flight
  };

  // A turn to come, or the start of a user's next session.
  struct Waiting {
    TimeNs time_ns = 0;
    std::uint64_t number = 0;  // of the session
    Slot slot = 0;
    friend constexpr auto operator<=>(const Waiting&, const Waiting&) = default;
  };

  [[nodiscard]] bool next_is_start() const;
  [[nodiscard]] Slot next_slot();
  void begin(Session& session);
  void begin_prompt(Session& session, const std::optional<PrefixSegment>& text);
  [[nodiscard]] std::uint32_t choose_class(const Session& session);
  [[nodiscard]] VariableDraws draws_of(Session& session);
  [[nodiscard]] Arrival send(Session& session, TimeNs time_ns);
  [[nodiscard]] std::int32_t add_text(Session& session, std::int32_t tokens, bool remembers,
                                      std::uint64_t id);
  void apply_limits();
  [[nodiscard]] bool continues(Slot slot, Outcome outcome, TimeNs now_ns);
  void end_session(Slot slot, TimeNs now_ns);
  void end_by_limit(const Session& session);
  [[nodiscard]] Slot new_slot();
  void release(Slot slot);
  [[nodiscard]] bool all_sent() const { return totals_.turns_sent == num_requests_; }
  [[nodiscard]] bool all_started() const { return totals_.sessions_started == num_sessions_; }

  SessionStarts starts_;
  CounterStream session_streams_;
  RandomStream class_stream_;
  std::vector<Class> classes_;
  std::vector<double> class_shares_;  // cumulative
  std::uint64_t users_ = 0;           // 0: open loop
  std::optional<DurationQuantile> user_pause_;
  std::int64_t num_requests_;
  std::int64_t num_sessions_;
  TimeNs end_ns_;

  std::vector<Session> sessions_;  // by slot
  std::vector<Slot> free_;
  std::priority_queue<Waiting, std::vector<Waiting>, std::greater<>> waiting_;
  std::unordered_map<std::uint64_t, Slot> in_flight_;  // by index of the request; never iterated
  TrafficTotals totals_;
};

}  // namespace headroom
