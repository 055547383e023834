#include "workloads/traces/blis_header.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>

#include "sim/kernel/errors.hpp"
#include "workloads/traces/line_reader.hpp"

namespace headroom {
namespace {

namespace fs = std::filesystem;

std::optional<fs::path> header_of(const fs::path& table) {
  std::string other_stem = table.stem().string();
  constexpr std::string_view kData = "data";
  const std::size_t at = other_stem.rfind(kData);
  if (at != std::string::npos) other_stem.replace(at, kData.size(), "header");
  const std::array<std::string, 2> stems = {table.stem().string(), other_stem};
  for (const std::string& stem : stems) {
    for (const std::string_view extension : {".yaml", ".yml"}) {
      const fs::path path = table.parent_path() / (stem + std::string(extension));
      std::error_code none;
      if (fs::is_regular_file(path, none)) return path;
    }
  }
  return std::nullopt;
}

// The value of "key: value" at the left margin, without quotes; nothing on any other line.
std::optional<std::string_view> value_of(std::string_view line, std::string_view key) {
  if (!line.starts_with(key)) return std::nullopt;
  line.remove_prefix(key.size());
  if (!line.starts_with(':')) return std::nullopt;
  const auto strip = [&](std::string_view what) {
    const std::size_t begin = std::min(line.find_first_not_of(what), line.size());
    line.remove_prefix(begin);
    line = line.substr(0, line.find_last_not_of(what) + 1);
  };
  line.remove_prefix(1);
  strip(" ");
  strip("\"'");
  return line;
}

}  // namespace

BlisHeader read_blis_header(const std::string& csv_path) {
  BlisHeader header;
  const std::optional<fs::path> path = header_of(csv_path);
  if (!path) return header;
  LineReader lines(path->string());
  std::string_view line;
  while (lines.next(line)) {
    const auto refuse = [&](std::string_view key, std::string_view value, std::string_view wanted) {
      throw DataError(
          fmt::format("{}: {} is '{}', expected {}", lines.place(), key, value, wanted));
    };
    if (const auto unit = value_of(line, "time_unit")) {
      if (*unit != "microseconds" && *unit != "us") refuse("time_unit", *unit, "microseconds");
    }
    if (const auto growth = value_of(line, "session_context_growth")) {
      if (!growth->empty() && *growth != "accumulate") {
        refuse("session_context_growth", *growth, "accumulate or nothing");
      }
      header.accumulates = *growth == "accumulate";
    }
  }
  return header;
}

}  // namespace headroom
