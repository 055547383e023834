#pragma once
// What commands that write deployments have in common.

#include <string>

#include "sim/deploy/emit.hpp"

namespace headroom {

// "kubernetes, helm-values, ...": of an option that takes a form.
[[nodiscard]] std::string forms_help();

// One line on standard error about what the files do not say; nothing where they say all.
void tell_not_said(const EmittedDeployment& emitted);

}  // namespace headroom
