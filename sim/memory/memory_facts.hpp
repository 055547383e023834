#pragma once
// The systems of logged start-ups (memory_validation.hpp) as scenarios.

#include <cstdint>
#include <istream>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/catalog.hpp"
#include "sim/kernel/fact_rows.hpp"
#include "sim/scenario/scenario.hpp"

namespace headroom {

// A logged system: a scenario, or why it cannot be checked.
struct LoggedSystem {
  Scenario scenario;
  std::string model_id;  // empty: excluded
  std::string why;       // excluded because, or what was assumed
  bool assumed = false;  // settings that the log does not give
};

[[nodiscard]] LoggedSystem h100_system(const FactRow& row, const Catalog& catalog);
[[nodiscard]] LoggedSystem blocks_system(const FactRow& row, const Catalog& catalog);

inline constexpr std::string_view kH100File = "vllm019_h100_startup.csv";
inline constexpr std::string_view kBlocksFile = "vllm_kv_blocks.csv";
inline constexpr std::string_view kSparkFile = "dgx_spark_runs.csv";
[[nodiscard]] std::vector<std::string> h100_columns();
[[nodiscard]] std::vector<std::string> blocks_columns();

}  // namespace headroom
