#pragma once
// Logged start-ups as they were collected: hardware/catalog/measured/startups/README.md describes
// the fields.

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "sim/engines/engine.hpp"
#include "sim/options/json.hpp"

namespace headroom {

struct LoggedStart {
  std::string file;
  std::string id;
  const Engine* engine = nullptr;  // null: not one whose commands are read
  std::string engine_name;         // as in the row
  std::string release;             // as engine.version; empty: unknown
  std::string model;
  std::string file_type;  // of a GGUF file, as llama.cpp logs it: "Q4_K - Medium"
  std::string device;
  std::int64_t devices = 1;
  bool in_container = false;
  bool chooses = false;    // may choose constants; else it only scores
  std::string not_scored;  // why it says nothing about the rules; empty: it does
  std::string command;     // empty: flags
  Json flags;              // the next three: objects, empty where the row has none
  Json resolved;
  Json logged;
  std::string failed_stage;  // empty: it started
  std::string failed_message;
};

// The rows of every .json file in `directory`, or in folders called `startups` up to two levels
// below it, by file name and in the order of the file. Empty where there are none. DataError for a
// row without its fields.
[[nodiscard]] std::vector<LoggedStart> read_logged_starts(const std::filesystem::path& directory);

// Devices of llama.cpp that hold weights, as the row names them. Empty: it has no such buffers.
[[nodiscard]] std::vector<std::string> devices_with_buffers(const Json& logged);
[[nodiscard]] bool is_host_buffer(std::string_view name);

// A row that is `score_only`, or whose link has a SHA-256 that ends in an odd digit, never chooses
// a constant.
[[nodiscard]] bool chooses_constants(const Json& row);

}  // namespace headroom
