#pragma once
// The log of a start-up that went well, beside the start that we model of the same system.

#include <optional>
#include <string>

#include "hardware/catalog.hpp"
#include "sim/engines/startup_log.hpp"
#include "sim/memory/audit_log.hpp"
#include "sim/report/json/started_json.hpp"

namespace headroom {

// Of the log of an engine without a reader of its own. Nothing: no line says anything of memory.
// What is not in the log and was not given is left out, with a note. ConfigError: the model and the
// device that are given are no system.
[[nodiscard]] std::optional<StartedAnswer> started_answer(const std::string& text,
                                                          const std::string& name,
                                                          const LogAuditQuery& query,
                                                          const Catalog& catalog);

// Of a log that was read, but names no model or no device.
[[nodiscard]] StartedAnswer started_answer(const StartupLog& log, const LogAuditQuery& query,
                                           const Catalog& catalog);

// Of one that says all: its bars beside the modelled ones.
[[nodiscard]] StartedAnswer started_answer(const LogAudit& audit);

// Titles of the engines whose start-ups are known by their lines alone.
[[nodiscard]] std::string started_titles();

}  // namespace headroom
