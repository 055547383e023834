#pragma once
// std::from_chars of floating-point numbers. Emscripten's strtod rounds correctly too.

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <string>
#include <system_error>

namespace std {

inline from_chars_result from_chars(const char* first, const char* last, double& value,
                                    chars_format = chars_format::general) {
  constexpr const char* kNumber = "+-.0123456789eEinfatyINFATY";  // no hexadecimal, no spaces
  const string text(first, last);
  const size_t size = min(text.find_first_not_of(kNumber), text.size());
  const string number = text.substr(0, size);
  char* end = nullptr;
  errno = 0;
  const double read = number.starts_with('+') ? 0 : strtod(number.c_str(), &end);
  if (end == nullptr || end == number.c_str()) return {first, errc::invalid_argument};
  const char* stop = first + (end - number.c_str());
  if (errno == ERANGE) return {stop, errc::result_out_of_range};
  value = read;
  return {stop, errc{}};
}

}  // namespace std
