#include "sim/app/shared_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <sstream>
#include <utility>

#include "hardware/device_names.hpp"
#include "sim/app/engine_source.hpp"
#include "sim/app/input_text.hpp"
#include "sim/engines/engines.hpp"
#include "sim/kernel/nearest_name.hpp"
#include "sim/memory/what_if.hpp"
#include "sim/scenario/options.hpp"
#include "sim/scenario/scenario_file.hpp"

namespace headroom {
namespace {

ComposeServices compose_services(const std::string& file, std::string_view release,
                                 std::string_view wanted) {
  std::istringstream text(input_text(file));
  return engines_of_compose(text, file, release, wanted);
}

// "chat:engine.max_num_seqs=64": the service before the first ':', where that comes before '='.
std::string_view service_of(std::string_view assignment) {
  const std::size_t colon = assignment.find(':');
  return colon < assignment.find('=') ? assignment.substr(0, colon) : std::string_view();
}

std::vector<std::string> names_of(const ComposeServices& found) {
  std::vector<std::string> names;
  for (const ComposeService& service : found.services) names.push_back(service.name);
  return names;
}

ConfigError no_service(const char* flag, const std::string& wanted,
                       const std::vector<std::string>& names) {
  const std::string nearest = nearest_name(wanted, names);
  return ConfigError(
      Complaint{.origin = flag,
                .value = wanted,
                .problem = fmt::format("no such service: one of {}{}", comma_list(names),
                                       nearest.empty() ? "" : " (nearest: " + nearest + ")")});
}

DescribedSystem described(const ComposeService& service, const std::string& file,
                          const std::string& device, const std::vector<std::string>& set) {
  DescribedSystem system{
      {.json = {fmt::format("{}: {}", file, service.name), service.engine.scenario, {}},
       .directory = {}},
      service.engine.notes};
  if (!service.engine.unknown_flags.empty()) {
    system.assumed.push_back("left out, because unknown: " +
                             comma_list(service.engine.unknown_flags));
    system.doubt = doubt_of_flags(service.engine);
  }
  JsonDocument& document = system.document.json;
  set_device(device, document);
  for (const std::string& assignment : set) {
    auto setting = setting_for(service.name, assignment);
    if (!setting) setting = setting_for(service.service, assignment);
    if (setting) set_option(document, *setting, "--set " + assignment);
  }
  if (document.root.contains("model")) {
    std::erase(system.assumed, kModelNotNamed);
  } else {
    throw ConfigError(Complaint{
        .kind = ErrorKind::missing,
        .origin = fmt::format("{}: services/{}", file, service.name),
        .problem = fmt::format("names no model, which it loads later: add --set {}:model=MODEL",
                               service.name)});
  }
  return system;
}

std::string others_note(const SharedStart& start, const std::vector<SharedStart>& before) {
  std::vector<std::string> parts;
  for (const SharedStart& other : before) {
    if (!share_a_device(other, start)) continue;
    parts.push_back(
        other.held_bytes == 0
            ? fmt::format("{} nothing, because it does not start", other.name)
            : fmt::format("{} {:.2f} GiB", other.name, gib_from_bytes(other.held_bytes)));
  }
  return parts.empty() ? "" : "of its device the services before it hold: " + comma_list(parts);
}

// A change may not take what the other services of its device hold, less two hundredths for what
// grows.
void leave_room(DescribedSystem& system, const SharedStart& own,
                const std::vector<SharedStart>& starts) {
  ByteCount others = 0;
  std::vector<std::string> names;
  for (const SharedStart& other : starts) {
    if (&other == &own || !share_a_device(other, own)) continue;
    others += other.held_bytes;
    names.push_back(other.name);
  }
  if (names.empty()) return;
  const auto total = static_cast<double>(own.system.resolved.device.memory_reported_bytes);
  const double left = 100 * (1 - static_cast<double>(others) / total);
  system.largest_share = std::max(0.0, std::floor(left - 2) / 100);
  system.beside = fmt::format(
      "{} {} the device's memory, as counted, but take{} none of its time here: while "
      "others work, an engine is slower",
      comma_list(names), names.size() == 1 ? "shares" : "share", names.size() == 1 ? "s" : "");
}

Scenario scenario_on_device(const ScenarioDocument& document) {
  if (!document.json.root.contains("device")) {
    throw ConfigError(Complaint{.kind = ErrorKind::missing,
                                .origin = "--device",
                                .problem = "a compose file does not say which device the "
                                           "services run on: add one (h100-sxm, l40s, rtx4090, "
                                           "...; see `headroom list devices`)"});
  }
  return load_scenario(document, document.json.name, {});
}

// "2x4090" is the host here, whatever each service takes of it; count 0: not said.
CountedDevice host_devices(const std::string& device) {
  const std::optional<CountedDevice> counted = counted_device(device);
  if (!counted) return {0, device};
  if (counted->count == 0) {
    throw ConfigError(Complaint{.origin = "--device",
                                .value = device,
                                .problem = "a host without a device: expected a count from 1 on"});
  }
  return *counted;
}

// Those that the file lets the service see, of those that the host has.
std::vector<std::string> seen_devices(const ComposeService& service, const CountedDevice& host,
                                      const std::string& file) {
  if (host.count == 0) return service.devices;
  std::vector<std::string> all;
  for (std::int64_t i = 0; i < host.count; ++i) all.push_back(fmt::to_string(i));
  if (service.devices.empty()) return all;
  for (const std::string& id : service.devices) {
    const bool is_number = id.find_first_not_of("0123456789") == std::string::npos;
    if (!is_number || std::ranges::find(all, id) != all.end()) continue;
    throw ConfigError(
        Complaint{.kind = ErrorKind::conflict,
                  .origin = fmt::format("{}: services/{}", file, service.name),
                  .value = id,
                  .problem = fmt::format("sees this GPU, and --device gives the host {}: 0 to {}",
                                         host.count, host.count - 1)});
  }
  return service.devices;
}

// Whether an option of it is set by hand.
bool is_set(const ComposeService& service, const std::vector<std::string>& set) {
  return std::ranges::any_of(set, [&](const std::string& one) {
    const std::string_view owner = service_of(one);
    return !owner.empty() && (owner == service.name || owner == service.service);
  });
}

void set_others(SharedService& service, const SharedStart& start) {
  const Scenario& scenario = start.system.resolved.scenario;
  JsonDocument& document = service.system.document.json;
  if (start.taken_bytes == 0) return;
  if (const auto& used = scenario.device.memory_used_gib) {
    set_option(document, fmt::format("device.memory_used_gib={}", *used));
  } else if (const auto& held = scenario.environment.processes_gib) {
    set_option(document, fmt::format("environment.processes_gib={}", *held));
  }
}

}  // namespace

std::optional<std::string> setting_for(const std::string& name, const std::string& assignment) {
  const std::string_view owner = service_of(assignment);
  if (owner.empty()) return assignment;
  if (owner != name) return std::nullopt;
  return assignment.substr(owner.size() + 1);
}

bool starts_several(const std::string& file, const std::string& wanted) {
  if (!is_input(file) || (file != kStandardInput && !is_yaml(file))) return false;
  if (!holds_services(input_text(file))) return false;
  const ComposeServices found = compose_services(file, {}, wanted);
  return !found.is_fleet && found.services.size() > 1;
}

SharedServices shared_services(const std::string& file, const std::string& device,
                               const std::vector<std::string>& set, const Catalog& catalog,
                               const std::string& wanted) {
  std::vector<std::string> for_all;
  for (const std::string& one : set) {
    if (service_of(one).empty()) for_all.push_back(one);
  }
  ComposeServices found = compose_services(file, release_given(for_all), wanted);
  const std::vector<std::string> names = names_of(found);
  for (const std::string& one : set) {
    const std::string owner(service_of(one));
    const bool known = std::ranges::any_of(found.services, [&](const ComposeService& service) {
      return service.name == owner || service.service == owner;
    });
    if (!owner.empty() && !known) {
      throw no_service("--set", owner, names);
    }
  }
  const CountedDevice host = host_devices(device);
  SharedServices all;
  std::vector<SharingEngine> engines;
  for (const ComposeService& service : found.services) {
    const bool is_other = !wanted.empty() && service.name != wanted && service.service != wanted;
    try {
      SharedService one{service.name, described(service, file, host.name, set)};
      Scenario scenario = scenario_on_device(one.system.document);
      std::optional<BudgetedSystem> alone;
      if (is_other) alone = budget_system(scenario, catalog);
      all.services.push_back(std::move(one));
      engines.push_back(
          {service.name, std::move(scenario), seen_devices(service, host, file), std::move(alone)});
    } catch (const ConfigError& error) {
      if (!is_other || is_set(service, set)) throw;
      found.left_out.push_back(left_out_note(service.name, error));
    }
  }
  all.order = std::move(found.notes);
  all.together = start_together(engines, catalog);
  for (std::size_t i = 0; i < all.services.size(); ++i) {
    const std::vector<SharedStart>& starts = all.together.starts;
    set_others(all.services[i], starts[i]);
    const std::string note =
        others_note(starts[i], {starts.begin(), starts.begin() + static_cast<std::ptrdiff_t>(i)});
    std::vector<std::string>& assumed = all.services[i].system.assumed;
    if (!note.empty()) assumed.push_back(note);
    leave_room(all.services[i].system, starts[i], starts);
    assumed.insert(assumed.end(), found.left_out.begin(), found.left_out.end());
    std::string& doubt = all.services[i].system.doubt;
    if (!found.left_out.empty() && doubt.empty()) {
      doubt = "may not start: what a service that is left out holds of the device is not known";
    }
  }
  return all;
}

const SharedService& service_named(const SharedServices& services, const std::string& name) {
  std::vector<std::string> names;
  for (const SharedService& service : services.services) {
    if (service.name == name) return service;
    names.push_back(service.name);
  }
  throw no_service("--service", name, names);
}

}  // namespace headroom
