#pragma once
// What tests of synthetic traffic share: options of a small chat, and requests as text.

#include <cstdint>
#include <string>
#include <vector>

#include "tests/unit/workloads/served_requests.hpp"
#include "workloads/traffic_source.hpp"

namespace headroom::test {

[[nodiscard]] LengthOptions fixed_tokens(std::int64_t tokens);
[[nodiscard]] DurationOptions fixed_time(double seconds);
[[nodiscard]] DurationOptions exponential_time(double mean_s);

// One class of one-turn requests, 5 a second, lognormal lengths.
[[nodiscard]] TrafficOptions chat(std::int64_t num_requests);
// Sessions of 4 turns, 10 s of thinking after each; texts of 100 .. 200 and answers of 10 .. 50
// tokens.
[[nodiscard]] TrafficOptions sessions(std::int64_t num_sessions);

// All fields of a request, its prefix as id:tokens.
[[nodiscard]] std::string text(const Arrival& arrival);
// Of an open loop, taken one after the other without anybody leaving.
[[nodiscard]] std::vector<std::string> take_all(WorkloadSource& source);

[[nodiscard]] std::int64_t tokens_of(const std::vector<PrefixSegment>& prefix);

// The requests of each session, in order of session numbers.
[[nodiscard]] std::vector<std::vector<ServedRequest>> by_session(
    const std::vector<ServedRequest>& requests);

}  // namespace headroom::test
