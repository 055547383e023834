#pragma once
// The traffic that every row of conformance_rows.hpp is put under, and what it must do with it.
// Each check returns what is wrong, or nothing, so that wrong policies can be held against it too.

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "tests/oracle/conformance_rows.hpp"
#include "tests/support/policy_run.hpp"

namespace headroom::test {

struct Traffic {
  std::vector<Arrival> arrivals;
  std::deque<std::vector<PrefixSegment>> prompts;  // what the arrivals' prefixes point to
};

// Bursts and pauses; short and long prompts, some longer than a pool or a context may be; shared
// beginnings and sessions whose turns contain the answers before; priorities; answers of one token,
// of max_tokens, cut by it, or shorter than it, and max_tokens that nobody declares. With
// `impatient`, a third of the clients give up at some time.
[[nodiscard]] Traffic random_traffic(std::uint64_t seed, bool impatient);

// `traffic` a little later, behind clients that give up in the nanosecond of their arrival. They
// leave the ids of the pool free in the order 0, 1, 2 ..., or `reversed`: then the requests of
// `traffic` get the numbers 63, 62, 61 ... in place of 0, 1, 2 ...
inline constexpr std::uint64_t kPassersBy = 64;
[[nodiscard]] std::vector<Arrival> behind_passers_by(const Traffic& traffic, bool reversed);

using SetupMaker = std::function<PolicySetup()>;

// Arrivals of one run, and its outcome.
struct CheckedRun {
  const ConformanceRow& row;
  const std::vector<Arrival>& arrivals;
  EngineSize size;
  KvPoolState pool;               // empty
  TokenCount longest_tokens = 0;  // prompt that it has room for
  TokenCount max_step_tokens = 0;
  PolicyRun run;
};
[[nodiscard]] CheckedRun checked_run(const ConformanceRow& row, const EngineSize& size, int depth,
                                     const std::vector<Arrival>& arrivals);

// Everybody has left with an outcome that his own wishes and the pool explain.
[[nodiscard]] std::string unaccounted(const CheckedRun& run);
// Finished requests have their tokens; rows and computed tokens of all steps suffice for them.
[[nodiscard]] std::string lost_tokens(const CheckedRun& run);
// No step has more rows or tokens than the engine's limits, or more blocks than there are.
[[nodiscard]] std::string exceeded_limits(const CheckedRun& run);
// Nobody waits while nothing runs, unless no pool could take him or the policy's own rule says so.
[[nodiscard]] std::string idleness(const CheckedRun& run);

// The first difference between two runs in the requests from number `first` on, their events, or
// the steps. What waits at the end of a run of steps is not compared.
[[nodiscard]] std::string difference(const PolicyRun& a, const PolicyRun& b,
                                     std::uint64_t first = 0);
// Between a run in jumps, single steps and `cuts` runs that are cut at random. A failed check of
// the simulator's own contracts is a difference too.
[[nodiscard]] std::string cut_difference(const SetupMaker& make,
                                         const std::vector<Arrival>& arrivals, std::uint64_t cuts);
[[nodiscard]] std::string repeat_difference(const SetupMaker& make,
                                            const std::vector<Arrival>& arrivals);
// Between two numberings of the requests.
[[nodiscard]] std::string numbering_difference(const SetupMaker& make, const Traffic& traffic);

}  // namespace headroom::test
