#pragma once
// How far simulated figures lay from measured ones.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace headroom {

// What replays of measured runs showed with a row: lowest and highest simulated / measured - 1.
struct ObservedErrors {
  struct Range {
    double low = 0;
    double high = 0;
  };
  std::vector<std::string> models;  // catalog ids
  std::int64_t runs = 0;
  std::optional<Range> ttft;        // mean_ttft_ms
  std::optional<Range> tpot;        // mean_tpot_ms
  std::optional<Range> throughput;  // output_throughput
};

}  // namespace headroom
