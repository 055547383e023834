#pragma once
// Small CSV files of facts (logged start-ups, measured runs, kernel times) as rows of text. Traces,
// which are large, have a reader of their own (workloads/traces).

#include <cstdint>
#include <functional>
#include <istream>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headroom {

// One line with its cells by the header's names.
struct FactRow {
  std::string file;
  std::int64_t line = 0;  // its first one, from 1, the header
  std::map<std::string, std::string, std::less<>> cells;

  [[nodiscard]] const std::string& text(std::string_view column) const;
  // Absent for an empty cell. DataError on anything that is not a number.
  [[nodiscard]] std::optional<double> number(std::string_view column) const;
  [[nodiscard]] std::optional<std::int64_t> count(std::string_view column) const;
};

// Cells may be quoted, with line ends and doubled quotes inside. DataError: a column of `wanted` is
// missing, or a line has another number of cells than the header.
[[nodiscard]] std::vector<FactRow> read_facts(std::istream& in, const std::string& file,
                                              const std::vector<std::string>& wanted);

// DataError: two rows with the same cells; the message names the later one. For files in which each
// row is a measurement: equal figures mean a copied row.
void refuse_copies(const std::vector<FactRow>& rows);

// A cell that must be there. DataError with file, line, column, value and range.
[[nodiscard]] double number_in(const FactRow& row, std::string_view column, double low,
                               double high);
[[nodiscard]] std::int64_t count_in(const FactRow& row, std::string_view column, std::int64_t low,
                                    std::int64_t high);

// The whole of `text`, blanks around it aside, as a finite number; nothing for anything else.
[[nodiscard]] std::optional<double> to_number(std::string_view text);

}  // namespace headroom
