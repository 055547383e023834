#pragma once
// The forms of a deployment. Each writes the files of a fleet, comments at their head included.

#include <string>
#include <vector>

#include "sim/deploy/deployment.hpp"
#include "sim/intake/from.hpp"

namespace headroom {

using DeploymentFiles = std::vector<DeploymentText>;

[[nodiscard]] DeploymentFiles kubernetes_files(const Deployment& deployment);
[[nodiscard]] DeploymentFiles stack_files(const Deployment& deployment);         // helm-values
[[nodiscard]] DeploymentFiles modelservice_files(const Deployment& deployment);  // llm-d
[[nodiscard]] DeploymentFiles dynamo_files(const Deployment& deployment);
[[nodiscard]] DeploymentFiles compose_files(const Deployment& deployment);
[[nodiscard]] DeploymentFiles unit_files(const Deployment& deployment);  // systemd
[[nodiscard]] DeploymentFiles command_files(const Deployment& deployment);

// A pod's container, and what goes with it: of Kubernetes and of what builds on it.
[[nodiscard]] Json container_of(const DeployedGroup& group, const std::vector<std::string>& flags,
                                std::int64_t port);
[[nodiscard]] Json annotations_of(const DeployedGroup& group);
// ConfigError: the form knows no image or no way to start this engine.
[[noreturn]] void refuse_form(std::string_view form, const DeployedGroup& group,
                              std::string_view why);

}  // namespace headroom
