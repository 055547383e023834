#include "sim/deploy/emit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <sstream>

#include "sim/deploy/forms.hpp"
#include "sim/engines/engines.hpp"
#include "sim/intake/chart_values.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/kernel/nearest_name.hpp"

namespace headroom {
namespace {

FromResult read_compose(const std::vector<DeploymentText>& files) {
  std::istringstream stream(files.front().text);
  return scenario_from_compose(stream, files.front().name, "");
}

FromResult read_deployment(const std::vector<DeploymentText>& files) {
  return scenario_from_deployment(files);
}

FromResult read_units(const std::vector<DeploymentText>& files) {
  std::vector<DeploymentText> units;
  for (const DeploymentText& file : files) {
    if (holds_unit(file.text)) units.push_back(file);
  }
  return scenario_from_units(units);
}

FromResult read_command(const std::vector<DeploymentText>& files) {
  SettingsFiles settings;
  for (std::size_t i = 1; i < files.size(); ++i) settings[files[i].name] = files[i].text;
  return scenario_from_command(files.front().text, files.front().name, {}, std::move(settings));
}

bool never_routes(std::string_view /*policy*/) { return false; }
// A Service hands connections to pods at random.
bool routes_at_random(std::string_view policy) { return policy == "random"; }
bool stack_routes(std::string_view policy) { return !stack_routing(policy).empty(); }
bool dynamo_routes(std::string_view policy) {
  return policy == "weighted" || policy == "round_robin" || policy == "random";
}

struct DeploymentForm {
  std::string_view name;
  DeploymentFiles (*write)(const Deployment& deployment);
  FromResult (*read)(const std::vector<DeploymentText>& files);
  bool (*routes)(std::string_view policy);  // as the scenario's router does
  bool in_containers = true;                // images and device requests are NVIDIA's
  bool moves_kv = false;                    // between prefill and decode replicas
};

constexpr std::array kForms{
    DeploymentForm{"kubernetes", kubernetes_files, read_deployment, routes_at_random},
    DeploymentForm{"helm-values", stack_files, read_deployment, stack_routes},
    DeploymentForm{"compose", compose_files, read_compose, never_routes},
    DeploymentForm{"systemd", unit_files, read_units, never_routes, false},
    DeploymentForm{"dynamo", dynamo_files, read_deployment, dynamo_routes, true, true},
    DeploymentForm{"llm-d", modelservice_files, read_deployment, never_routes, true, true},
};
// Behind an engine's name: "vllm-args".
constexpr std::string_view kArgsForm = "-args";
constexpr DeploymentForm kCommandForm{kArgsForm, command_files, read_command, never_routes, false};

bool has_command(const Engine& engine) {
  return engine.launch != nullptr && !engine.launch->command.empty();
}

const DeploymentForm& form_named(std::string_view name) {
  const auto found = std::ranges::find(kForms, name, &DeploymentForm::name);
  if (found != kForms.end()) return *found;
  check_deployment_form(name, "form");
  return kCommandForm;
}

void check_engine(std::string_view form, const Deployment& deployment) {
  if (!form.ends_with(kArgsForm)) return;
  const std::string_view engine = form.substr(0, form.size() - kArgsForm.size());
  for (const DeployedGroup& group : deployment.groups) {
    if (group.engine->name == engine) continue;
    refuse_form(form, group,
                fmt::format("the engine is {}: use {}{}", group.engine->name, group.engine->name,
                            kArgsForm));
  }
}

void check_devices(std::string_view form, const Deployment& deployment, const Catalog& catalog) {
  for (const DeployedGroup& group : deployment.groups) {
    const std::string& vendor = catalog.device(group.device).vendor;
    if (vendor == "nvidia") continue;
    refuse_form(
        form, group,
        fmt::format("images and requests for devices are known for NVIDIA, not for {} ({}): "
                    "use systemd or {}{}",
                    group.device, vendor, group.engine->name, kArgsForm));
  }
}

// What reads back, but needs more than the files start: a router, and what moves KV.
void add_unserved(const DeploymentForm& form, const Deployment& deployment,
                  std::vector<std::string>& not_said) {
  const auto add = [&not_said](const char* option) {
    if (std::ranges::find(not_said, option) == not_said.end()) not_said.emplace_back(option);
  };
  if (!deployment.router.empty() && !form.routes(deployment.router)) add("fleet.router.policy");
  const bool apart = std::ranges::any_of(
      deployment.groups, [](const DeployedGroup& group) { return !group.role.empty(); });
  if (apart && !form.moves_kv) add("fleet.groups.role");
  std::ranges::sort(not_said);
}

// Names the options that a reader of the file would miss.
std::vector<std::string> with_missing(std::vector<std::string> head,
                                      const std::vector<std::string>& not_said) {
  if (!not_said.empty()) {
    head.push_back(fmt::format("Simulated, but not said here: {}", comma_list(not_said)));
  }
  return head;
}

}  // namespace

std::vector<std::string> deployment_forms() {
  std::vector<std::string> names;
  for (const DeploymentForm& form : kForms) names.emplace_back(form.name);
  for (const Engine* engine : engines()) {
    if (has_command(*engine)) names.push_back(fmt::format("{}{}", engine->name, kArgsForm));
  }
  return names;
}

void check_deployment_form(std::string_view form, const std::string& origin) {
  const std::vector<std::string> all = deployment_forms();
  if (std::ranges::find(all, form) != all.end()) return;
  throw ConfigError(Complaint{.kind = ErrorKind::unknown,
                              .origin = origin,
                              .value = std::string(form),
                              .problem = fmt::format("expected one of {}", comma_list(all)),
                              .nearest = form == "k8s" ? "kubernetes" : nearest_name(form, all)});
}

FromResult scenario_from_emitted(std::string_view form, const std::vector<DeploymentText>& files) {
  return form_named(form).read(files);
}

EmittedDeployment emit_deployment(std::string_view form, const Scenario& scenario,
                                  const Catalog& catalog,
                                  const std::vector<std::string>& simulated) {
  const DeploymentForm& how = form_named(form);
  Deployment deployment = deployment_of(scenario, catalog);
  check_engine(form, deployment);
  if (how.in_containers) check_devices(form, deployment, catalog);
  EmittedDeployment emitted;
  emitted.files = how.write(deployment);
  emitted.not_said = differing_options(scenario, how.read(emitted.files).scenario, catalog);
  add_unserved(how, deployment, emitted.not_said);
  deployment.head = with_missing(simulated, emitted.not_said);
  emitted.files = how.write(deployment);
  return emitted;
}

}  // namespace headroom
