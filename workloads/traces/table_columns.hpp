#pragma once
// What the columns of a table that no one has described mean: found by the names that people give
// them, or said by the user.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/kernel/time.hpp"
#include "workloads/traces/table_dates.hpp"

namespace headroom {

// Of numbers; dates are read as such.
enum class TimeUnit : std::uint8_t { by_size, s, ms, us, ns };
[[nodiscard]] std::string_view name_of(TimeUnit unit);
[[nodiscard]] TimeNs unit_ns(TimeUnit unit);  // not of by_size

// "time=ts:s,in=prompt,out=completion,status=code" as it was given; what is empty is looked for by
// name. Rows have no times where `time` is "none", and all count where `status` is.
struct NamedColumns {
  std::string time;
  TimeUnit unit = TimeUnit::by_size;
  DateOrder order = DateOrder::unknown;  // "time=ts:mdy", of dates with the year behind
  std::string prompt;
  std::string output;
  std::string status;
};
// ConfigError: no such role or unit, a role that stands twice.
[[nodiscard]] NamedColumns parse_columns(std::string_view text);

struct TableColumns {
  std::optional<std::size_t> time;  // nothing: rows have no times
  TimeUnit unit = TimeUnit::s;
  bool is_date = false;
  DateOrder order = DateOrder::year_first;
  std::optional<std::size_t> status;  // HTTP status of a request's answer
  std::size_t prompt = 0;
  std::size_t output = 0;
  std::string note;  // what was assumed, in one line
};

// Whether one of several names says tokens of a prompt or of an answer, or a time.
[[nodiscard]] bool names_requests(std::span<const std::string> names);

// `samples`: some rows from the beginning, each with a field for every name. DataError after
// `place`, with all that is wrong at once: a column that is named is not there, no column holds
// tokens of prompts or answers, or several may hold times and none is known to; dates that do not
// show whether the month stands first.
[[nodiscard]] TableColumns find_columns(std::span<const std::string> names,
                                        std::span<const std::vector<std::string>> samples,
                                        const NamedColumns& given, std::string_view place);

}  // namespace headroom
