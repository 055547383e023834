#pragma once
// Where the variables of a session are drawn: each from a named stream of its own, or each at a
// fixed place of the session's own stream. Either way no variable's draws depend on how many draws
// another one makes.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "sim/kernel/random.hpp"
#include "workloads/counter_stream.hpp"

namespace headroom {

// What is drawn of a session (turn 0) and of each of its turns (from 1). A value is a place in
// sessions' streams: values stay when others are added.
enum class Variable : std::uint8_t {
  session_class = 0,
  turns = 1,
  system_share = 2,
  system_item = 3,
  document_share = 4,
  document_item = 5,
  user_pause = 6,  // behind the session
  prompt = 7,
  output = 8,
  first_token_patience = 9,
  answer_patience = 10,
  pause_kind = 11,  // behind the turn
  pause = 12,
  text_id = 13,
  answer_id = 14
};

// Streams of the variables of sessions of one turn, behind `scope`: "lengths/prompt",
// "lengths/output", "prefix/system", "prefix/document" (two draws a session each),
// "patience/first_token", "patience/answer".
class NamedStreams {
 public:
  NamedStreams(std::uint64_t seed, std::string_view scope);

  [[nodiscard]] std::uint64_t bits(Variable variable);

 private:
  std::array<RandomStream, 6> streams_;
};

// The draws of one turn, or of what a session has once (turn 0).
class VariableDraws {
 public:
  explicit VariableDraws(NamedStreams& streams) : streams_(&streams) {}
  VariableDraws(const CounterStream& session, std::int32_t turn)
      : session_(session), first_place_(static_cast<std::uint64_t>(turn) * kPlaces) {}

  // 64 uniform bits. Each variable once a turn.
  [[nodiscard]] std::uint64_t bits(Variable variable) const {
    if (streams_ != nullptr) return streams_->bits(variable);
    return session_.bits(first_place_ + static_cast<std::uint64_t>(variable));
  }

 private:
  static constexpr std::uint64_t kPlaces = 16;  // a turn

  NamedStreams* streams_ = nullptr;
  CounterStream session_;
  std::uint64_t first_place_ = 0;
};

}  // namespace headroom
