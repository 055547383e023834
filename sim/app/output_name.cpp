#include "sim/app/output_name.hpp"

#include <fmt/format.h>

#include "sim/kernel/errors.hpp"
#include "sim/kernel/visible_text.hpp"

namespace headroom {
namespace {

// File systems take 255 bytes; temporary names are up to 30 longer.
constexpr std::size_t kMostNameBytes = 200;

bool is_file_name(const std::string& name) {
  const bool is_long = name.empty() || name.size() > kMostNameBytes;
  const bool is_folder = name == "." || name == "..";
  return !is_long && !is_folder && name.find('/') == std::string::npos &&
         name.find('\\') == std::string::npos && visible_text(name) == name;
}

}  // namespace

std::string output_name(const std::string& file, const std::string& name) {
  if (is_file_name(name)) return name;
  constexpr std::size_t kShownBytes = 60;
  const std::string start = name.substr(0, kShownBytes);
  throw ConfigError(
      Complaint{.origin = file,
                .pointer = "/name",
                .problem = fmt::format(
                    "value \"{}{}\": the output is named after it: expected 1 to {} bytes of UTF-8 "
                    "without / \\ and control characters, not . or ..; or name the output with -o",
                    start, start == name ? "" : "...", kMostNameBytes)});
}

}  // namespace headroom
