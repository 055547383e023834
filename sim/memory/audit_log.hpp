#pragma once
// A logged start-up beside the modelled one: the system is put together from what the log says, and
// the difference of the KV pools is attributed term by term.

#include <optional>
#include <string>
#include <vector>

#include "sim/engines/startup_attribution.hpp"
#include "sim/engines/startup_log.hpp"
#include "sim/memory/what_if.hpp"

namespace headroom {

struct LogAuditQuery {
  std::string model;   // empty: the log's
  std::string device;  // empty: guessed from the total memory in the log
  std::string environment = "native";
  // Options that the log prints as arguments; what else it says goes before them.
  std::optional<EngineSection> arguments;
};

struct LogAudit {
  StartupLog log;
  BudgetedSystem system;
  ModelledMemory modelled;
  std::vector<Attribution> attribution;
  std::vector<std::string> assumptions;  // what the log does not say and was filled in
};

struct ToldSystem {
  Scenario scenario;
  std::vector<std::string> assumptions;
};

// As far as the log tells it: the model is named as there, whoever knows it; what it does not say
// of model and device is left out.
[[nodiscard]] ToldSystem system_of_log(const StartupLog& log, const LogAuditQuery& query,
                                       const Catalog& catalog);

// ConfigError: the model or the device is neither in the log nor given, or the catalog lacks it.
[[nodiscard]] LogAudit audit_log(const StartupLog& log, const LogAuditQuery& query,
                                 const Catalog& catalog);

// Devices whose reported total is within 1 % of `total_gib`, the closest first, equals by id.
[[nodiscard]] std::vector<std::string> devices_of_total(const Catalog& catalog, double total_gib);

// The budget in the terms of the attribution.
[[nodiscard]] ModelledMemory modelled_memory(const BudgetedSystem& system);

}  // namespace headroom
