#include "workloads/traces/ragpulse.hpp"

#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <optional>

#include "sim/kernel/errors.hpp"
#include "sim/kernel/folders.hpp"
#include "workloads/traces/json_values.hpp"

namespace headroom {
namespace {

struct ChunkKind {
  std::string_view file;    // beside the trace, without its ending
  std::string_view id_key;  // in that file
};
constexpr std::array<ChunkKind, 5> kChunkKinds = {{{"1_sys_prompt", "sys_prompt_id"},
                                                   {"2_passages", "passage_id"},
                                                   {"3_history", "history_id"},
                                                   {"4_user_input", "user_input_id"},
                                                   {"5_web_search", "web_search_id"}}};

// In their order in a prompt.
constexpr std::array<std::string_view, 5> kPromptOrder = {"sys_prompt", "passages_ids", "history",
                                                          "web_search", "user_input"};

std::string chunk_file(const std::string& trace, std::string_view name) {
  const std::filesystem::path folder = std::filesystem::path(trace).parent_path();
  const std::string path = (folder / fmt::format("{}.jsonl", name)).string();
  for (const std::string& candidate : {path, path + ".gz"}) {
    if (is_there(candidate)) return candidate;
  }
  throw DataError(fmt::format(
      "{}: no such file, nor with .gz; it has the lengths of the chunks in {}", path, trace));
}

}  // namespace

bool is_ragpulse(const FileStart& start) {
  return !first_json_key(start).empty() && json_mentions(start, "hash_ids") &&
         json_mentions(start, "sys_prompt") && json_mentions(start, "input_length");
}

RagPulseReader::RagPulseReader(LineReader& lines) : rows_(lines) {
  for (const ChunkKind& kind : kChunkKinds) {
    read_lengths(chunk_file(lines.path(), kind.file), kind.id_key);
  }
}

void RagPulseReader::read_lengths(const std::string& path, std::string_view id_key) {
  LineReader lines(path);
  JsonRows rows(lines);
  while (rows.next()) {
    const std::optional<std::int64_t> id = rows.integer(rows.row(), id_key);
    if (!id || *id < 0) rows.refuse(id_key, rows.row().find(id_key), "an integer >= 0");
    const std::int32_t tokens = need_count(rows, rows.row(), "token_length");
    const auto [known, is_new] = chunk_tokens_.try_emplace(*id, tokens);
    if (!is_new && known->second != tokens) {
      rows.refuse("token_length", rows.row().find("token_length"),
                  fmt::format("{}, as chunk {} has before", known->second, *id));
    }
  }
}

bool RagPulseReader::next(TraceRecord& record) {
  if (!rows_.next()) return false;
  record.time_ns = rows_.need_time("timestamp", kNsPerSecond);
  record.prompt_tokens = need_count(rows_, rows_.row(), "input_length");
  record.output_tokens = need_count(rows_, rows_.row(), "output_length");
  record.session = session_of(rows_, rows_.row(), "session_id");
  read_prefix(record);
  return true;
}

void RagPulseReader::read_prefix(TraceRecord& record) {
  record.prefix.clear();
  const JsonNode* chunks = rows_.row().find("hash_ids");
  if (chunks == nullptr || chunks->kind != JsonNode::Kind::object) {
    rows_.refuse("hash_ids", chunks, "an object of lists of chunk ids");
  }
  std::int64_t sum = 0;
  for (const std::string_view kind : kPromptOrder) {
    for (const std::int64_t id : identities(rows_, *chunks, kind)) {
      const auto found = chunk_tokens_.find(id);
      if (found == chunk_tokens_.end()) {
        const JsonNode value{.kind = JsonNode::Kind::number, .text = std::to_string(id)};
        rows_.refuse(kind, &value, "ids of chunks in the files 1_*.jsonl to 5_*.jsonl");
      }
      sum += found->second;
      if (found->second == 0) continue;
      record.prefix.push_back({.id = static_cast<std::uint64_t>(id), .tokens = found->second});
    }
  }
  if (sum > record.prompt_tokens) {
    rows_.refuse("input_length", rows_.row().find("input_length"),
                 fmt::format("at least the {} tokens of its chunks", sum));
  }
}

}  // namespace headroom
