#include "workloads/traces/llmservingsim.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "workloads/traces/json_values.hpp"

namespace headroom {
namespace {

using Tokens = std::span<const std::int64_t>;

constexpr std::size_t kPieceTokens = 16;  // the block size of most engines

PrefixSegment piece_of(Tokens tokens) {
  std::uint64_t id = 0;
  for (const std::int64_t token : tokens) id = mixed_id(id, static_cast<std::uint64_t>(token));
  return {.id = id, .tokens = static_cast<std::int32_t>(tokens.size())};
}

void append_pieces(Tokens tokens, std::vector<PrefixSegment>& pieces) {
  while (!tokens.empty()) {
    const std::size_t count = std::min(tokens.size(), kPieceTokens);
    pieces.push_back(piece_of(tokens.first(count)));
    tokens = tokens.subspan(count);
  }
}

bool begins_with(Tokens tokens, Tokens start) {
  return tokens.size() >= start.size() && std::ranges::equal(tokens.first(start.size()), start);
}

// Token ids of a request that has `count` tokens.
Tokens token_ids(const JsonRows& rows, const JsonNode& request, std::string_view key,
                 std::int32_t count) {
  const std::vector<std::int64_t>& ids = identities(rows, request, key);
  if (ids.size() > static_cast<std::size_t>(count)) {
    refuse_ids(rows, key, ids.size(), fmt::format("at most one for each of the {} tokens", count));
  }
  return ids;
}

}  // namespace

bool is_llmservingsim(const FileStart& start) {
  return !first_json_key(start).empty() && json_mentions(start, "arrival_time_ns") &&
         (json_mentions(start, "input_toks") || json_mentions(start, "sub_requests"));
}

bool LlmServingSimReader::next(TraceRecord& record) {
  if (calls_ == nullptr || next_call_ == calls_->items.size()) {
    if (!rows_.next()) return false;
    calls_ = rows_.row().find("sub_requests");
    session_ = kNoSession;
    before_ = {};
    if (calls_ != nullptr) start_session();
  }
  if (calls_ != nullptr) {
    read_call(record);
    return true;
  }
  record.time_ns = rows_.need_time("arrival_time_ns", 1);
  record.session = kNoSession;
  record.after_previous_ns = -1;
  read_tokens(rows_.row(), record);
  return true;
}

void LlmServingSimReader::start_session() {
  const JsonNode& row = rows_.row();
  next_call_ = 0;
  session_ = session_of(rows_, row, "session_id");
  if (session_ == kNoSession) {
    rows_.refuse("session_id", row.find("session_id"), "a text or an integer >= 0");
  }
  const bool is_object =
      !calls_->items.empty() && std::ranges::all_of(calls_->items, [](const JsonNode& call) {
        return call.kind == JsonNode::Kind::object;
      });
  if (calls_->kind != JsonNode::Kind::array || !is_object) {
    rows_.refuse("sub_requests", calls_, "an array of one or more objects");
  }
}

void LlmServingSimReader::read_call(TraceRecord& record) {
  const JsonNode& call = calls_->items[next_call_];
  record.session = session_;
  if (next_call_ == 0) {
    record.time_ns = rows_.need_time("arrival_time_ns", 1);
    record.after_previous_ns = -1;
  } else {
    record.time_ns = kNoTime;
    record.after_previous_ns = tool_ns_;
  }
  tool_ns_ = rows_.time(call, "tool_duration_ns", 1).value_or(0);
  ++next_call_;
  read_tokens(call, record);
}

void LlmServingSimReader::read_tokens(const JsonNode& request, TraceRecord& record) {
  record.prompt_tokens = need_count(rows_, request, "input_toks");
  record.output_tokens = need_count(rows_, request, "output_toks");
  const Tokens prompt = token_ids(rows_, request, "input_tok_ids", record.prompt_tokens);
  const Tokens answer = token_ids(rows_, request, "output_tok_ids", record.output_tokens);

  const bool continues = begins_with(prompt, before_.tokens);
  record.prefix.clear();
  if (continues) record.prefix = before_.pieces;
  append_pieces(prompt.subspan(continues ? before_.tokens.size() : 0), record.prefix);

  // An answer is a piece only behind a prompt that is known to its end.
  record.output_segment = 0;
  const bool known = static_cast<std::int32_t>(prompt.size()) == record.prompt_tokens &&
                     static_cast<std::int32_t>(answer.size()) == record.output_tokens;
  before_ = {};
  if (!known || answer.empty()) return;
  const PrefixSegment piece = piece_of(answer);
  record.output_segment = piece.id;
  if (session_ == kNoSession) return;
  before_.tokens.assign(prompt.begin(), prompt.end());
  before_.tokens.insert(before_.tokens.end(), answer.begin(), answer.end());
  before_.pieces = record.prefix;
  before_.pieces.push_back(piece);
}

}  // namespace headroom
