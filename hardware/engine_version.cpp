#include "hardware/engine_version.hpp"

#include <fmt/format.h>

#include <charconv>

#include "sim/kernel/errors.hpp"

namespace headroom {

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
  return patch;
}

}  // namespace headroom
