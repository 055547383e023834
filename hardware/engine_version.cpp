#include "hardware/engine_version.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "sim/kernel/errors.hpp"

namespace headroom {
namespace {

// Words of builds that come before the release they are named after (Python's PEP 440).
constexpr std::array<std::string_view, 8> kBefore{"rc",  "dev", "alpha", "beta",
                                                  "pre", "a",   "b",     "c"};

// Of what follows the patch: "rc1.dev16" and ".dev0+g101584af0" are, "+cu128" and ".post1" are not.
bool is_before_release(std::string_view rest) {
  rest.remove_prefix(std::min(rest.find_first_not_of(".-_"), rest.size()));
  return std::ranges::any_of(kBefore, [rest](std::string_view word) {
    if (!rest.starts_with(word)) return false;
    const std::string_view number = rest.substr(word.size());
    return number.empty() || number.find_first_of("0123456789.") == 0;
  });
}

}  // namespace

EngineVersion parse_engine_version(std::string_view text) {
  const auto refuse = [&] {
    return ConfigError(fmt::format("engine version '{}': major.minor, e.g. 0.19", text));
  };
  std::string_view rest = text;
  if (rest.starts_with('v')) rest.remove_prefix(1);
  const char* const end = rest.data() + rest.size();
  EngineVersion version;
  const auto major = std::from_chars(rest.data(), end, version.major);
  if (major.ec != std::errc{} || major.ptr == end || *major.ptr != '.') throw refuse();
  const auto minor = std::from_chars(major.ptr + 1, end, version.minor);
  if (minor.ec != std::errc{} || version.major < 0 || version.minor < 0) throw refuse();
  // Patch level, release candidate and build tag do not matter, but must look like one.
  if (minor.ptr != end && *minor.ptr != '.' && *minor.ptr != '+' && *minor.ptr != 'r')
    throw refuse();
  if (rest.starts_with("0.0.")) {
    throw ConfigError(fmt::format(
        "engine version '{}': a build that names no release; give the one it is made from, e.g. "
        "0.19",
        text));
  }
  return version;
}

std::string to_string(EngineVersion version) {
  return fmt::format("{}.{}", version.major, version.minor);
}

std::optional<std::int32_t> patch_of(std::string_view text) {
  const std::size_t first = text.find('.');
  const std::size_t second = first == std::string_view::npos ? first : text.find('.', first + 1);
  if (second == std::string_view::npos) return std::nullopt;
  std::int32_t patch = 0;
  const auto parsed = std::from_chars(text.data() + second + 1, text.data() + text.size(), patch);
  if (parsed.ec != std::errc{} || patch < 0) return std::nullopt;
  const std::string_view rest = text.substr(static_cast<std::size_t>(parsed.ptr - text.data()));
  return patch > 0 && is_before_release(rest) ? patch - 1 : patch;
}

}  // namespace headroom
