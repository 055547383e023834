#pragma once
// What several JSON formats of traces write in the same way: counts that must be there, sessions,
// and prompts as a list of block ids.

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "workloads/traces/json_line.hpp"
#include "workloads/traces/trace_record.hpp"

namespace headroom {

// The first key of the object with which a file begins; empty when it does not begin with one.
[[nodiscard]] std::string_view first_json_key(const FileStart& start);

// The text of a value that is a text, a number or a boolean; missing, other kinds: empty.
[[nodiscard]] std::string_view text_of(const JsonNode& object, std::string_view key);

// As JsonRows::count, but the key must be there; null is a missing count, 0.
[[nodiscard]] std::int32_t need_count(const JsonRows& rows, const JsonNode& object,
                                      std::string_view key);

// A session by its number or its name; missing, null, "": kNoSession.
[[nodiscard]] std::uint64_t session_of(const JsonRows& rows, const JsonNode& object,
                                       std::string_view key);

// An array of identities (blocks, tokens, chunks), each >= 0; missing, null: empty.
[[nodiscard]] const std::vector<std::int64_t>& identities(const JsonRows& rows,
                                                          const JsonNode& object,
                                                          std::string_view key);

// DataError: `key` has `count` ids.
[[noreturn]] void refuse_ids(const JsonRows& rows, std::string_view key, std::size_t count,
                             std::string_view wanted);

// Blocks that hold `tokens` tokens, the last one maybe in part.
[[nodiscard]] constexpr std::size_t blocks_of(std::int32_t tokens, std::int32_t block_tokens) {
  return (static_cast<std::size_t>(tokens) + static_cast<std::size_t>(block_tokens) - 1) /
         static_cast<std::size_t>(block_tokens);
}

// The prefix of a prompt whose blocks of `block_tokens` tokens have the ids below `key` of the row;
// the last one holds the rest. Without ids: empty. DataError: not one id for each block.
void read_block_ids(const JsonRows& rows, std::string_view key, std::int32_t block_tokens,
                    TraceRecord& record);

}  // namespace headroom
