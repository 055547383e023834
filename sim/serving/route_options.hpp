#pragma once
// What routes make of requests: other tokens, and answers that are not good enough
// (docs/semantics.md, "Cascades"). Plain data.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/kernel/decimal_factor.hpp"
#include "sim/kernel/time.hpp"
#include "sim/serving/request.hpp"
#include "sim/serving/types.hpp"

namespace headroom {

class RouteRouter;

// How many tokens of one model a token of the traffic is. Results are rounded to the nearest token,
// halves up.
struct TokenFactors {
  static constexpr double kMost = 1000;

  DecimalFactor input{1, kMost, "input_tokens_factor"};
  DecimalFactor output{1, kMost, "output_tokens_factor"};      // of answers
  DecimalFactor thinking{1, kMost, "thinking_tokens_factor"};  // of what comes before them

  [[nodiscard]] bool are_one() const {
    return input.is_one() && output.is_one() && thinking.is_one();
  }
};

// Where requests go whose answers were not good enough.
struct Escalation {
  std::size_t to = 0;        // another route; no cycles
  double share = 1;          // of the answers; above 0, at most 1
  bool with_answer = false;  // the answer is a part of the new prompt
  TimeNs judge_ns = 0;       // from the end of an answer to the verdict, >= 0
};

struct RouteStage {
  std::vector<std::uint32_t> replicas;
  TokenFactors tokens = {};
  std::optional<Escalation> escalation = {};
};

struct RouteStagesParts {
  RouteRouter* router = nullptr;   // the fleet's own; its routes in this order
  std::vector<RouteStage> routes;  // each replica of the fleet is in one
  std::uint64_t seed = 0;
};

// What became of the requests of one route: `arrived` is the sum of `left`, of `escalated`, and of
// nothing else.
struct RouteCounts {
  std::int64_t arrived = 0;                        // at the door, or from another route
  std::int64_t from_routes = 0;                    // of them
  std::array<std::int64_t, kOutcomeCount> left{};  // the fleet, from here; by Outcome
  std::int64_t escalated = 0;
  TokenCount kept_tokens = 0;          // output, of finished requests
  TokenCount wasted_tokens = 0;        // output, of answers that were not kept
  TokenCount wasted_input_tokens = 0;  // the prompts of these

  [[nodiscard]] std::int64_t of(Outcome outcome) const {
    return left[static_cast<std::size_t>(outcome)];
  }
  friend bool operator==(const RouteCounts&, const RouteCounts&) = default;
};

}  // namespace headroom
