#pragma once
// What `headroom audit` prints of a scenario, of a start-up log and of a recording: at most 100
// columns.

#include <string>
#include <string_view>

#include "sim/memory/audit.hpp"
#include "sim/memory/audit_log.hpp"
#include "sim/memory/memory_series.hpp"

namespace headroom {

inline constexpr std::size_t kAuditWidth = 100;

// A line of such a text: a label of 14 columns, then words.
[[nodiscard]] std::string audit_line(std::string_view label, std::string_view text);

// "engine.max_model_len 131072 -> 40192: requests longer than 40,192 tokens are rejected (40,208
// tokens of KV)".
[[nodiscard]] std::string fix_text(const Fix& fix);

[[nodiscard]] std::string audit_text(const AuditReport& report);

[[nodiscard]] std::string log_audit_text(const LogAudit& audit);

// `name` is the recording's.
[[nodiscard]] std::string series_text(const std::string& name, const SeriesReport& report);

}  // namespace headroom
