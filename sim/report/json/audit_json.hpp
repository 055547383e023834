#pragma once
// The answer of `headroom audit` as JSON text: of a scenario, of a start-up log, of a recording.

#include <string>
#include <vector>

#include "sim/engines/memory_failure.hpp"
#include "sim/memory/audit.hpp"
#include "sim/memory/audit_log.hpp"
#include "sim/memory/memory_series.hpp"

namespace headroom {

[[nodiscard]] std::string audit_json(const AuditReport& report);
// `ran_out`: what the log says of memory that ran out; nullptr: nothing.
[[nodiscard]] std::string log_audit_json(const LogAudit& audit,
                                         const MemoryFailure* ran_out = nullptr);
// Of a log that says nothing else.
[[nodiscard]] std::string memory_failure_json(const MemoryFailure& failure, const std::string& name,
                                              const std::vector<std::string>& devices);
// `name` is the recording's.
[[nodiscard]] std::string series_json(const std::string& name, const SeriesReport& report);

}  // namespace headroom
