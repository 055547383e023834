#pragma once
// Files of a deployment: all of them, or none.

#include <string>
#include <vector>

#include "sim/intake/from.hpp"

namespace headroom {

// `target`: a new folder; or, for a single file, that file, where the name ends like one
// (".yaml", ".sh"). ConfigError: the folder exists, or it cannot be written.
void write_emitted_files(const std::vector<DeploymentText>& files, const std::string& target);

// What of it is known before the work: ConfigError where the folder exists.
void check_emit_target(const std::vector<DeploymentText>& files, const std::string& target);

// Each beside the files of a folder that exists, in place of earlier ones of its name.
void write_emitted_beside(const std::vector<DeploymentText>& files, const std::string& folder);

}  // namespace headroom
