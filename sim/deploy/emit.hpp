#pragma once
// A fleet in the form that people deploy: Kubernetes objects, values of Helm charts, a compose
// file, units of systemd, or command lines. `headroom from` reads each of them back.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/catalog.hpp"
#include "sim/intake/from.hpp"
#include "sim/scenario/scenario.hpp"

namespace headroom {

struct EmittedDeployment {
  std::vector<DeploymentText> files;  // at least one; the names are those of files
  // Options of the scenario's model, device, engine and fleet that the files do not say: what is
  // read back from them differs there, or is not theirs to decide. "fleet.faults.crashes".
  std::vector<std::string> not_said;
};

// "kubernetes", ..., and "vllm-args" and its like, one for each engine with a server command.
[[nodiscard]] std::vector<std::string> deployment_forms();

// ConfigError about `origin`, the flag that names it: no such form.
void check_deployment_form(std::string_view form, const std::string& origin);

// `simulated`: lines of the files' head about what was simulated; may be empty. ConfigError: no
// such form, an engine without a server command, a fleet that the form cannot hold at all, or the
// scenario is wrong.
[[nodiscard]] EmittedDeployment emit_deployment(std::string_view form, const Scenario& scenario,
                                                const Catalog& catalog,
                                                const std::vector<std::string>& simulated);

// What the files say, as `headroom from` reads them.
[[nodiscard]] FromResult scenario_from_emitted(std::string_view form,
                                               const std::vector<DeploymentText>& files);

// Options of `given` whose value in the run is another one in `read`, sorted, each once.
[[nodiscard]] std::vector<std::string> differing_options(const Scenario& given, const Json& read,
                                                         const Catalog& catalog);

}  // namespace headroom
