#include "sim/deploy/deployment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "hardware/budget/budget.hpp"
#include "hardware/llm/parameters.hpp"
#include "sim/engines/engines.hpp"
#include "sim/intake/gpu_products.hpp"
#include "sim/intake/values.hpp"
#include "sim/resolve/fleet_lifecycle_factory.hpp"

namespace headroom {
namespace {

// Of the simulated start, because machines differ.
constexpr double kStartMargin = 3;

// Letters, digits and dashes, a letter first: the name of a Service.
std::string dns_label(const std::string& text) {
  constexpr std::size_t kMost = 40;  // charts add to it, and 63 is the limit
  std::string label;
  for (const char c : text) {
    if (c >= 'A' && c <= 'Z') {
      label += static_cast<char>(c - 'A' + 'a');
    } else if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) {
      label += c;
    } else if (!label.empty() && label.back() != '-') {
      label += '-';
    }
  }
  if (label.empty() || label.front() < 'a') label = "fleet-" + label;
  label.resize(std::min(label.size(), kMost));
  while (label.ends_with('-')) label.pop_back();
  return label;
}

// "0.19" -> "0.19.0": tags of images have three numbers.
std::string release_of(const std::string& version) {
  const auto dots = std::ranges::count(version, '.');
  return dots == 1 ? version + ".0" : version;
}

std::size_t program_words(const EngineLaunch& launch) {
  std::size_t count = 0;
  for (const std::string_view word : split(launch.command, ' ')) {
    if (word == "{}" || word.starts_with("--")) break;
    ++count;
  }
  return count;
}

void write_command(const Scenario& scenario, const Resolved& resolved, DeployedGroup& group) {
  const EngineLaunch* launch = group.engine->launch;
  if (launch == nullptr || launch->command.empty()) {
    scenario.refuse(
        "/engine/name",
        fmt::format("no server command of {} is known, so nothing starts it", group.engine->name),
        ErrorKind::unsupported);
  }
  ServeCommand command = serve_command(engine_section(scenario), group.model);
  const auto behind = command.words.begin() + static_cast<std::ptrdiff_t>(program_words(*launch));
  group.program.assign(command.words.begin(), behind);
  group.flags.assign(behind, command.words.end());
  group.environment = std::move(command.environment);
  group.settings = std::move(command.settings);
  const EngineDeployment& facts = launch->deployment;
  if (facts.image.empty()) return;
  const std::string version = resolved.scenario.engine.version.value_or("latest");
  group.image = fmt::format(fmt::runtime(facts.image), facts.whole_release != nullptr
                                                           ? facts.whole_release(version)
                                                           : release_of(version));
}

DeployedGroup group_of_scenario(const Scenario& scenario, const Catalog& catalog) {
  const Resolved resolved = resolve_system(scenario, catalog);
  DeployedGroup group;
  group.engine = resolved.engine;
  // A file of settings is no checkpoint; it may name the one that it is of.
  const bool names_its_own = scenario.model.ends_with(".json") && !resolved.model.hf_repo.empty();
  group.model = names_its_own ? resolved.model.hf_repo : launched_model(scenario.model, catalog);
  write_command(scenario, resolved, group);
  const EngineSection& engine = resolved.scenario.engine;
  group.gpus = resolved.sharding.devices();
  group.tensor_parallel_size = engine.tensor_parallel_size;
  group.device = resolved.device.id;
  group.product = gpu_product(group.device);
  group.shared_memory_gib = scenario.environment.shm_size_gib;
  group.memory_limit_gib = scenario.environment.memory_limit_gib;
  group.enable_prefix_caching = engine.enable_prefix_caching;
  group.checkpoint_gib = gib_from_bytes(checkpoint_bytes(resolved.model));
  group.start_s = engine.restart_s.value_or(0);
  return group;
}

void add_fleet(const FleetSection& fleet, const std::string& name, DeployedGroup& group) {
  const AutoscalingSection* scaling = autoscaling_of(fleet, name);
  if (scaling == nullptr) return;
  group.scaling = *scaling;
  group.start_s = scaling->start_s.value_or(group.start_s);
}

// No two groups have one name.
void name_groups(Deployment& deployment) {
  std::vector<std::string> taken;
  for (DeployedGroup& group : deployment.groups) {
    const bool only = group.group.empty();
    std::string name = only ? deployment.name : dns_label(deployment.name + "-" + group.group);
    while (std::ranges::count(taken, name) > 0) name += "-x";
    taken.push_back(name);
    group.name = name;
  }
}

}  // namespace

Deployment deployment_of(const Scenario& scenario, const Catalog& catalog) {
  const FleetSection& fleet = scenario.fleet;
  Deployment deployment;
  deployment.name = dns_label(scenario.name.empty() ? "engine" : scenario.name);
  deployment.devices_per_node = scenario.device.per_node;
  std::int64_t replicas = 0;
  for (std::size_t i = 0; i < std::max<std::size_t>(1, fleet.groups.size()); ++i) {
    const bool listed = !fleet.groups.empty();
    DeployedGroup group = group_of_scenario(listed ? *fleet.groups[i].scenario : scenario, catalog);
    if (listed) {
      group.group = fleet.groups[i].name;
      if (fleet.groups[i].role != "both") group.role = fleet.groups[i].role;
    }
    add_fleet(fleet, group.group, group);
    group.replicas = size_of_group(scenario, i).count;
    replicas += group.scaling ? group.scaling->max_replicas : group.replicas;
    deployment.groups.push_back(std::move(group));
  }
  if (replicas > 1) deployment.router = fleet.router.policy;
  name_groups(deployment);
  return deployment;
}

std::string gibibytes(double gib) {
  const double mib = std::ceil(gib * 1024);
  const auto whole = static_cast<std::int64_t>(mib);
  return whole % 1024 == 0 ? fmt::format("{}Gi", whole / 1024) : fmt::format("{}Mi", whole);
}

std::int64_t start_failures(const DeployedGroup& group, std::int64_t period_s) {
  constexpr std::int64_t kFewest = 6;
  constexpr double kGbPerGib = 1.073741824;
  const double download_s = group.checkpoint_gib * kGbPerGib / kDownloadGbPerS;
  const double periods =
      std::ceil((kStartMargin * group.start_s + download_s) / static_cast<double>(period_s));
  return std::max(kFewest, static_cast<std::int64_t>(periods));
}

std::vector<std::string> listening_flags(const DeployedGroup& group, const std::string& host,
                                         std::int64_t port) {
  std::vector<std::string> flags = group.flags;
  const EngineDeployment& facts = group.facts();
  const std::vector<std::string> address{std::string(facts.host_flag), host,
                                         std::string(facts.port_flag), fmt::to_string(port)};
  flags.insert(flags.end(), address.begin(), address.end());
  return flags;
}

}  // namespace headroom
