#include "sim/app/emitting.hpp"

#include <fmt/format.h>

#include <cstdio>

#include "sim/kernel/nearest_name.hpp"

namespace headroom {

std::string forms_help() { return comma_list(deployment_forms()); }

void tell_not_said(const EmittedDeployment& emitted) {
  if (emitted.not_said.empty()) return;
  fmt::print(stderr, "simulated, but not said by {}: {}\n",
             emitted.files.size() == 1 ? emitted.files.front().name : "the files",
             comma_list(emitted.not_said));
}

}  // namespace headroom
