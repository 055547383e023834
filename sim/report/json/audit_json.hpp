#pragma once
// The answer of `headroom audit` as JSON text: of a scenario, of a start-up log, of a recording.

#include <string>

#include "sim/memory/audit.hpp"
#include "sim/memory/audit_log.hpp"
#include "sim/memory/memory_series.hpp"

namespace headroom {

[[nodiscard]] std::string audit_json(const AuditReport& report);
[[nodiscard]] std::string log_audit_json(const LogAudit& audit);
// `name` is the recording's.
[[nodiscard]] std::string series_json(const std::string& name, const SeriesReport& report);

}  // namespace headroom
