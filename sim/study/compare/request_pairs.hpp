#pragma once
// What became of the same requests in two runs: which got worse, and in which part of their stay.

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/serving/request.hpp"

namespace headroom {

// Where a finished request spends its time, in order.
enum class StayPhase : std::uint8_t { entry, queue, prefill, decode };
inline constexpr std::size_t kStayPhases = 4;
[[nodiscard]] std::string_view name_of(StayPhase phase);
[[nodiscard]] std::string_view meaning_of(StayPhase phase);

// A request in A and B; times are B's less A's.
struct RequestPair {
  std::uint64_t index = 0;
  std::int32_t class_id = 0;
  std::int32_t prompt_tokens = 0;
  std::int32_t output_tokens = 0;  // in A
  Outcome outcome_a = Outcome::unfinished;
  Outcome outcome_b = Outcome::unfinished;
  TimeNs e2el_a_ns = 0;  // of finished ones
  TimeNs e2el_b_ns = 0;
  std::array<TimeNs, kStayPhases> change_ns{};  // adds up to that of E2EL
  std::int32_t preemptions_a = 0;
  std::int32_t preemptions_b = 0;

  [[nodiscard]] bool both_finished() const {
    return outcome_a == Outcome::finished && outcome_b == Outcome::finished;
  }
  [[nodiscard]] TimeNs change() const { return e2el_b_ns - e2el_a_ns; }
  // The phase that changed most in the direction of the whole.
  [[nodiscard]] StayPhase cause() const;
};

// A quarter of the requests that finished in both, by prompt length.
struct LengthQuarter {
  std::int32_t shortest = 0;
  std::int32_t longest = 0;
  std::int64_t requests = 0;
  double mean_change_ms = 0;
};

struct RequestPairs {
  // Not empty: the runs did not have the same requests, and nothing else is filled.
  std::string why_not;
  std::int64_t requests = 0;
  std::int64_t both_finished = 0;
  // Of these: E2EL changed by more than 1 % and more than 1 ms.
  std::int64_t worse = 0;
  std::int64_t better = 0;
  std::int64_t only_a_finished = 0;
  std::int64_t only_b_finished = 0;
  std::array<double, kStayPhases> mean_change_ms{};  // over those that finished in both
  std::array<std::int64_t, kStayPhases> worse_by_cause{};
  std::vector<LengthQuarter> quarters;
  // The worst: first those that B alone did not finish, then by change of E2EL.
  std::vector<RequestPair> worst;
};

// `a` and `b` in order of arrival. `most_worst` bounds the list of the worst.
[[nodiscard]] RequestPairs pair_requests(std::span<const RequestRecord> a,
                                         std::span<const RequestRecord> b, std::size_t most_worst);

}  // namespace headroom
