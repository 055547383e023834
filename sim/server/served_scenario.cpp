#include "sim/server/served_scenario.hpp"

#include <string>
#include <utility>

namespace headroom {

JsonDocument served_document(JsonDocument document) {
  document.root["workload"] = {{"trace", {{"file", kServedTrace}}}};
  std::erase_if(document.overrides,
                [](const auto& entry) { return entry.first.starts_with("/workload"); });
  if (document.root.contains("run") && document.root["run"].is_object()) {
    for (const char* limit : {"until_s", "max_events"}) document.root["run"].erase(limit);
  }
  return document;
}

void add_plain_workload(JsonDocument& document) {
  if (!document.root.is_object() || document.root.contains("workload")) return;
  document.root["workload"] = {{"arrivals", {{"request_rate", 1}}},
                               {"num_requests", 1},
                               {"prompt", {{"tokens", 1}}},
                               {"output", {{"tokens", 256}}}};
}

}  // namespace headroom
