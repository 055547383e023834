#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "sim/deploy/emit.hpp"
#include "sim/resolve/fleet_lifecycle_factory.hpp"
#include "sim/resolve/resolve.hpp"
#include "sim/scenario/fleet_options.hpp"
#include "sim/scenario/options.hpp"

namespace headroom {
namespace {

constexpr const char* kVersion = "/engine/version";

std::string dotted_option(std::string_view pointer) {
  std::string path(pointer.substr(1));
  std::ranges::replace(path, '/', '.');
  return path;
}

class Comparison {
 public:
  Comparison(const Scenario& given, Json read, const Catalog& catalog)
      : given_(given), read_(std::move(read)), catalog_(catalog) {}

  std::vector<std::string> all() {
    // What reads fall back on is decided by the device and the release.
    complete();
    const Scenario read = parse_scenario({"deployment", read_, {}});
    compare_groups(read);
    compare_fleet(read);
    return {options_.begin(), options_.end()};
  }

 private:
  void add(std::string_view pointer) { options_.insert(dotted_option(pointer)); }

  // A file that says neither device nor release is compared as one for those of the scenario.
  void complete() {
    const Scenario& first = group_of(given_, 0);
    if (!read_.contains("device") && !first.device.name.empty()) {
      add("/device");
      read_["device"] = first.device.name;
    }
    if (!read_["engine"].contains("version") && first.engine.version) {
      add(kVersion);
      read_["engine"]["version"] = *first.engine.version;
    }
  }

  static std::size_t groups_in(const Scenario& scenario) {
    return std::max<std::size_t>(1, scenario.fleet.groups.size());
  }
  static const Scenario& group_of(const Scenario& scenario, std::size_t i) {
    return scenario.fleet.groups.empty() ? scenario : *scenario.fleet.groups[i].scenario;
  }

  void compare_groups(const Scenario& read) {
    if (groups_in(given_) != groups_in(read) ||
        given_.fleet.groups.empty() != read.fleet.groups.empty()) {
      add("/fleet/groups");
    }
    const std::size_t count = std::min(groups_in(given_), groups_in(read));
    for (std::size_t i = 0; i < count; ++i) {
      compare_systems(group_of(given_, i), group_of(read, i));
      if (size_of_group(given_, i).count != size_of_group(read, i).count) {
        add(given_.fleet.groups.empty() ? "/fleet/replicas" : "/fleet/groups/count");
      }
      if (given_.fleet.groups.empty() || read.fleet.groups.empty()) continue;
      compare_elements(given_.fleet.groups[i], read.fleet.groups[i]);
    }
  }

  void compare_elements(const GroupSection& a, const GroupSection& b) {
    if (a.name != b.name) add("/fleet/groups/name");
    if (a.role != b.role) add("/fleet/groups/role");
    if (a.weight != b.weight) add("/fleet/groups/weight");
    if (a.cost_per_hour != b.cost_per_hour) add("/fleet/groups/cost_per_hour");
    if (a.zones != b.zones) add("/fleet/groups/zones");
  }

  // As both will run, whoever filled in an option.
  void compare_systems(const Scenario& a, const Scenario& b) {
    const Resolved given = resolve_system(a, catalog_);
    const Resolved read = resolve_system(b, catalog_);
    if (given.model.id != read.model.id) add("/model");
    if (a.model_override != b.model_override) add("/model_override");
    if (given.device.id != read.device.id) add("/device");
    if (given.version != read.version) add(kVersion);
    for (const OptionRow& row : all_options()) {
      const bool device = row.pointer.starts_with("/device/") && row.pointer != "/device/name";
      const bool engine = row.pointer.starts_with("/engine/") && row.pointer != kVersion;
      if (!device && !engine) continue;
      if (value_of(row, given.scenario) != value_of(row, read.scenario)) add(row.pointer);
    }
  }

  void compare_fleet(const Scenario& read) {
    for (const OptionRow& row : fleet_options()) {
      if (row.pointer == "/fleet/replicas") continue;  // compared as what it means
      if (value_of(row, given_) != value_of(row, read)) add(row.pointer);
    }
    const std::map<std::string, Json> a = elements_of(given_);
    const std::map<std::string, Json> b = elements_of(read);
    for (const auto& [place, value] : a) {
      const auto other = b.find(place);
      if (other != b.end() && other->second == value) continue;
      const std::string list = place.substr(0, place.find_first_of("0123456789"));
      const bool none = std::ranges::none_of(
          b, [&](const auto& element) { return element.first.starts_with(list); });
      add(none ? list.substr(0, list.size() - 1) : without_numbers(place));
    }
    for (const auto& [place, value] : b) {
      if (!a.contains(place)) add(without_numbers(place));
    }
  }

  // Of the plain lists; groups are compared by themselves. A default that is said is one.
  static std::map<std::string, Json> elements_of(const Scenario& scenario) {
    std::map<std::string, Json> elements;
    for (auto& [place, value] : fleet_list_values(scenario)) {
      if (place.starts_with("/fleet/groups/")) continue;
      if (value == usual_value(without_numbers(place))) continue;
      elements.emplace(place, std::move(value));
    }
    return elements;
  }

  static Json usual_value(const std::string& pointer) {
    Scenario empty;
    empty.fleet.autoscaling.resize(1);
    empty.fleet.restarts.resize(1);
    empty.fleet.routes.resize(1);
    empty.fleet.faults.crashes.resize(1);
    empty.fleet.faults.slow.resize(1);
    empty.fleet.faults.zone_losses.resize(1);
    for (const OptionRow& row : fleet_element_options()) {
      if (row.pointer == pointer && !pointer.starts_with("/fleet/groups/")) {
        return value_of(row, empty);
      }
    }
    return nullptr;
  }

  // "/fleet/faults/crashes/0/at_s" -> "/fleet/faults/crashes/at_s"
  static std::string without_numbers(const std::string& place) {
    std::string result;
    for (std::size_t at = 0; at < place.size();) {
      const std::size_t end = std::min(place.find('/', at + 1), place.size());
      const std::string key = place.substr(at, end - at);
      if (key.find_first_not_of("/0123456789") != std::string::npos) result += key;
      at = end;
    }
    return result;
  }

  const Scenario& given_;
  Json read_;
  const Catalog& catalog_;
  std::set<std::string> options_;
};

}  // namespace

std::vector<std::string> differing_options(const Scenario& given, const Json& read,
                                           const Catalog& catalog) {
  return Comparison(given, read, catalog).all();
}

}  // namespace headroom
