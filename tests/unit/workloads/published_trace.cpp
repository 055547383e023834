#include "tests/unit/workloads/published_trace.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "sim/kernel/digest.hpp"
#include "workloads/traces/detect.hpp"

namespace headroom {
namespace {

struct PublishedRow {
  TimeNs time_ns = 0;
  std::int32_t prompt_tokens = 0;
  std::int32_t output_tokens = 0;
};

// Lines "time,prompt,output" in order of time, as the reference hashes them.
template <typename Rows>
std::string canonical_sha256(const Rows& rows) {
  std::string text;
  for (const auto& row : rows) {
    text += std::to_string(row.time_ns) + ',' + std::to_string(row.prompt_tokens) + ',' +
            std::to_string(row.output_tokens) + '\n';
  }
  return sha256_hex(text);
}

// Those with zero tokens, too; times from the earliest on.
std::vector<PublishedRow> all_rows(const std::string& path) {
  TraceFile file(path);
  std::vector<PublishedRow> rows;
  TraceRecord record;
  while (file.next(record)) {
    rows.push_back({record.time_ns, record.prompt_tokens, record.output_tokens});
  }
  std::ranges::stable_sort(rows, {}, &PublishedRow::time_ns);
  const TimeNs offset_ns = rows.empty() ? 0 : rows.front().time_ns;
  for (PublishedRow& row : rows) row.time_ns -= offset_ns;
  return rows;
}

}  // namespace

std::optional<Trace> check_published(const std::string& name, std::string_view format) {
  INFO(name);
  const std::filesystem::path traces = std::filesystem::path(HEADROOM_SHARED_DIR) / "traces";
  const std::string path = (traces / name).string();
  if (!std::filesystem::exists(path)) {
    WARN("skipped: " << name << " is not on this machine");
    return std::nullopt;
  }
  std::ifstream golden_file(traces / "golden.json");
  const nlohmann::json golden = nlohmann::json::parse(golden_file).at(name);

  const std::vector<PublishedRow> rows = all_rows(path);
  std::int64_t sum_input = 0;
  std::int64_t sum_output = 0;
  for (const PublishedRow& row : rows) {
    sum_input += row.prompt_tokens;
    sum_output += row.output_tokens;
  }
  CHECK(rows.size() == golden.at("rows"));
  CHECK(rows.back().time_ns == golden.at("last_arrival_ns"));
  CHECK(sum_input == golden.at("sum_input"));
  CHECK(sum_output == golden.at("sum_output"));
  CHECK(canonical_sha256(rows) == golden.at("canonical_sha256"));

  const Trace trace = read_trace(path, {});
  const nlohmann::json& left = golden.at("dropped_zero_output");
  CHECK(trace.name == std::filesystem::path(name).filename().string());
  CHECK(trace.format == format);
  CHECK(trace.rows_read == golden.at("rows"));
  CHECK(trace.offset_ns == golden.at("offset_ns"));
  CHECK(trace.rows.size() == left.at("rows"));
  CHECK(canonical_sha256(trace.rows) == left.at("canonical_sha256"));
  CHECK(trace.sha256() == golden.at("file_sha256"));
  return trace;
}

}  // namespace headroom
