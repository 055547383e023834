#include "sim/scenario/fleet_lists.hpp"

#include <fmt/format.h>

#include <utility>

namespace headroom {
namespace {

constexpr std::size_t kMaxElements = 1000;

template <auto... Members>
FleetList list(std::string_view pointer, std::string_view doc, std::vector<const char*> required) {
  return {pointer,
          doc,
          std::move(required),
          [](Scenario& holder, Scenario& scenario) {
            field<&Scenario::fleet, Members...>(scenario).push_back(
                field<&Scenario::fleet, Members...>(holder).front());
          },
          [](const Scenario& scenario) {
            // Only read: the tables reach fields of a mutable scenario.
            return field<&Scenario::fleet, Members...>(const_cast<Scenario&>(scenario)).size();
          },
          [](const Scenario* scenario, std::size_t index) {
            Scenario one;
            auto& elements = field<&Scenario::fleet, Members...>(one);
            if (scenario == nullptr) {
              elements.resize(1);
            } else {
              elements.push_back(
                  field<&Scenario::fleet, Members...>(const_cast<Scenario&>(*scenario))[index]);
            }
            return one;
          }};
}

}  // namespace

std::span<const FleetList> fleet_lists() {
  using F = FleetSection;
  using Faults = FaultsSection;
  static const std::vector<FleetList> lists{
      list<&F::faults, &Faults::crashes>("/fleet/faults/crashes", "by schedule",
                                         {"replica", "at_s"}),
      list<&F::faults, &Faults::slow>("/fleet/faults/slow", "replicas that run slowly for a while",
                                      {"replica", "at_s", "for_s", "factor"}),
      list<&F::faults, &Faults::zone_losses>("/fleet/faults/zone_losses",
                                             "zones that are down for a while",
                                             {"zone", "at_s", "for_s"}),
      list<&F::routes>("/fleet/routes", "several models behind one entry point",
                       {"name", "groups"}),
      list<&F::autoscaling>("/fleet/autoscaling", "groups whose replica count follows the load",
                            {"max_replicas", "metric", "target"}),
      list<&F::restarts>("/fleet/restarts", "restarts of all replicas, one after another",
                         {"at_s"}),
  };
  return lists;
}

const Json* list_at(const JsonDocument& document, std::string_view pointer) {
  const Json::json_pointer place{std::string(pointer)};
  if (!document.root.contains(place)) return nullptr;
  const Json& list = document.root.at(place);
  if (!list.is_array() || list.empty() || list.size() > kMaxElements) {
    throw value_error(document, std::string(pointer), list,
                      fmt::format("expected a list of 1 to {} objects", kMaxElements));
  }
  return &list;
}

void require_keys(const JsonDocument& document, const Scenario& scenario, const std::string& here,
                  std::span<const char* const> names) {
  for (const char* name : names) {
    if (scenario.is_given(fmt::format("{}/{}", here, name))) continue;
    throw key_error(document, here, fmt::format("missing: {}", name), ErrorKind::missing);
  }
}

void read_list(const JsonDocument& document, const FleetList& list, Scenario& scenario) {
  const Json* elements = list_at(document, list.pointer);
  if (elements == nullptr) return;
  for (std::size_t i = 0; i < elements->size(); ++i) {
    const std::string here = fmt::format("{}/{}", list.pointer, i);
    Scenario holder = list.alone(nullptr, 0);
    read_option_element(document, (*elements)[i], {here, std::string(list.pointer)}, {}, holder);
    require_keys(document, holder, here, list.required);
    list.append(holder, scenario);
    scenario.given.merge(holder.given);
  }
}

}  // namespace headroom
