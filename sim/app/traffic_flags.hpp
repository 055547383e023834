#pragma once
// Traffic by flags: --rate or --users, --in, --out, --trace.

#include <cstdint>
#include <optional>
#include <string>

#include "sim/options/json.hpp"

namespace headroom {

struct TrafficFlags {
  std::optional<double> rate;         // requests/s
  std::optional<std::int64_t> users;  // instead of a rate: each waits for its answer
  std::string prompt;                 // tokens: 3000, 8k; empty: the usual number
  std::string output;
  std::optional<std::string> trace;  // a file, instead of the rest
};

// ConfigError about the flag: a number that cannot be, or two flags that exclude each other.
void check_traffic(const TrafficFlags& flags);

// ConfigError about --in or --out: no number of tokens.
[[nodiscard]] std::int64_t prompt_tokens(const TrafficFlags& flags);
[[nodiscard]] std::int64_t output_tokens(const TrafficFlags& flags);

// Names the lengths that are assumed where --in or --out is not given.
[[nodiscard]] std::string usual_lengths(const TrafficFlags& flags);

// Clients of made-up traffic say how long their answers may become, as benchmarks do.
[[nodiscard]] Json declared_lengths();

}  // namespace headroom
