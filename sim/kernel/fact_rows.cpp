#include "sim/kernel/fact_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

#include "sim/kernel/errors.hpp"

namespace headroom {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t'; }

// The cells of a row, whose quoted ones may hold commas, doubled quotes and line ends: then further
// lines are taken from `in` and counted.
std::vector<std::string> cells_of(std::string line, std::istream& in, std::int64_t& number) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (std::size_t i = 0;; ++i) {
    if (i == line.size()) {
      if (!quoted || !std::getline(in, line)) return cells;
      ++number;
      cells.back() += '\n';
      i = std::string::npos;  // the next one is the first
      continue;
    }
    const char c = line[i];
    if (c == '"') {
      // A doubled one within quotes is one of the cell.
      if (quoted && i + 1 < line.size() && line[i + 1] == '"')
        cells.back() += line[i++];
      else
        quoted = !quoted;
    } else if (c == ',' && !quoted) {
      cells.emplace_back();
    } else if (c != '\r') {
      cells.back() += c;
    }
  }
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
  std::int64_t number = 1;
  const std::vector<std::string> header = cells_of(line, in, number);
  for (const std::string& column : wanted) {
    if (std::ranges::find(header, column) == header.end()) {
      throw DataError(fmt::format("{}:1: column {} is missing", file, column));
    }
  }
  std::vector<FactRow> rows;
  while (std::getline(in, line)) {
    const std::int64_t first = ++number;
    if (line.empty() || line == "\r") continue;
    const std::vector<std::string> cells = cells_of(std::move(line), in, number);
    if (cells.size() != header.size()) {
      throw DataError(fmt::format("{}:{}: {} cells, but the header has {} ({} rows read before)",
                                  file, first, cells.size(), header.size(), rows.size()));
    }
    FactRow row{file, first, {}};
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
