#pragma once
// What results say of KV that moved between replicas. Only where they have roles.

#include <nlohmann/json.hpp>
#include <string>

#include "sim/resolve/run.hpp"

namespace headroom {

[[nodiscard]] std::string transfers_line(const RunResult& result);

}  // namespace headroom
