#pragma once
// The smallest single change with which a system starts and serves the required requests. Each
// candidate is tried alone against the real budget rule; only those that help are listed.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/engines/fix_candidates.hpp"
#include "sim/memory/what_if.hpp"

namespace headroom {

// What a fix must reach is `fits`: a change after which the system is tight is none.

// Requests that must fit in the pool together. The default only requires a start: an engine that
// starts has checked its longest request itself.
struct AuditNeed {
  TokenCount context = 0;        // prompt and output; 0: the longest that the engine accepts
  std::int64_t concurrency = 1;  // at least 1
};
// ConfigError naming the flag.
void check_need(const AuditNeed& need);

enum class AuditVerdict : std::uint8_t {
  fits,
  tight,  // by less than the size of the pool is known to: it may not start, or not hold the need
  does_not_start,
  context_too_long,   // longer than the engine accepts
  too_many_requests,  // more than the engine batches
  pool_too_small
};
[[nodiscard]] std::string_view name_of(AuditVerdict verdict);
[[nodiscard]] AuditVerdict verdict_of(const BudgetedSystem& system, const AuditNeed& need);

struct Fix {
  std::string option;   // "engine.max_model_len"
  std::string pointer;  // of it
  Json value;           // `to`
  std::string from;     // "not set" where the engine decides
  std::string to;
  FixCost cost = FixCost::none;
  std::string cost_text;
  double change = 0;  // |to - from| / from; 1 for switches and types
  // With the change.
  TokenCount kv_tokens = 0;
  std::int64_t pool_requests = 0;  // of the needed context
};

// Lengths below this are no service, and no fix. Our choice.
inline constexpr TokenCount kShortestService = 256;

// By cost class, then by the size of the change, then by the order of the table; the first is "the
// smallest". Empty when the system serves the need already, or when no single change helps.
[[nodiscard]] std::vector<Fix> find_fixes(const Scenario& scenario, const AuditNeed& need,
                                          const Catalog& catalog);

}  // namespace headroom
