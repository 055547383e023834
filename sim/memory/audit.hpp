#pragma once
// What `headroom audit` reports for a system without traffic: where every byte goes and how well
// that is known, what remains, the alerts of seed document 002 that a start-up decides, and the
// smallest single change that makes a request mix fit.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/memory/audit_fixes.hpp"
#include "sim/memory/mitigations.hpp"
#include "sim/memory/startup_timeline.hpp"
#include "sim/memory/what_if.hpp"

namespace headroom {

// How the bytes of a purpose are known.
enum class TermOrigin : std::uint8_t {
  rule,      // follows from the geometry or the engine's own formula
  measured,  // a constant from start-up logs, on the device and release they are of
  estimate,  // a constant outside its measurements, or a closed form that nothing scores
  given      // the user's or the environment's word
};
[[nodiscard]] std::string_view name_of(TermOrigin origin);

struct AuditTerm {
  MemoryPurpose purpose = MemoryPurpose::weights;
  ByteCount bytes = 0;
  TermOrigin origin = TermOrigin::rule;
  std::string why;
};

struct AuditHeadroom {
  ByteCount free_bytes = 0;        // of the device, that nothing is planned for
  TokenCount kv_tokens = 0;        // that the pool holds
  TokenCount longest_tokens = 0;   // the longest request that is accepted
  double longest_requests = 0;     // of that length, together
  TokenCount context_tokens = 0;   // of the audited request
  std::int64_t pool_requests = 0;  // of it, that the pool holds together
  std::int64_t max_num_seqs = 0;   // the engine's own limit
};

enum class AuditLevel : std::uint8_t { note, warning, critical };
[[nodiscard]] std::string_view name_of(AuditLevel level);

struct AuditAlert {
  AuditLevel level = AuditLevel::note;
  std::string name;
  double value = 0;  // in the unit that `text` names
  double limit = 0;
  std::string text;
};

// Thresholds of seed document 002. The baseline share is ours: the document names no figure.
inline constexpr double kMemoryWarningShare = 0.8;
inline constexpr double kMemoryCriticalShare = 0.9;
inline constexpr double kFragmentationBytes = 2e9;  // "2GB", which the document divides by 1e9
inline constexpr double kInFlightShare = 0.8;       // of the requests that the pool holds
inline constexpr double kBaselineShare = 0.10;      // of the device, beside what the engine loads

struct AuditQuery {
  Scenario scenario;
  AuditNeed need;
  bool mitigate = false;
  bool timeline = false;
};

struct AuditReport {
  BudgetedSystem system;
  AuditNeed need;  // as audited
  AuditVerdict verdict = AuditVerdict::fits;
  std::vector<AuditTerm> terms;  // in the order of MemoryPurpose, without empty ones
  AuditHeadroom headroom;
  std::vector<AuditAlert> alerts;  // the most serious first
  std::vector<Fix> fixes;          // empty when it fits; the smallest first
  bool mitigated = false;          // mitigations were looked for
  std::vector<Mitigation> mitigations;
  std::optional<StartupTimeline> timeline;  // where it was asked for
  std::vector<std::string> warnings;
};

// ConfigError: the scenario is wrong, or the need is (see check_need).
[[nodiscard]] AuditReport audit(const AuditQuery& query, const Catalog& catalog);

[[nodiscard]] std::vector<AuditTerm> audit_terms(const BudgetedSystem& system);
[[nodiscard]] std::vector<AuditAlert> audit_alerts(const BudgetedSystem& system);

}  // namespace headroom
