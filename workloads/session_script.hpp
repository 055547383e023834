#pragma once
// The laws of one traffic class: what its sessions say, expect and pause, given their draws.

#include <cstdint>
#include <optional>
#include <string_view>

#include "sim/kernel/time.hpp"
#include "workloads/duration_law.hpp"
#include "workloads/length_pair.hpp"
#include "workloads/shared_texts.hpp"
#include "workloads/traffic_options.hpp"
#include "workloads/variable_draws.hpp"

namespace headroom {

struct TurnScript {
  std::int32_t text_tokens = 1;  // new text of the prompt
  std::int32_t output_tokens = 1;
  TimeNs first_token_patience_ns = kNever;  // after it was sent
  TimeNs answer_patience_ns = kNever;
};

struct Pause {
  TimeNs duration_ns = 0;
  bool is_tool = false;  // else the user thinks
};

class SessionScript {
 public:
  // `scope` stands before the names of options and streams in errors and of the shared texts'
  // streams. ConfigError.
  SessionScript(const TrafficClass& options, std::uint64_t seed, std::string_view scope);

  [[nodiscard]] bool always_one_turn() const { return always_one_turn_; }
  [[nodiscard]] bool keeps_history() const { return keeps_history_; }

  // Once a session.
  [[nodiscard]] std::int32_t turns(const VariableDraws& draws) const;
  [[nodiscard]] std::optional<PrefixSegment> system_prompt(const VariableDraws& draws) const;
  [[nodiscard]] std::optional<PrefixSegment> document(const VariableDraws& draws) const;
  // Once a turn.
  [[nodiscard]] TurnScript turn(const VariableDraws& draws) const;
  // After it.
  [[nodiscard]] Pause pause(const VariableDraws& draws) const;

 private:
  LengthPair lengths_;
  SharedTexts system_prompts_;
  SharedTexts documents_;
  LengthQuantile turns_;
  bool always_one_turn_;
  bool keeps_history_;
  double tool_share_;
  DurationQuantile think_time_;
  DurationQuantile tool_time_;
  std::optional<DurationQuantile> first_token_patience_;
  std::optional<DurationQuantile> answer_patience_;
};

}  // namespace headroom
