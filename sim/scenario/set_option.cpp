#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <variant>
#include <vector>

#include "sim/scenario/options.hpp"
#include "sim/scenario/short_paths.hpp"

namespace headroom {
namespace {

bool is_number(std::string_view key) {
  return !key.empty() && key.find_first_not_of("0123456789") == std::string_view::npos;
}

// The option that stands at `keys` of a document: /workload/classes/0/name is /workload/name,
// /fleet/groups/1/engine/version is /engine/version, /fleet/routes/0/policy is an element's.
std::vector<std::string> option_pointers(const std::vector<std::string>& keys) {
  std::string all;
  std::string below_list;
  for (const std::string& key : keys) {
    if (is_number(key)) {
      below_list.clear();
      if (all == "/workload/classes") below_list = "/workload";
      continue;
    }
    all += "/" + pointer_token(key);
    below_list += "/" + pointer_token(key);
  }
  return {all, below_list};
}

const OptionRow* option_at(const std::string& pointer) {
  for (const std::span<const OptionRow> rows :
       {std::span<const OptionRow>(all_options()), fleet_element_options()}) {
    const auto found = std::ranges::find(rows, pointer, &OptionRow::pointer);
    if (found != rows.end()) return &*found;
  }
  return nullptr;
}

// Of the option, or of a section's name: "device=4090" names a device.
bool takes_text(const std::string& pointer) {
  const OptionRow* row = option_at(pointer);
  if (row == nullptr && pointer != "/workload") row = option_at(pointer + "/name");
  return row != nullptr && type_name(*row) == "text";
}

}  // namespace

void set_option(JsonDocument& document, std::string_view assignment, const std::string& given_as) {
  const std::string origin = given_as.empty() ? fmt::format("--set {}", assignment) : given_as;
  const std::size_t equals = assignment.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    return set_value(document, assignment, origin);
  }
  const std::string path = whole_path(assignment.substr(0, equals), origin);
  set_value(document, path + std::string(assignment.substr(equals)), origin);
  const std::vector<std::string> keys = path_keys(path, document.name);
  if (!std::ranges::any_of(option_pointers(keys), takes_text)) return;
  Json* value = &document.root;
  for (const std::string& key : keys) {
    value = value->is_array() ? &value->at(std::stoul(key)) : &value->at(key);
  }
  if (value->is_number() || value->is_boolean())
    *value = std::string(assignment.substr(equals + 1));
}

}  // namespace headroom
