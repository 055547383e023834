#include "sim/memory/audit.hpp"

#include <algorithm>
#include <utility>

#include "sim/kernel/errors.hpp"
#include "sim/resolve/startup_budget.hpp"

namespace headroom {
namespace {

AuditHeadroom headroom_of(const BudgetedSystem& system, const AuditNeed& need) {
  const MemoryBudget& budget = system.budget;
  AuditHeadroom left;
  left.free_bytes = budget.terms[MemoryPurpose::margin];
  left.longest_tokens = longest_request(system);
  left.context_tokens = need.context > 0 ? need.context : left.longest_tokens;
  left.max_num_seqs = system.resolved.max_num_seqs;
  if (budget.failure) return left;
  left.kv_tokens = pool_tokens(system.resolved, budget);
  left.longest_requests = budget.max_concurrency;
  left.pool_requests = concurrent_sequences(budget, left.context_tokens);
  return left;
}

}  // namespace

std::string_view name_of(TermOrigin origin) {
  switch (origin) {
    case TermOrigin::rule: return "rule";
    case TermOrigin::measured: return "measured";
    case TermOrigin::estimate: return "estimate";
    case TermOrigin::given: return "given";
  }
  return "";
}

std::string_view name_of(AuditLevel level) {
  switch (level) {
    case AuditLevel::note: return "note";
    case AuditLevel::warning: return "warning";
    case AuditLevel::critical: return "critical";
  }
  return "";
}

AuditReport audit(const AuditQuery& query, const Catalog& catalog) {
  check_need(query.need);
  AuditReport report;
  report.need = query.need;
  report.system = budget_system(query.scenario, catalog);
  report.verdict = verdict_of(report.system, query.need);
  report.terms = audit_terms(report.system);
  report.headroom = headroom_of(report.system, query.need);
  report.alerts = audit_alerts(report.system);
  report.warnings = report.system.resolved.warnings;
  if (report.verdict != AuditVerdict::fits) {
    report.fixes = find_fixes(query.scenario, query.need, catalog);
  }
  if (query.timeline) report.timeline = startup_timeline(report.system);
  if (query.mitigate) {
    report.mitigated = true;
    report.mitigations = find_mitigations(query.scenario, catalog);
    if (report.system.resolved.device.memory_model != MemoryModel::unified) {
      report.warnings.emplace_back(
          "the device has its own memory: no remedy on the host frees any of it");
    }
  }
  return report;
}

}  // namespace headroom
