#pragma once
// Where the numbers of a trace stand in its text, and what its reader makes of each.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tests/unit/workloads/trace_samples.hpp"

namespace headroom::trace_samples {

struct Number {
  std::size_t begin = 0;  // in the text, without quotes
  std::size_t size = 0;
  std::size_t line = 0;  // from 1
  std::string key;       // its column, or the innermost key around it
  bool bare = false;     // of JSON, without quotes
};

// All fields, and all values of JSON, that are a number or a time.
[[nodiscard]] std::vector<Number> numbers_of(const Sample& sample, std::string_view text);

enum class Meaning : std::uint8_t {
  count,    // 0 .. 2^31 - 1
  time,     // a decimal >= 0 within 285 years
  span,     // the same, and below 0, too
  id,       // 0 .. 2^63 - 1
  wide_id,  // 0 .. 2^64 - 1
  parent,   // 0 .. 2^63 - 1, and -1 for none
  name,     // an integer >= 0, or any text
  integer,  // -2^31 .. 2^31 - 1
  fixed,    // no other value is right there
  unread
};

// Fails the test where the table of meanings does not have the key.
[[nodiscard]] Meaning meaning_of(const Sample& sample, std::string_view key);

// Of "NaN", "-1", 2^31, 2^63, "1e400" and "x" those that are wrong there.
[[nodiscard]] std::vector<std::string_view> wrong_values(Meaning meaning);

}  // namespace headroom::trace_samples
