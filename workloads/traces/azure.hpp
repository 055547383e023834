#pragma once
// Azure LLM inference traces of 2023 and 2024, and the multimodal one of 2025
// (https://github.com/Azure/AzurePublicDataset; TRACES.md 3.1). Comma-separated, no quoting;
// columns go by the name in the header: TIMESTAMP, ContextTokens, GeneratedTokens, and NumImages,
// which is checked and otherwise not used.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "workloads/traces/timestamp.hpp"
#include "workloads/traces/trace_reader.hpp"

namespace headroom {

[[nodiscard]] bool is_azure(const FileStart& start);

class AzureReader final : public TraceReader {
 public:
  explicit AzureReader(LineReader& lines);
  [[nodiscard]] bool next(TraceRecord& record) override;

 private:
  enum class Column : std::uint8_t { timestamp, images, context, generated };
  static constexpr std::size_t kColumnCount = 4;
  static constexpr std::array<std::string_view, kColumnCount> kNames = {
      "TIMESTAMP", "NumImages", "ContextTokens", "GeneratedTokens"};

  [[nodiscard]] bool read_row(std::string_view line, TraceRecord& record);
  [[nodiscard]] bool read_time(const char*& at, const char* end, TimeNs& time_ns);
  [[noreturn]] void refuse_row(std::string_view line) const;

  LineReader& lines_;
  std::array<Column, kColumnCount> columns_{};  // in the order of the file
  std::size_t count_ = 0;
  std::int64_t rows_read_ = 0;
  TimestampParser times_;
  std::size_t time_size_ = 0;  // of the latest row's field
};

}  // namespace headroom
