#include "workloads/traces/azure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "sim/kernel/errors.hpp"
#include "workloads/traces/csv_rows.hpp"
#include "workloads/traces/shown.hpp"
#include "workloads/traces/timestamp.hpp"

namespace headroom {
namespace {

// 0 .. 2^31 - 1; an empty field is a missing count, which stands as 0. `at` moves behind the
// digits.
bool read_count(const char*& at, const char* end, std::int32_t& count) {
  std::int64_t value = 0;
  const char* begin = at;
  while (at != end && static_cast<std::uint32_t>(*at - '0') <= 9) {
    value = value * 10 + (*at - '0');
    ++at;
    if (value > INT32_MAX) return false;
  }
  count = static_cast<std::int32_t>(value);
  return at != begin || at == end || *at == ',';
}

std::string_view cut_field(std::string_view& rest) {
  const std::size_t comma = rest.find(',');
  const std::string_view field = rest.substr(0, comma);
  rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
  return field;
}

}  // namespace

bool is_azure(const FileStart& start) {
  const std::vector<std::string> header = csv_header(start.first_line);
  const auto has = [&](std::string_view name) { return std::ranges::count(header, name) != 0; };
  return has("TIMESTAMP") && has("ContextTokens") && has("GeneratedTokens");
}

AzureReader::AzureReader(LineReader& lines) : lines_(lines) {
  const CsvRows header(lines);
  for (const std::string& name : header.columns()) {
    const auto found = std::ranges::find(kNames, name);
    if (found == kNames.end()) {
      throw DataError(
          fmt::format("{}: unknown column '{}' in the header; known columns: "
                      "TIMESTAMP, NumImages, ContextTokens, GeneratedTokens",
                      lines.place(), shown(name)));
    }
    columns_[count_++] = static_cast<Column>(found - kNames.begin());
  }
}

// `at` moves behind the field. A field is tried at the length of the one before it first.
bool AzureReader::read_time(const char*& at, const char* end, TimeNs& time_ns) {
  const bool is_usual = static_cast<std::size_t>(end - at) > time_size_ && at[time_size_] == ',';
  std::optional<TimeNs> time;
  if (is_usual) time = times_.parse(std::string_view(at, time_size_));
  if (!time) {
    time_size_ = static_cast<std::size_t>(std::find(at, end, ',') - at);
    time = times_.parse(std::string_view(at, time_size_));
  }
  at += time_size_;
  if (time) time_ns = *time;
  return time.has_value();
}

// By hand: files of this format are gigabytes long.
bool AzureReader::read_row(std::string_view line, TraceRecord& record) {
  const char* at = line.data();
  const char* end = at + line.size();
  for (std::size_t i = 0; i < count_; ++i) {
    if (i != 0) {
      if (at == end || *at != ',') return false;
      ++at;
    }
    std::int32_t images = 0;
    switch (columns_[i]) {
      case Column::timestamp:
        if (!read_time(at, end, record.time_ns)) return false;
        break;
      case Column::images:
        if (!read_count(at, end, images)) return false;
        break;
      case Column::context:
        if (!read_count(at, end, record.prompt_tokens)) return false;
        break;
      case Column::generated:
        if (!read_count(at, end, record.output_tokens)) return false;
        break;
    }
  }
  return at == end;
}

// Finds out what `read_row` did not like.
void AzureReader::refuse_row(std::string_view line) const {
  const auto refuse = [&](std::string_view what, std::string_view value, std::string_view wanted) {
    throw DataError(fmt::format("{}: {} is '{}', expected {} ({} rows read)", lines_.place(), what,
                                shown(value), wanted, rows_read_));
  };
  const auto fields = static_cast<std::size_t>(1 + std::ranges::count(line, ','));
  std::string_view rest = line;
  for (std::size_t i = 0; i < count_ && fields == count_; ++i) {
    const std::string_view field = cut_field(rest);
    const std::string_view name = kNames[static_cast<std::size_t>(columns_[i])];
    if (columns_[i] == Column::timestamp) {
      if (parse_timestamp(field)) continue;
      refuse(name, field, "YYYY-MM-DD hh:mm:ss[.fraction][Z or +hh:mm], 1970 to 2254");
    }
    const char* at = field.data();
    const char* end = at + field.size();
    std::int32_t count = 0;
    if (read_count(at, end, count) && at == end) continue;
    refuse(name, field, fmt::format("an integer in 0 .. {}", INT32_MAX));
  }
  throw DataError(fmt::format("{}: row is '{}', expected {} comma-separated fields ({} rows read)",
                              lines_.place(), shown(line), count_, rows_read_));
}

bool AzureReader::next(TraceRecord& record) {
  std::string_view line;
  if (!lines_.next(line)) return false;
  if (!read_row(line, record)) refuse_row(line);
  ++rows_read_;
  return true;
}

}  // namespace headroom
