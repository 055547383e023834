#include "workloads/traces/mooncake_sessions.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "sim/kernel/errors.hpp"
#include "workloads/traces/decimal.hpp"
#include "workloads/traces/identity.hpp"
#include "workloads/traces/json_values.hpp"

namespace headroom {
namespace {

constexpr std::size_t kProbedBytes = std::size_t{1} << 16;  // so much of any file, of pipes too

constexpr std::string_view kAddedWithAnswers = "deltas_with_responses";
constexpr std::array<std::string_view, 4> kContextModes = {
    "deltas_without_responses", kAddedWithAnswers, "message_array_without_responses",
    "message_array_with_responses"};

const std::vector<std::int64_t>& ids_of(const JsonNode& row) {
  static const std::vector<std::int64_t> kNone;
  const JsonNode* ids = row.find("hash_ids");
  return ids == nullptr ? kNone : ids->integers;
}

// A malformed row ends it: reading the rows says what is wrong.
TurnVotes votes_in(std::string_view bytes) {
  TurnVotes votes;
  if (bytes.find("\"session_id\"") == std::string_view::npos) return votes;
  while (!bytes.empty()) {
    const std::size_t end = std::min(bytes.find('\n'), bytes.size());
    std::string_view line = bytes.substr(0, end);
    bytes.remove_prefix(std::min(end + 1, bytes.size()));
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    try {
      const JsonNode row = parse_json_node(line, "");
      const std::uint64_t session = session_of(text_of(row, "session_id"));
      const bool says_so = row.find("context_mode") != nullptr;
      if (session == kNoSession || says_so) continue;
      votes.add(session, parse_count(text_of(row, "input_length")).value_or(0), ids_of(row));
    } catch (const DataError&) {
      break;
    }
  }
  return votes;
}

}  // namespace

void TurnVotes::add(std::uint64_t session, std::int64_t prompt_tokens,
                    const std::vector<std::int64_t>& ids) {
  if (prompt_tokens == 0) return;  // a failed request, or a text
  const auto [found, is_first] = sessions_.try_emplace(session);
  Session& known = found->second;
  if (is_first) {
    if (!ids.empty()) known.first_id = ids.front();
    known.first_block_is_full = ids.size() > 1;
  } else {
    ++turns_;
    shorter_ += prompt_tokens < known.latest_tokens ? 1 : 0;
    if (known.first_id && !ids.empty()) {
      const bool same = ids.front() == *known.first_id;
      same_block_ += same ? 1 : 0;
      new_block_ += !same && known.first_block_is_full ? 1 : 0;
    }
  }
  known.latest_tokens = prompt_tokens;
}

std::optional<SessionInput> TurnVotes::result() const {
  constexpr std::int64_t kOneIn = 4;
  if (turns_ == 0) return std::nullopt;
  const bool blocks_tell = same_block_ + new_block_ > 0;
  const bool adds = blocks_tell ? new_block_ > same_block_ : shorter_ * kOneIn > turns_;
  return adds ? SessionInput::added : SessionInput::whole;
}

MooncakeSessions::MooncakeSessions(const FileStart& start, SessionInput wanted)
    : input_(wanted), wanted_(wanted != SessionInput::detect) {
  if (wanted_) return;
  const TurnVotes votes = votes_in(start.bytes.substr(0, kProbedBytes));
  input_ = votes.result().value_or(SessionInput::detect);
}

bool MooncakeSessions::take(const JsonRows& rows, TraceRecord& record) {
  record.output_segment = 0;
  if (record.session == kNoSession) return false;
  const auto [found, is_first] = sessions_.try_emplace(record.session, record.session);
  Session& session = found->second;
  if (is_first) read_mode(rows, session);
  const bool says_so = session.input != SessionInput::detect;
  if (!says_so && input_ == SessionInput::detect) {
    votes_.add(record.session, record.prompt_tokens, ids_of(rows.row()));
    input_ = votes_.result().value_or(SessionInput::detect);
  }
  const SessionInput input = says_so ? session.input : input_;
  if (!is_first) ++(input == SessionInput::added ? turns_.added : turns_.whole);
  // Not known yet: what a later turn may find is kept.
  if (input != SessionInput::whole) add_up(rows, session, record);
  return !is_first;
}

void MooncakeSessions::read_mode(const JsonRows& rows, Session& session) const {
  const JsonNode* mode = rows.row().find("context_mode");
  if (mode == nullptr || mode->kind == JsonNode::Kind::null) return;
  if (std::ranges::find(kContextModes, mode->text) == kContextModes.end()) {
    rows.refuse("context_mode", mode, fmt::format("one of {}", fmt::join(kContextModes, ", ")));
  }
  session.answers_are_stated = mode->text == kAddedWithAnswers;
  if (wanted_) return;
  session.input = mode->text.starts_with("deltas") ? SessionInput::added : SessionInput::whole;
}

void MooncakeSessions::add_up(const JsonRows& rows, Session& session, TraceRecord& record) {
  if (record.prompt_tokens == 0) return;  // not stated
  SessionChain& chain = session.chain;
  if (chain.tokens() > INT32_MAX - record.prompt_tokens) {
    rows.refuse("input_length", rows.row().find("input_length"),
                fmt::format("at most {}, with the session's turns before", INT32_MAX));
  }
  for (const PrefixSegment& block : record.prefix) chain.add(block);
  if (record.prefix.empty()) {
    chain.prompt(static_cast<std::int32_t>(chain.tokens()), record.prompt_tokens);
  }
  record.prompt_tokens = static_cast<std::int32_t>(chain.tokens());
  record.prefix = chain.segments();
  if (!session.answers_are_stated) record.output_segment = chain.answer(record.output_tokens);
}

}  // namespace headroom
