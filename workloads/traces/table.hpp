#pragma once
// A table of requests that nobody has described: CSV (comma, semicolon, tab or bar) with a header,
// or JSON lines, whose columns are recognised by their names (table_columns.hpp). A key inside an
// object of a JSON line is "usage.prompt_tokens". Read after all formats that have a name: columns
// that mean more (sessions, prefixes) are those formats' own.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/traces/table_columns.hpp"
#include "workloads/traces/timestamp.hpp"
#include "workloads/traces/trace_reader.hpp"

namespace headroom {

// Whether a header, or the first object, names tokens of prompts or of answers, or times; or names
// columns of numbers, which the user may explain.
[[nodiscard]] bool is_table(const FileStart& start);

class TableReader final : public TraceReader {
 public:
  // DataError: no columns of tokens; a column of `given` is not there. Columns of a file without a
  // header are called by their numbers, from 1.
  explicit TableReader(LineReader& lines, const NamedColumns& given = {});
  ~TableReader() override;

  [[nodiscard]] bool next(TraceRecord& record) override;
  [[nodiscard]] TraceClock clock() const override {
    return columns_.time ? TraceClock::absolute : TraceClock::none;
  }
  [[nodiscard]] std::string note() const override;

 private:
  class Rows;
  class CsvTable;
  class JsonTable;

  [[nodiscard]] TimeNs time_of(std::string_view text);
  [[nodiscard]] std::int32_t count_of(std::size_t column);
  // Of this row: answered with an error.
  [[nodiscard]] bool has_failed();
  [[noreturn]] void refuse(std::size_t column, std::string_view wanted) const;

  std::vector<std::string> names_;
  std::unique_ptr<Rows> rows_;
  TableColumns columns_;
  TimestampParser dates_;
  std::string text_;  // of a date or a number in another spelling
  bool decimal_commas_ = false;
  std::int64_t failed_ = 0;  // rows that were left out
};

}  // namespace headroom
