#pragma once
// Dates in a table as spreadsheets write them ("11/27/2026 3:04:05 PM", "27.11.2026 15:04"), and
// the access logs of web servers ("27/Nov/2026:15:04:05 +0100"). Whether the month stands first is
// told by its name, by a value above 12, or by the user.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headroom {

enum class DateOrder : std::uint8_t { year_first, month_first, day_first, unknown };

// Whether `text` is a date with the year behind day and month.
[[nodiscard]] bool is_local_date(std::string_view text);

// What the cells of a column show together; `unknown` where no value is above 12, and where they
// contradict each other. Cells that are no such date say nothing; a year in front is year_first.
[[nodiscard]] DateOrder order_of_dates(std::span<const std::vector<std::string>> rows,
                                       std::size_t column);

// "2026-11-27 15:04:05" of such a date, for parse_timestamp. Nothing when it is none; whether the
// day exists is not checked.
[[nodiscard]] std::optional<std::string> date_with_year_first(std::string_view text,
                                                              DateOrder order);

}  // namespace headroom
