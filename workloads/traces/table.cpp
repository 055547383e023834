#include "workloads/traces/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "sim/kernel/errors.hpp"
#include "workloads/traces/csv_rows.hpp"
#include "workloads/traces/decimal.hpp"
#include "workloads/traces/json_line.hpp"
#include "workloads/traces/shown.hpp"
#include "workloads/traces/table_cells.hpp"

namespace headroom {
namespace {

constexpr std::size_t kSampledTableRows = 200;
constexpr std::array<char, 4> kSeparators{',', ';', '\t', '|'};

bool is_json_table(const FileStart& start) { return start.bytes.starts_with('{'); }

// The one that the header has most of.
char separator_of(std::string_view header) {
  return *std::ranges::max_element(
      kSeparators, {}, [header](char separator) { return std::ranges::count(header, separator); });
}

// Lines that are whole, without blank ones.
std::vector<std::string_view> sample_lines(std::string_view bytes) {
  std::vector<std::string_view> lines;
  while (lines.size() <= kSampledTableRows) {
    const std::size_t end = bytes.find('\n');
    if (end == std::string_view::npos && bytes.size() > 60'000) break;  // cut
    std::string_view line = bytes.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.empty()) lines.push_back(line);
    if (end == std::string_view::npos) break;
    bytes.remove_prefix(end + 1);
  }
  return lines;
}

// Keys of an object, and of the objects in it behind a point.
std::vector<std::string> cell_names(const JsonNode& object) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < object.keys.size(); ++i) {
    const JsonNode& value = object.items[i];
    if (value.kind != JsonNode::Kind::object) {
      names.push_back(object.keys[i]);
      continue;
    }
    for (const std::string& key : value.keys) names.push_back(object.keys[i] + "." + key);
  }
  return names;
}

std::string_view cell_text(const JsonNode& object, std::string_view name) {
  const JsonNode* value = object.find(name);
  const std::size_t point = name.find('.');
  if (value == nullptr && point != std::string_view::npos) {
    const JsonNode* inner = object.find(name.substr(0, point));
    if (inner != nullptr) value = inner->find(name.substr(point + 1));
  }
  if (value == nullptr || value->kind == JsonNode::Kind::null) return {};
  const bool has_text = value->kind == JsonNode::Kind::number ||
                        value->kind == JsonNode::Kind::text ||
                        value->kind == JsonNode::Kind::boolean;
  return has_text ? std::string_view(value->text) : std::string_view("(a list or an object)");
}

// Names, and fields of some rows by those names.
struct Sample {
  std::vector<std::string> names;
  std::vector<std::vector<std::string>> rows;
  bool has_header = true;
  bool decimal_commas = false;
};

Sample json_sample(const FileStart& start, std::string_view place) {
  Sample sample;
  for (const std::string_view line : sample_lines(start.bytes)) {
    JsonNode row;
    try {
      row = parse_json_node(line, place);
    } catch (const DataError&) {
      break;  // refused when it is read, at its own place
    }
    if (sample.names.empty()) sample.names = cell_names(row);
    std::vector<std::string>& fields = sample.rows.emplace_back();
    for (const std::string& name : sample.names) fields.emplace_back(cell_text(row, name));
  }
  return sample;
}

// Of a file without a header the columns are called 1, 2, ...
Sample csv_sample(const FileStart& start, char separator) {
  Sample sample;
  for (const std::string_view line : sample_lines(start.bytes)) {
    std::vector<std::string> fields = csv_header(line, separator);
    if (sample.names.empty() && holds_values(fields)) {
      sample.has_header = false;
      for (std::size_t i = 1; i <= fields.size(); ++i) sample.names.push_back(std::to_string(i));
    } else if (sample.names.empty()) {
      sample.names = std::move(fields);
      continue;
    }
    if (fields.size() == sample.names.size()) sample.rows.push_back(std::move(fields));
  }
  sample.decimal_commas = separator != ',' && has_decimal_commas(sample.rows);
  if (!sample.decimal_commas) return sample;
  std::string kept;
  for (std::vector<std::string>& row : sample.rows) {
    for (std::string& cell : row) cell = std::string(with_decimal_point(cell, kept));
  }
  return sample;
}

[[noreturn]] void refuse_without_header(std::string_view line, std::string_view place) {
  throw DataError(
      fmt::format("{}: no header line: '{}' holds values; say what the columns are by their "
                  "numbers: --columns time=1:s,in=2,out=3",
                  place, shown(line)));
}

}  // namespace

class TableReader::Rows {
 public:
  virtual ~Rows() = default;
  [[nodiscard]] virtual bool next() = 0;
  // Valid until the next row; empty: the field is, or is not there.
  [[nodiscard]] virtual std::string_view text(std::size_t column) const = 0;
  // Where the row stands, and how many were read before it.
  [[nodiscard]] virtual std::string place() const = 0;
  [[nodiscard]] virtual std::int64_t rows_read() const = 0;
};

class TableReader::CsvTable final : public Rows {
 public:
  CsvTable(LineReader& lines, char separator) : rows_(lines, separator) {}
  CsvTable(LineReader& lines, std::vector<std::string> names, char separator)
      : rows_(lines, std::move(names), separator) {}
  bool next() override { return rows_.next(); }
  std::string_view text(std::size_t column) const override { return rows_.text(column); }
  std::string place() const override { return rows_.place(); }
  std::int64_t rows_read() const override { return rows_.rows_read(); }

 private:
  CsvRows rows_;
};

class TableReader::JsonTable final : public Rows {
 public:
  JsonTable(LineReader& lines, const std::vector<std::string>& names)
      : rows_(lines), names_(names) {}
  bool next() override { return rows_.next(); }
  std::string_view text(std::size_t column) const override {
    return cell_text(rows_.row(), names_[column]);
  }
  std::string place() const override { return rows_.place(); }
  std::int64_t rows_read() const override { return rows_.rows_read(); }

 private:
  JsonRows rows_;
  const std::vector<std::string>& names_;
};

bool is_table(const FileStart& start) {
  if (!is_json_table(start)) {
    const char separator = separator_of(start.first_line);
    if (names_requests(csv_header(start.first_line, separator))) return true;
    const Sample sample = csv_sample(start, separator);
    constexpr std::size_t kFewestColumns = 3;
    return sample.names.size() >= kFewestColumns && !sample.rows.empty() &&
           holds_values(sample.rows.front());
  }
  try {
    return names_requests(cell_names(parse_json_node(start.first_line, "")));
  } catch (const DataError&) {
    return false;  // an object that goes on in the next line is none of ours
  }
}

TableReader::TableReader(LineReader& lines, const NamedColumns& given) {
  const FileStart start = lines.start();
  const std::string place = fmt::format("{}:1", lines.path());
  const bool json = is_json_table(start);
  const char separator = separator_of(start.first_line);
  Sample sample = json ? json_sample(start, place) : csv_sample(start, separator);
  if (!sample.has_header && (given.prompt.empty() || given.output.empty())) {
    refuse_without_header(start.first_line, place);
  }
  columns_ = find_columns(sample.names, sample.rows, given, place);
  decimal_commas_ = sample.decimal_commas;
  names_ = std::move(sample.names);
  if (json) {
    rows_ = std::make_unique<JsonTable>(lines, names_);
  } else if (sample.has_header) {
    rows_ = std::make_unique<CsvTable>(lines, separator);
  } else {
    rows_ = std::make_unique<CsvTable>(lines, names_, separator);
  }
}

TableReader::~TableReader() = default;

bool TableReader::next(TraceRecord& record) {
  do {
    if (!rows_->next()) return false;
  } while (has_failed());
  if (columns_.time) record.time_ns = time_of(rows_->text(*columns_.time));
  record.prompt_tokens = count_of(columns_.prompt);
  record.output_tokens = count_of(columns_.output);
  return true;
}

std::string TableReader::note() const {
  std::string note = columns_.note;
  if (decimal_commas_) note += "; commas are decimal points";
  if (failed_ > 0) {
    note += fmt::format(
        "; {} of {} rows are failed requests ({} 400 or more) and are left out (--columns "
        "status=none keeps them)",
        failed_, rows_->rows_read(), names_[*columns_.status]);
  }
  return note;
}

bool TableReader::has_failed() {
  constexpr std::int32_t kFirstError = 400;
  if (!columns_.status) return false;
  const std::string_view text = rows_->text(*columns_.status);
  if (text.empty()) return false;
  const std::optional<std::int32_t> code = parse_count(text);
  if (!code) refuse(*columns_.status, "an HTTP status such as 200");
  if (*code < kFirstError) return false;
  ++failed_;
  return true;
}

// Dates with slashes are read as those with dashes.
TimeNs TableReader::time_of(std::string_view text) {
  if (columns_.is_date && columns_.order != DateOrder::year_first) {
    const std::optional<std::string> date = date_with_year_first(text, columns_.order);
    const std::optional<TimeNs> time = date ? dates_.parse(*date) : std::nullopt;
    if (time) return *time;
    refuse(*columns_.time, columns_.order == DateOrder::month_first
                               ? "MM/DD/YYYY hh:mm[:ss][ AM or PM], 1970 to 2254"
                               : "DD/MM/YYYY hh:mm[:ss][ AM or PM], or DD/Mon/YYYY:hh:mm:ss +hhmm "
                                 "as web servers write it; 1970 to 2254");
  }
  if (columns_.is_date) {
    text_.assign(text);
    for (std::size_t i = 0; i < std::min<std::size_t>(10, text_.size()); ++i) {
      if (text_[i] == '/') text_[i] = '-';
    }
    if (const std::optional<TimeNs> time = dates_.parse(text_)) return *time;
    refuse(*columns_.time, "YYYY-MM-DD hh:mm:ss[.fraction][Z or +hh:mm], 1970 to 2254");
  }
  if (decimal_commas_) text = with_decimal_point(text, text_);
  const std::optional<std::int64_t> time = parse_scaled_decimal(text, unit_ns(columns_.unit));
  if (time && *time >= 0 && *time <= kLatestTraceNs) return *time;
  refuse(*columns_.time, "a number >= 0 within 285 years");
}

std::int32_t TableReader::count_of(std::size_t column) {
  std::string_view text = rows_->text(column);
  if (decimal_commas_) text = with_decimal_point(text, text_);
  if (text.empty()) return 0;
  if (const std::optional<std::int32_t> count = parse_count(text)) return *count;
  if (const std::optional<std::int32_t> count = parse_count(without_thousands(text, text_))) {
    return *count;
  }
  refuse(column, fmt::format("an integer in 0 .. {}", INT32_MAX));
}

void TableReader::refuse(std::size_t column, std::string_view wanted) const {
  throw DataError(fmt::format("{}: {} is '{}', expected {} ({} rows read)", rows_->place(),
                              names_[column], shown(rows_->text(column)), wanted,
                              rows_->rows_read()));
}

}  // namespace headroom
