#include "workloads/session_script.hpp"

#include <fmt/format.h>

#include <string>

#include "sim/kernel/errors.hpp"

namespace headroom {
namespace {

constexpr SharedTextNames kSystemNames{
    .option = "system_prompts", .lengths = "lengths/system", .identities = "identities/system"};
constexpr SharedTextNames kDocumentNames{
    .option = "documents", .lengths = "lengths/document", .identities = "identities/document"};

std::string name_of(std::string_view scope, std::string_view name) {
  return fmt::format("{}{}", scope, name);
}

double checked_share(double share, std::string_view scope) {
  if (share >= 0.0 && share <= 1.0) return share;
  throw ConfigError(fmt::format("{}sessions/tool_share is {}; allowed: 0 .. 1", scope, share));
}

std::optional<DurationQuantile> quantile(const std::optional<DurationOptions>& options,
                                         std::string_view scope, std::string_view name) {
  if (!options) return std::nullopt;
  return DurationQuantile(*options, name_of(scope, name));
}

}  // namespace

SessionScript::SessionScript(const TrafficClass& options, std::uint64_t seed,
                             std::string_view scope)
    : lengths_(options.prompt, options.output,
               {.correlation = options.length_correlation, .joint = options.joint_lengths}, scope),
      system_prompts_(options.system_prompts, kSystemNames, seed, scope),
      documents_(options.documents, kDocumentNames, seed, scope),
      turns_(length_quantile(options.sessions.turns, name_of(scope, "sessions/turns"))),
      always_one_turn_(options.sessions.turns.law == LengthLaw::fixed &&
                       options.sessions.turns.tokens == 1),
      keeps_history_(options.sessions.keeps_history),
      tool_share_(checked_share(options.sessions.tool_share, scope)),
      think_time_(options.sessions.think_time, name_of(scope, "sessions/think_time")),
      tool_time_(options.sessions.tool_time, name_of(scope, "sessions/tool_time")),
      first_token_patience_(quantile(options.patience.first_token, scope, "patience/first_token")),
      answer_patience_(quantile(options.patience.answer, scope, "patience/answer")) {}

std::int32_t SessionScript::turns(const VariableDraws& draws) const {
  return always_one_turn_ ? 1 : length_at(turns_, draws.bits(Variable::turns));
}

std::optional<PrefixSegment> SessionScript::system_prompt(const VariableDraws& draws) const {
  if (!system_prompts_.any()) return std::nullopt;
  const std::uint64_t share = draws.bits(Variable::system_share);
  const std::uint64_t item = draws.bits(Variable::system_item);
  return system_prompts_.choose(share, item);
}

std::optional<PrefixSegment> SessionScript::document(const VariableDraws& draws) const {
  if (!documents_.any()) return std::nullopt;
  const std::uint64_t share = draws.bits(Variable::document_share);
  const std::uint64_t item = draws.bits(Variable::document_item);
  return documents_.choose(share, item);
}

TurnScript SessionScript::turn(const VariableDraws& draws) const {
  const std::uint64_t prompt = draws.bits(Variable::prompt);
  const std::uint64_t output = draws.bits(Variable::output);
  TurnScript turn{.text_tokens = lengths_.prompt(prompt),
                  .output_tokens = lengths_.output(prompt, output)};
  if (first_token_patience_) {
    const std::uint64_t patience = draws.bits(Variable::first_token_patience);
    turn.first_token_patience_ns = (*first_token_patience_)(patience);
  }
  if (answer_patience_) {
    const std::uint64_t patience = draws.bits(Variable::answer_patience);
    turn.answer_patience_ns = (*answer_patience_)(patience);
  }
  return turn;
}

Pause SessionScript::pause(const VariableDraws& draws) const {
  const std::uint64_t kind = draws.bits(Variable::pause_kind);
  const std::uint64_t duration = draws.bits(Variable::pause);
  const bool is_tool = uniform_of(kind) < tool_share_;
  return {.duration_ns = is_tool ? tool_time_(duration) : think_time_(duration),
          .is_tool = is_tool};
}

}  // namespace headroom
