#include "sim/scenario/short_paths.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "sim/kernel/nearest_name.hpp"
#include "sim/scenario/options.hpp"

namespace headroom {
namespace {

struct TrafficWord {
  std::string_view word;
  std::string_view path;
};
constexpr std::array kTrafficWords{TrafficWord{"rate", "workload.arrivals.request_rate"},
                                   TrafficWord{"users", "workload.closed_loop.users"},
                                   TrafficWord{"in", "workload.prompt.tokens"},
                                   TrafficWord{"out", "workload.output.tokens"}};
// Sections that may be written as one value (main_key).
constexpr std::array<std::string_view, 4> kValueSections{
    "/workload/prompt", "/workload/arrivals", "/workload/closed_loop", "/workload/trace"};

std::string pointer_at(std::string_view path) {
  std::string pointer(path);
  std::ranges::replace(pointer, '.', '/');
  return pointer.starts_with('/') ? pointer : "/" + pointer;
}

std::string path_at(std::string_view pointer) {
  std::string path(pointer.substr(1));
  std::ranges::replace(path, '/', '.');
  return path;
}

// An option, or what options or elements of lists stand below of.
bool is_place(const std::string& pointer) {
  const std::string first = pointer.substr(0, pointer.find('/', 1));
  const std::string below = pointer + "/";
  return std::ranges::any_of(all_options(), [&](const OptionRow& row) {
    const bool whole = row.pointer == pointer || row.pointer.starts_with(below);
    // The parser explains wrong keys of a section, and numbers stand for elements of lists.
    return whole || (first != pointer && row.pointer.starts_with(first + "/"));
  });
}

std::vector<std::string> places_that_end(const std::string& pointer) {
  std::vector<std::string> found;
  for (const OptionRow& row : all_options()) {
    if (row.pointer.ends_with(pointer)) found.push_back(path_at(row.pointer));
  }
  for (const std::string_view section : kValueSections) {
    if (section.ends_with(pointer)) found.push_back(path_at(section));
  }
  return found;
}

}  // namespace

std::string whole_path(std::string_view path, const std::string& origin) {
  const auto word = std::ranges::find(kTrafficWords, path, &TrafficWord::word);
  if (word != kTrafficWords.end()) return std::string(word->path);
  const std::string pointer = pointer_at(path);
  if (is_place(pointer)) return std::string(path);
  const std::vector<std::string> found = places_that_end(pointer);
  if (found.size() == 1) return found.front();
  if (found.empty()) return std::string(path);
  throw ConfigError(Complaint{
      .kind = ErrorKind::conflict,
      .origin = origin,
      .problem = fmt::format("{} may be any of {}: write one of them", path, comma_list(found))});
}

void place_short_keys(JsonDocument& document) {
  if (!document.root.is_object()) return;
  std::vector<std::string> keys;
  for (const auto& [key, value] : document.root.items()) keys.push_back(key);
  for (const std::string& key : keys) {
    if (key == "$schema") continue;
    const std::string path = whole_path(key, document.name);
    if (path == key) continue;
    Json value = document.root[key];
    const std::vector<std::string> to = path_keys(path, document.name);
    if (document.root.contains(Json::json_pointer(pointer_of(to)))) {
      throw key_error(document, "/" + pointer_token(key),
                      fmt::format("given twice: it stands for {}, which is there, too", path),
                      ErrorKind::conflict);
    }
    document.root.erase(key);
    const std::string file = document.name;
    set_at(document, to, std::move(value), file);
  }
}

}  // namespace headroom
