#include "sim/kernel/fact_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <system_error>

#include "sim/kernel/errors.hpp"

namespace headroom {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t'; }

std::vector<std::string> cells_of(std::string_view line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      cells.emplace_back();
    } else if (c != '\r') {
      cells.back() += c;
    }
  }
  return cells;
}

}  // namespace

std::optional<double> to_number(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  if (text.empty() || parsed.ec != std::errc{} || parsed.ptr != end) return std::nullopt;
  if (value - value != 0) return std::nullopt;  // "inf" and "nan" are no figures
  return value;
}

const std::string& FactRow::text(std::string_view column) const {
  static const std::string kEmpty;
  const auto found = cells.find(column);
  return found == cells.end() ? kEmpty : found->second;
}

std::optional<double> FactRow::number(std::string_view column) const {
  const std::string& cell = text(column);
  if (cell.empty()) return std::nullopt;
  const std::optional<double> value = to_number(cell);
  if (!value) {
    throw DataError(fmt::format("{}:{}: {}: '{}' is not a number", file, line, column, cell));
  }
  return value;
}

std::optional<std::int64_t> FactRow::count(std::string_view column) const {
  const std::optional<double> value = number(column);
  if (!value) return std::nullopt;
  if (*value < 0 || *value > 1e15 ||
      static_cast<double>(static_cast<std::int64_t>(*value)) != *value) {
    throw DataError(
        fmt::format("{}:{}: {}: '{}' is not a count", file, line, column, text(column)));
  }
  return static_cast<std::int64_t>(*value);
}

std::vector<FactRow> read_facts(std::istream& in, const std::string& file,
                                const std::vector<std::string>& wanted) {
  std::string line;
  if (!std::getline(in, line)) throw DataError(fmt::format("{}:1: no header", file));
  const std::vector<std::string> header = cells_of(line);
  for (const std::string& column : wanted) {
    if (std::ranges::find(header, column) == header.end()) {
      throw DataError(fmt::format("{}:1: column {} is missing", file, column));
    }
  }
  std::vector<FactRow> rows;
  for (std::int64_t number = 2; std::getline(in, line); ++number) {
    if (line.empty() || line == "\r") continue;
    const std::vector<std::string> cells = cells_of(line);
    if (cells.size() != header.size()) {
      throw DataError(fmt::format("{}:{}: {} cells, but the header has {} ({} rows read before)",
                                  file, number, cells.size(), header.size(), rows.size()));
    }
    FactRow row{file, number, {}};
    for (std::size_t i = 0; i < header.size(); ++i) row.cells[header[i]] = cells[i];
    rows.push_back(std::move(row));
  }
  return rows;
}

void refuse_copies(const std::vector<FactRow>& rows) {
  std::map<std::map<std::string, std::string, std::less<>>, std::int64_t> lines;
  for (const FactRow& row : rows) {
    const auto [earlier, is_new] = lines.try_emplace(row.cells, row.line);
    if (is_new) continue;
    throw DataError(fmt::format("{}:{}: duplicate of line {}; expected each measurement once",
                                row.file, row.line, earlier->second));
  }
}

double number_in(const FactRow& row, std::string_view column, double low, double high) {
  const std::optional<double> value = row.number(column);
  if (!value || !(*value >= low && *value <= high)) {
    throw DataError(fmt::format("{}:{}: {}: '{}': expected {:g} to {:g}", row.file, row.line,
                                column, row.text(column), low, high));
  }
  return *value;
}

std::int64_t count_in(const FactRow& row, std::string_view column, std::int64_t low,
                      std::int64_t high) {
  static_cast<void>(number_in(row, column, static_cast<double>(low), static_cast<double>(high)));
  return *row.count(column);
}

}  // namespace headroom
