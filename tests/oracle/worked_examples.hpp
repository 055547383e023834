#pragma once
// Small helpers of the hand-worked examples, which are written in whole ns.

#include <catch2/catch.hpp>
#include <vector>

#include "tests/oracle/naive_engine.hpp"

namespace headroom::oracle {

// "r2 computes 4 prompt tokens", "... and samples", "r1 decodes". Requests count from 0.
[[nodiscard]] inline StepRow chunk(std::size_t request, TokenCount tokens) {
  return {request, tokens, false, false};
}
[[nodiscard]] inline StepRow last_chunk(std::size_t request, TokenCount tokens) {
  return {request, tokens, false, true};
}
[[nodiscard]] inline StepRow decode(std::size_t request) { return {request, 1, true, true}; }

// Step `index` (from 0) runs from `start_ns` to `end_ns` exactly, with these rows.
inline void check_step(const Result& result, std::size_t index, TimeNs start_ns, TimeNs end_ns,
                       const std::vector<StepRow>& rows) {
  CAPTURE(index);
  REQUIRE(index < result.timeline.size());
  const StepEntry& step = result.timeline[index];
  CHECK(step.start == ticks_from_ns(start_ns));
  CHECK(step.end == ticks_from_ns(end_ns));
  CHECK(step.rows == rows);
}

inline void check_times(const Result& result, std::size_t request, TimeNs first_scheduled_ns,
                        TimeNs first_token_ns, TimeNs finish_ns) {
  CAPTURE(request);
  const RequestResult& r = result.requests.at(request);
  CHECK(r.outcome == Outcome::finished);
  CHECK(r.first_scheduled_ns == first_scheduled_ns);
  CHECK(r.first_token_ns == first_token_ns);
  CHECK(r.finish_ns == finish_ns);
}

// Every step takes 10 ns.
[[nodiscard]] inline AffineCost ten_ns() { return {.step = 10 * kTicksPerNs}; }

}  // namespace headroom::oracle
