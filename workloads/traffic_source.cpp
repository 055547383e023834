#include "workloads/traffic_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <type_traits>

#include "sim/kernel/check.hpp"
#include "sim/kernel/errors.hpp"

namespace headroom {
namespace {

constexpr std::int64_t kMaxPromptTokens = INT32_MAX;
constexpr std::int32_t kMaxClassId = 254;
constexpr double kMaxShare = 1e9;

std::string scope_of(const TrafficOptions& options, const TrafficClass& traffic_class) {
  if (options.classes.size() == 1) return options.stream_prefix;
  return fmt::format("{}{}/", options.stream_prefix, traffic_class.name);
}

void check_classes(const std::vector<TrafficClass>& classes) {
  if (classes.empty()) throw ConfigError("classes: none; allowed: one or more");
  std::set<std::string> names;
  for (const TrafficClass& traffic_class : classes) {
    const std::string& name = traffic_class.name;
    if (classes.size() > 1 && name.empty()) {
      throw ConfigError("classes: one has no name; with several classes each needs a name");
    }
    if (!names.insert(name).second) {
      throw ConfigError(fmt::format("classes: two are named '{}'", name));
    }
    if (traffic_class.class_id < 0 || traffic_class.class_id > kMaxClassId) {
      throw ConfigError(fmt::format("classes: class_id of '{}' is {}; allowed: 0 .. {}", name,
                                    traffic_class.class_id, kMaxClassId));
    }
    if (!(traffic_class.share > 0.0 && traffic_class.share <= kMaxShare)) {
      throw ConfigError(fmt::format("classes: share of '{}' is {}; allowed: above 0, at most {}",
                                    name, traffic_class.share, kMaxShare));
    }
  }
}

const TrafficOptions& checked(const TrafficOptions& options) {
  check_classes(options.classes);
  return options;
}

std::string session_streams(const TrafficOptions& options) {
  return fmt::format("{}{}", options.stream_prefix, options.closed_loop ? "users" : "sessions");
}

}  // namespace

TrafficSource::TrafficSource(const TrafficOptions& options, std::uint64_t seed)
    : starts_(checked(options), seed),
      session_streams_(seed, session_streams(options)),
      class_stream_(seed, fmt::format("{}classes", options.stream_prefix)),
      num_requests_(options.num_requests.value_or(INT64_MAX)),
      num_sessions_(options.num_sessions.value_or(INT64_MAX)),
      end_ns_(options.end_ns) {
  if (options.closed_loop) {
    users_ = static_cast<std::uint64_t>(options.closed_loop->users);
    user_pause_.emplace(options.closed_loop->think_time, "closed_loop/think_time");
  }
  double shares = 0.0;
  for (const TrafficClass& traffic_class : options.classes) {
    const MaxTokens max_tokens(traffic_class.max_tokens.value_or(options.max_tokens));
    max_tokens.check_class(traffic_class.class_id);
    const std::string scope = scope_of(options, traffic_class);
    classes_.push_back({.class_id = traffic_class.class_id,
                        .priority = traffic_class.priority,
                        .max_tokens = max_tokens,
                        .script = SessionScript(traffic_class, seed, scope),
                        .streams = std::nullopt});
    Class& added = classes_.back();
    if (users_ == 0 && added.script.always_one_turn()) added.streams.emplace(seed, scope);
    shares += traffic_class.share;
    class_shares_.push_back(shares);
  }
}

bool TrafficSource::next_is_start() const {
  if (waiting_.empty()) return true;
  const Waiting& first = waiting_.top();
  if (starts_.next_ns() != first.time_ns) return starts_.next_ns() < first.time_ns;
  return starts_.next_number() < first.number;
}

TimeNs TrafficSource::next_time() {
  return next_is_start() ? starts_.next_ns() : waiting_.top().time_ns;
}

TrafficSource::Slot TrafficSource::next_slot() {
  if (!next_is_start()) {
    const Slot slot = waiting_.top().slot;
    waiting_.pop();
    return slot;
  }
  const Slot slot = new_slot();
  sessions_[slot].number = starts_.next_number();
  starts_.advance();
  return slot;
}

Arrival TrafficSource::take() {
  const TimeNs time_ns = next_time();
  HEADROOM_CHECK(time_ns != kNever, "request taken from a workload that has ended");
  const Slot slot = next_slot();
  Session& session = sessions_[slot];
  const bool begins = session.turn == 0;
  if (begins) begin(session);
  const Arrival arrival = send(session, time_ns);
  const auto index = static_cast<std::uint64_t>(totals_.turns_sent++);
  if (session.turn == session.turns) ++totals_.sessions_completed;
  if (users_ > 0 || session.turn < session.turns || !session.chain.empty()) {
    in_flight_.emplace(index, slot);
  } else {
    release(slot);
  }
  if (all_sent() || (begins && all_started())) apply_limits();
  return arrival;
}

void TrafficSource::begin(Session& session) {
  ++totals_.sessions_started;
  session.stream = users_ > 0
                       ? session_streams_.of(session.number % users_).of(session.number / users_)
                       : session_streams_.of(session.number);
  session.class_index = choose_class(session);
  const SessionScript& script = classes_[session.class_index].script;
  const VariableDraws draws = draws_of(session);
  session.turns = script.turns(draws);
  session.before_tokens = 0;
  begin_prompt(session, script.system_prompt(draws));
  begin_prompt(session, script.document(draws));
}

// Leaves room for one token of text.
void TrafficSource::begin_prompt(Session& session, const std::optional<PrefixSegment>& text) {
  if (!text) return;
  const std::int64_t room = kMaxPromptTokens - 1 - session.before_tokens;
  const std::int64_t tokens = std::min<std::int64_t>(text->tokens, room);
  if (tokens < text->tokens) ++totals_.prompts_cut;
  if (tokens == 0) return;
  session.chain.push_back({.id = text->id, .tokens = static_cast<std::int32_t>(tokens)});
  session.before_tokens += tokens;
}

std::uint32_t TrafficSource::choose_class(const Session& session) {
  if (classes_.size() == 1) return 0;
  const VariableDraws own(session.stream, 0);
  const std::uint64_t bits = users_ > 0 ? own.bits(Variable::session_class) : class_stream_.bits();
  const double place = uniform_of(bits) * class_shares_.back();
  const auto found = std::upper_bound(class_shares_.begin(), class_shares_.end() - 1, place);
  return static_cast<std::uint32_t>(found - class_shares_.begin());
}

VariableDraws TrafficSource::draws_of(Session& session) {
  std::optional<NamedStreams>& streams = classes_[session.class_index].streams;
  return streams ? VariableDraws(*streams) : VariableDraws(session.stream, session.turn);
}

Arrival TrafficSource::send(Session& session, TimeNs time_ns) {
  ++session.turn;
  Class& of_class = classes_[session.class_index];
  const VariableDraws draws = draws_of(session);
  const TurnScript turn = of_class.script.turn(draws);
  const bool remembers = session.turns > 1 && of_class.script.keeps_history();
  const std::uint64_t text_id = remembers ? draws.bits(Variable::text_id) : 0;
  const std::uint64_t answer_id = remembers ? draws.bits(Variable::answer_id) : 0;
  const std::int32_t prompt_tokens = add_text(session, turn.text_tokens, remembers, text_id);
  Arrival arrival{.time_ns = time_ns,
                  .prompt_tokens = prompt_tokens,
                  .output_tokens = turn.output_tokens,
                  .max_tokens = 0,
                  .class_id = of_class.class_id,
                  .priority = of_class.priority,
                  .session = of_class.streams ? kNoSession : session.number,
                  .prefix = session.chain,
                  .output_segment = answer_id};
  of_class.max_tokens.apply(arrival);
  totals_.outputs_cut += arrival.output_tokens < turn.output_tokens ? 1 : 0;
  arrival.first_token_deadline_ns = instant_after(time_ns, turn.first_token_patience_ns);
  arrival.deadline_ns = instant_after(time_ns, turn.answer_patience_ns);
  if (remembers) {
    session.answer = {.id = answer_id, .tokens = arrival.output_tokens};
    session.before_tokens =
        std::int64_t{arrival.prompt_tokens} + std::int64_t{arrival.output_tokens};
  }
  return arrival;
}

// Returns the tokens of the whole prompt.
std::int32_t TrafficSource::add_text(Session& session, std::int32_t tokens, bool remembers,
                                     std::uint64_t id) {
  const std::int64_t room = kMaxPromptTokens - session.before_tokens;
  HEADROOM_CHECK(room >= 1, "a turn without room for its text");
  if (tokens > room) ++totals_.prompts_cut;
  const std::int64_t text = std::min<std::int64_t>(tokens, room);
  if (remembers) {
    if (session.turn > 1) session.chain.push_back(session.answer);
    session.chain.push_back({.id = id, .tokens = static_cast<std::int32_t>(text)});
  }
  return static_cast<std::int32_t>(session.before_tokens + text);
}

// Of what waits, drops the starts once all sessions have started, and everything once all requests
// have been sent.
void TrafficSource::apply_limits() {
  starts_.stop();
  std::vector<Waiting> stays;
  for (; !waiting_.empty(); waiting_.pop()) {
    const Waiting& first = waiting_.top();
    const Session& session = sessions_[first.slot];
    if (session.turn > 0 && !all_sent()) {
      stays.push_back(first);
      continue;
    }
    if (session.turn > 0) end_by_limit(session);
    release(first.slot);
  }
  for (const Waiting& one : stays) waiting_.push(one);
}

void TrafficSource::on_done(std::uint64_t index, Outcome outcome, TimeNs now_ns) {
  HEADROOM_CHECK(
      index < static_cast<std::uint64_t>(totals_.turns_sent) && outcome != Outcome::unfinished,
      fmt::format("request {} of {} leaves", index, totals_.turns_sent));
  const auto found = in_flight_.find(index);
  if (found == in_flight_.end()) return;
  const Slot slot = found->second;
  in_flight_.erase(found);
  if (!continues(slot, outcome, now_ns)) end_session(slot, now_ns);
}

bool TrafficSource::continues(Slot slot, Outcome outcome, TimeNs now_ns) {
  Session& session = sessions_[slot];
  const std::int64_t to_come = session.turns - session.turn;
  if (to_come == 0) return false;
  const bool full = session.before_tokens >= kMaxPromptTokens;
  if (outcome == Outcome::finished && !full) {
    const Pause pause = classes_[session.class_index].script.pause(draws_of(session));
    const TimeNs time_ns = instant_after(now_ns, pause.duration_ns);
    if (time_ns >= end_ns_ || all_sent()) {
      end_by_limit(session);
      return false;
    }
    ++(pause.is_tool ? totals_.tool_pauses : totals_.think_pauses);
    waiting_.push({.time_ns = time_ns, .number = session.number, .slot = slot});
    return true;
  }
  totals_.turns_dropped += to_come;
  switch (outcome) {
    case Outcome::finished: ++totals_.ended_full; break;
    case Outcome::rejected: ++totals_.ended_rejected; break;
    case Outcome::cancelled: ++totals_.ended_cancelled; break;
    case Outcome::lost_to_oom:
    case Outcome::lost_to_fault: ++totals_.ended_lost; break;
    case Outcome::unfinished: break;
  }
  return false;
}

// In a closed loop the user's next session takes the slot over.
void TrafficSource::end_session(Slot slot, TimeNs now_ns) {
  if (users_ == 0 || all_sent() || all_started()) return release(slot);
  Session& session = sessions_[slot];
  const VariableDraws draws(session.stream, 0);
  const TimeNs time_ns = instant_after(now_ns, (*user_pause_)(draws.bits(Variable::user_pause)));
  if (time_ns >= end_ns_) return release(slot);
  session.number += users_;
  session.turn = 0;
  session.chain.clear();
  waiting_.push({.time_ns = time_ns, .number = session.number, .slot = slot});
}

void TrafficSource::end_by_limit(const Session& session) {
  ++totals_.ended_by_limit;
  totals_.turns_dropped += session.turns - session.turn;
}

TrafficSource::Slot TrafficSource::new_slot() {
  // Moved when there are more of them, never copied: prefixes in use stay where they are.
  static_assert(std::is_nothrow_move_constructible_v<Session>);
  if (free_.empty()) {
    sessions_.emplace_back();
    return static_cast<Slot>(sessions_.size() - 1);
  }
  const Slot slot = free_.back();
  free_.pop_back();
  return slot;
}

void TrafficSource::release(Slot slot) {
  Session& session = sessions_[slot];
  session.turn = 0;
  session.chain.clear();
  free_.push_back(slot);
}

}  // namespace headroom
