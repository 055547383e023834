#include "sim/app/commands/short_flag.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <functional>
#include <optional>
#include <string>

#include "sim/scenario/short_values.hpp"

namespace headroom {

CLI::Option* with_short_numbers(CLI::Option* option, std::string_view unit, const Bounds& bounds) {
  const std::function<std::string(std::string)> plain = [unit, bounds](const std::string& text) {
    const std::optional<double> number = short_number(text, unit, bounds);
    return number ? fmt::format("{}", *number) : text;
  };
  return option->transform(plain, "");
}

}  // namespace headroom
