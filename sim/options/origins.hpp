#pragma once
// Who gave which value. Every error about a value of the user's names that file or flag first.

#include <map>
#include <string>
#include <string_view>

#include "sim/kernel/errors.hpp"

namespace headroom {

struct Origins {
  // JSON pointer -> file or flag, for every value the user gave.
  std::map<std::string, std::string> given;
  std::string file;  // as errors and provenance call the scenario

  [[nodiscard]] bool is_given(const std::string& pointer) const { return given.contains(pointer); }
  // The first value that was given at or below `pointer`; empty: none.
  [[nodiscard]] std::string given_below(std::string_view pointer) const;
  // Where an error about that value points to: the file or flag that gave it, or the first value
  // below it; else the scenario.
  [[nodiscard]] const std::string& origin(const std::string& pointer) const;

  // ConfigError about the value at `pointer`.
  [[noreturn]] void refuse(const std::string& pointer, std::string_view why,
                           ErrorKind kind = ErrorKind::conflict) const;
  [[noreturn]] void refuse_value(const std::string& pointer, std::string value,
                                 std::string_view allowed, ErrorKind kind = ErrorKind::value) const;
  // The option changes nothing here. `why` follows "has no effect": "", ": ...", "; only with ...".
  [[noreturn]] void refuse_unused(const std::string& pointer, std::string_view why) const;
  [[noreturn]] void refuse_missing(const std::string& pointer, std::string_view wanted) const;
};

}  // namespace headroom
