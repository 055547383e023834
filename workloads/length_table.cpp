#include "workloads/length_table.hpp"

#include <fmt/format.h>

#include <charconv>
#include <string_view>

#include "sim/kernel/errors.hpp"
#include "workloads/lengths.hpp"
#include "workloads/traces/line_reader.hpp"

namespace headroom {
namespace {

std::int64_t length(std::string_view text, const LineReader& lines, std::size_t rows_read) {
  std::int64_t tokens = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, tokens);
  if (error != std::errc() || stop != end || tokens < 1 || tokens > kMaxLengthTokens) {
    throw DataError(fmt::format("{}: length is '{}', expected an integer in 1 .. {} ({} rows read)",
                                lines.place(), text, kMaxLengthTokens, rows_read));
  }
  return tokens;
}

}  // namespace

LengthTable read_length_table(const std::string& path) {
  LineReader lines(path);
  LengthTable table;
  std::string_view line;
  bool has_pairs = false;
  while (lines.next(line)) {
    const std::size_t comma = line.find(',');
    const bool is_pair = comma != std::string_view::npos;
    if (lines.line_number() == 1 && line == "input,output") {
      has_pairs = true;
      continue;
    }
    const std::size_t rows_read = table.prompt.size();
    if (rows_read == 0 && is_pair) has_pairs = true;
    if (is_pair != has_pairs) {
      throw DataError(fmt::format("{}: row '{}', expected {} ({} rows read)", lines.place(), line,
                                  has_pairs ? "input,output" : "one integer", rows_read));
    }
    const std::int64_t prompt = length(line.substr(0, comma), lines, rows_read);
    if (is_pair) table.output.push_back(length(line.substr(comma + 1), lines, rows_read));
    table.prompt.push_back(prompt);
  }
  if (table.prompt.empty()) throw DataError(fmt::format("{}: no lengths in this file", path));
  return table;
}

}  // namespace headroom
