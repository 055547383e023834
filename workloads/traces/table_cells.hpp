#pragma once
// Cells of a table as people and spreadsheets write numbers: with a decimal comma where another
// separator stands between cells. Commas between thousands are refused where they are read.

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headroom {

// Whether a comma is the decimal point in these cells ("0,036", "12,5"), of a file whose cells are
// separated by something else. "3,671" alone does not say it.
[[nodiscard]] bool has_decimal_commas(std::span<const std::vector<std::string>> rows);

// "0,036" as "0.036", which `kept` then holds; `text` itself where it is no such number.
[[nodiscard]] std::string_view with_decimal_point(std::string_view text, std::string& kept);

// "1,234,567" as "1234567", likewise.
[[nodiscard]] std::string_view without_thousands(std::string_view text, std::string& kept);

// Whether a line holds values and no names: two cells or more are numbers or dates.
[[nodiscard]] bool holds_values(std::span<const std::string> cells);

}  // namespace headroom
