#include "sim/app/next_step.hpp"

#include <fmt/format.h>

#include "sim/report/text/wrapped_text.hpp"
#include "sim/scenario/scenario_file.hpp"

namespace headroom {
namespace {

constexpr std::size_t kNextLabelWidth = 12;
constexpr std::size_t kNextWidth = 80;

}  // namespace

std::string next_line(const std::string& command, std::string_view what) {
  if (command.empty()) return "";
  return wrapped("next", fmt::format("headroom {}: {}", command, what), kNextLabelWidth,
                 kNextWidth);
}

std::optional<std::string> scenario_words(const std::string& scenario,
                                          const std::vector<std::string>& set) {
  if (scenario == kStandardInput) return std::nullopt;
  std::string words = shell_word(scenario);
  for (const std::string& assignment : set) words += " --set " + shell_word(assignment);
  return words;
}

}  // namespace headroom
