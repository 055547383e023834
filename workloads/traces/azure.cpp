#include "workloads/traces/azure.hpp"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "sim/kernel/errors.hpp"
#include "workloads/traces/timestamp.hpp"

namespace headroom {
namespace {

enum class Column : std::uint8_t { timestamp, images, context, generated };
constexpr std::size_t kColumnCount = 4;
constexpr std::array<std::string_view, kColumnCount> kNames = {"TIMESTAMP", "NumImages",
                                                               "ContextTokens", "GeneratedTokens"};

// The columns of one file, in its order.
struct Layout {
  std::array<Column, kColumnCount> columns{};
  std::size_t count = 0;
};

struct Row {
  TimeNs time_ns = 0;
  std::array<std::int32_t, kColumnCount> counts{};  // by column; the timestamp's is unused
};

std::optional<Column> column_called(std::string_view name) {
  for (std::size_t i = 0; i < kColumnCount; ++i) {
    if (kNames[i] == name) return static_cast<Column>(i);
  }
  return std::nullopt;
}

std::string_view cut_field(std::string_view& rest) {
  const std::size_t comma = rest.find(',');
  const std::string_view field = rest.substr(0, comma);
  rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
  return field;
}

bool has_column(std::string_view header, Column wanted) {
  while (!header.empty()) {
    if (column_called(cut_field(header)) == wanted) return true;
  }
  return false;
}

Layout layout_of(std::string_view header, const LineReader& lines) {
  Layout layout;
  std::array<bool, kColumnCount> seen{};
  std::string_view rest = header;
  while (!rest.empty()) {
    const std::string_view name = cut_field(rest);
    const std::optional<Column> column = column_called(name);
    if (!column || seen[static_cast<std::size_t>(*column)]) {
      throw DataError(
          fmt::format("{}: {} column '{}' in the header; known columns: "
                      "TIMESTAMP, NumImages, ContextTokens, GeneratedTokens",
                      lines.place(), column ? "second" : "unknown", name));
    }
    seen[static_cast<std::size_t>(*column)] = true;
    layout.columns[layout.count++] = *column;
  }
  return layout;
}

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

bool read_row(std::string_view line, const Layout& layout, Row& row) {
  const char* at = line.data();
  const char* end = at + line.size();
  for (std::size_t i = 0; i < layout.count; ++i) {
    if (i != 0) {
      if (at == end || *at != ',') return false;
      ++at;
    }
    const Column column = layout.columns[i];
    if (column != Column::timestamp) {
      if (!read_count(at, end, row.counts[static_cast<std::size_t>(column)])) return false;
      continue;
    }
    const char* begin = at;
    while (at != end && *at != ',') ++at;
    const auto size = static_cast<std::size_t>(at - begin);
    const std::optional<TimeNs> time_ns = parse_timestamp(std::string_view(begin, size));
    if (!time_ns) return false;
    row.time_ns = *time_ns;
  }
  return at == end;
}

// Finds out what `read_row` did not like.
[[noreturn]] void refuse_row(std::string_view line, const Layout& layout, const LineReader& lines,
                             std::int64_t rows_read) {
  const auto refuse = [&](std::string_view what, std::string_view value, std::string_view wanted) {
    throw DataError(fmt::format("{}: {} is '{}', expected {} ({} rows read)", lines.place(), what,
                                value, wanted, rows_read));
  };
  std::size_t fields = 1;
  for (const char c : line) fields += c == ',' ? 1 : 0;
  std::string_view rest = line;
  for (std::size_t i = 0; i < layout.count && fields == layout.count; ++i) {
    const std::string_view field = cut_field(rest);
    const Column column = layout.columns[i];
    const std::string_view name = kNames[static_cast<std::size_t>(column)];
    if (column == Column::timestamp) {
      if (parse_timestamp(field)) continue;
      refuse(name, field, "YYYY-MM-DD hh:mm:ss[.fraction][Z or +hh:mm], 1970 to 2261");
    }
    const char* at = field.data();
    const char* end = at + field.size();
    std::int32_t count = 0;
    if (read_count(at, end, count) && at == end) continue;
    refuse(name, field, fmt::format("an integer in 0 .. {}", INT32_MAX));
  }
  throw DataError(fmt::format("{}: row is '{}', expected {} comma-separated fields ({} rows read)",
                              lines.place(), line, layout.count, rows_read));
}

}  // namespace

bool is_azure_header(std::string_view line) {
  return has_column(line, Column::timestamp) && has_column(line, Column::context) &&
         has_column(line, Column::generated);
}

void read_azure(std::string_view header, LineReader& lines, TraceBuilder& rows) {
  constexpr std::int64_t kTypicalRowBytes = 36;  // 2023 files: 36 to 37; 2024: 41
  rows.reserve(lines.file_state().bytes / kTypicalRowBytes + 1);
  const Layout layout = layout_of(header, lines);
  std::string_view line;
  Row row;
  while (lines.next(line)) {
    if (!read_row(line, layout, row)) refuse_row(line, layout, lines, rows.rows_read());
    const std::int32_t prompt = row.counts[static_cast<std::size_t>(Column::context)];
    const std::int32_t output = row.counts[static_cast<std::size_t>(Column::generated)];
    if (!rows.add(row.time_ns, prompt, output)) {
      throw DataError(fmt::format(
          "{}: ContextTokens is {}, GeneratedTokens is {}; zero tokens are not allowed ({} rows "
          "read)",
          lines.place(), prompt, output, rows.rows_read()));
    }
  }
}

}  // namespace headroom
