#pragma once
// Which single options may be changed to make a system fit, per engine, and what that costs. The
// table only proposes: whether a value helps is decided by the engine's budget rule
// (audit_fixes.hpp).

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/study/audit_fixes.hpp"

namespace headroom {

enum class FixSearch : std::uint8_t {
  share_up,  // the next hundredths
  share_down,
  count_down,  // the largest that works
  count_up,    // the smallest that works
  ladder       // the first of `values`
};

// What an integer option counts, which bounds the search by the need.
enum class FixCounts : std::uint8_t { other, tokens, requests, cells };

struct FixCandidate {
  std::string_view pointer;
  std::string_view engines;  // names between '|'; empty: all
  FixSearch search = FixSearch::ladder;
  FixCost cost = FixCost::none;
  std::string_view text;  // {} is the new value, {old} the present one
  std::string_view values = {};
  FixCounts counts = FixCounts::other;
  std::int64_t low = 1;  // of counts, in `unit`
  std::int64_t unit = 1;
};

[[nodiscard]] std::vector<FixCandidate> fix_candidates(std::string_view engine);

// `text` with {} and {old} replaced.
[[nodiscard]] std::string filled(std::string_view text, std::string_view value,
                                 std::string_view old);

}  // namespace headroom
