#include "workloads/traces/csv_rows.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/kernel/errors.hpp"
#include "workloads/traces/decimal.hpp"
#include "workloads/traces/shown.hpp"
#include "workloads/traces/trace_record.hpp"

namespace headroom {
namespace {

// Cuts the first field off `rest` and appends it, without its quotes, to `text`. False when a quote
// is not closed or is followed by something else than a separator.
bool cut_quoted_field(std::string_view& rest, char separator, std::string& text) {
  if (!rest.starts_with('"')) {
    const std::size_t end = std::min(rest.find(separator), rest.size());
    text.append(rest.substr(0, end));
    rest.remove_prefix(end);
    return true;
  }
  std::size_t at = 1;
  while (true) {
    const std::size_t quote = rest.find('"', at);
    if (quote == std::string_view::npos) return false;
    text.append(rest.substr(at, quote - at));
    at = quote + 1;
    if (at == rest.size() || rest[at] != '"') break;
    text += '"';
    ++at;
  }
  rest.remove_prefix(at);
  return rest.empty() || rest[0] == separator;
}

}  // namespace

std::vector<std::string> csv_header(std::string_view line, char separator) {
  std::vector<std::string> names;
  while (true) {
    std::string name;
    if (!cut_quoted_field(line, separator, name)) return {};
    names.push_back(std::move(name));
    if (line.empty()) return names;
    line.remove_prefix(1);
  }
}

bool csv_header_has(std::string_view line, std::string_view column) {
  const std::vector<std::string> names = csv_header(line);
  return std::ranges::find(names, column) != names.end();
}

CsvRows::CsvRows(LineReader& lines, char separator) : lines_(lines), separator_(separator) {
  std::string_view header;
  if (lines_.next(header)) columns_ = csv_header(header, separator_);
  if (columns_.empty()) throw DataError(fmt::format("{}: no header line", lines_.place()));
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (std::find(columns_.begin(), columns_.begin() + static_cast<std::ptrdiff_t>(i),
                  columns_[i]) != columns_.begin() + static_cast<std::ptrdiff_t>(i)) {
      throw DataError(
          fmt::format("{}: second column '{}' in the header", lines_.place(), shown(columns_[i])));
    }
  }
}

CsvRows::CsvRows(LineReader& lines, std::vector<std::string> columns, char separator)
    : lines_(lines), separator_(separator), columns_(std::move(columns)) {}

std::optional<CsvRows::Column> CsvRows::find(std::string_view name) const {
  const auto found = std::ranges::find(columns_, name);
  if (found == columns_.end()) return std::nullopt;
  return static_cast<Column>(found - columns_.begin());
}

CsvRows::Column CsvRows::need(std::string_view name) const {
  if (const std::optional<Column> column = find(name)) return *column;
  throw DataError(fmt::format("{}: no column '{}' in the header", lines_.place(), name));
}

bool CsvRows::next() {
  if (any_) ++rows_read_;
  any_ = false;
  std::string_view line;
  if (!lines_.next(line)) return false;
  any_ = true;
  split(line);
  if (fields_.size() != columns_.size()) {
    throw DataError(fmt::format(
        "{}: row is '{}', expected {} {} fields ({} rows read){}", lines_.place(), shown(line),
        columns_.size(), separator_ == ',' ? "comma-separated" : "separated", rows_read_,
        lines_.ends_open() ? "; the file ends there without a line break: is it truncated?" : ""));
  }
  return true;
}

void CsvRows::split(std::string_view line) {
  fields_.clear();
  if (line.find('"') == std::string_view::npos) {
    while (true) {
      const std::size_t end = line.find(separator_);
      fields_.push_back(line.substr(0, end));
      if (end == std::string_view::npos) return;
      line.remove_prefix(end + 1);
    }
  }
  unquoted_.clear();
  unquoted_.reserve(line.size());  // views into it stay valid
  while (true) {
    const std::size_t begin = unquoted_.size();
    if (!cut_quoted_field(line, separator_, unquoted_)) return fields_.clear();
    fields_.push_back(std::string_view(unquoted_).substr(begin));
    if (line.empty()) return;
    line.remove_prefix(1);
  }
}

std::int32_t CsvRows::count(Column column) const {
  const std::string_view field = fields_[column];
  if (field.empty()) return 0;
  if (const std::optional<std::int32_t> value = parse_count(field)) return *value;
  refuse(column, fmt::format("an integer in 0 .. {}", INT32_MAX));
}

std::optional<TimeNs> CsvRows::optional_time(Column column, TimeNs unit_ns) const {
  const std::string_view field = fields_[column];
  if (field.empty()) return std::nullopt;
  const std::optional<std::int64_t> value = parse_scaled_decimal(field, unit_ns);
  if (value && *value >= 0 && *value <= kLatestTraceNs) return value;
  refuse(column, "a decimal number >= 0 within 285 years");
}

TimeNs CsvRows::time(Column column, TimeNs unit_ns) const {
  if (const std::optional<TimeNs> value = optional_time(column, unit_ns)) return *value;
  refuse(column, "a decimal number >= 0 within 285 years");
}

std::int64_t CsvRows::integer(Column column) const {
  const std::string_view field = fields_[column];
  const bool whole = field.find_first_not_of("-0123456789") == std::string_view::npos;
  const std::optional<std::int64_t> value = parse_scaled_decimal(field, 1);
  if (whole && value) return *value;
  refuse(column, "a 64-bit integer");
}

void CsvRows::refuse(Column column, std::string_view wanted) const {
  throw DataError(fmt::format("{}: {} is '{}', expected {} ({} rows read)", lines_.place(),
                              columns_[column], shown(fields_[column]), wanted, rows_read_));
}

}  // namespace headroom
