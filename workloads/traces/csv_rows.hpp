#pragma once
// The rows of a comma-separated file (or one with another separator) with a header: fields by the
// name of their column, and the one way in which malformed fields are refused.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/kernel/time.hpp"
#include "workloads/traces/line_reader.hpp"

namespace headroom {

// The names in a header line, in order. A field may be quoted as in RFC 4180; a quoted field does
// not span lines.
[[nodiscard]] std::vector<std::string> csv_header(std::string_view line, char separator = ',');
[[nodiscard]] bool csv_header_has(std::string_view line, std::string_view column);

class CsvRows {
 public:
  // Reads the header. DataError: no header, a name twice.
  explicit CsvRows(LineReader& lines, char separator = ',');
  // Without a header: the columns have these names.
  CsvRows(LineReader& lines, std::vector<std::string> columns, char separator = ',');

  using Column = std::size_t;
  [[nodiscard]] std::optional<Column> find(std::string_view name) const;
  [[nodiscard]] Column need(std::string_view name) const;  // DataError when it is not there
  [[nodiscard]] const std::vector<std::string>& columns() const { return columns_; }

  // The next row; false at the end. DataError: another number of fields than columns.
  [[nodiscard]] bool next();
  [[nodiscard]] std::int64_t rows_read() const { return rows_read_; }  // before this row
  [[nodiscard]] std::string place() const { return lines_.place(); }

  // Fields of the row, valid until the next one. Each DataError names place, column and value.
  [[nodiscard]] std::string_view text(Column column) const { return fields_[column]; }
  // 0 .. 2^31 - 1; an empty field is a missing count: 0.
  [[nodiscard]] std::int32_t count(Column column) const;
  // Decimal text in units of `unit_ns`, >= 0; nothing when the field is empty.
  [[nodiscard]] std::optional<TimeNs> optional_time(Column column, TimeNs unit_ns) const;
  [[nodiscard]] TimeNs time(Column column, TimeNs unit_ns) const;  // an empty field is refused
  [[nodiscard]] std::int64_t integer(Column column) const;         // any 64-bit integer

  [[noreturn]] void refuse(Column column, std::string_view wanted) const;

 private:
  void split(std::string_view line);

  LineReader& lines_;
  char separator_ = ',';
  std::vector<std::string> columns_;
  std::vector<std::string_view> fields_;
  std::string unquoted_;  // holds the fields of a row that has quotes
  std::int64_t rows_read_ = 0;
  bool any_ = false;
};

}  // namespace headroom
