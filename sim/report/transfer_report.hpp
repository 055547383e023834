#pragma once
// What results say of KV that moved between replicas. Only where they have roles.

#include <nlohmann/json.hpp>
#include <string>

#include "sim/resolve/run.hpp"

namespace headroom {

[[nodiscard]] nlohmann::ordered_json transfers_json(const RunResult& result);
[[nodiscard]] std::string transfers_line(const RunResult& result);
// One row per hand-over, in the order in which prompts were complete.
void write_transfers_csv(const RunResult& result, const std::string& path);

}  // namespace headroom
