#pragma once
// The CSV files of logged start-ups (memory_validation.hpp) as rows of text, and the systems that
// were logged as scenarios.

#include <cstdint>
#include <istream>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/catalog.hpp"
#include "sim/setup/scenario.hpp"

namespace headroom {

// One line with its cells by the header's names.
struct FactRow {
  std::string file;
  std::int64_t line = 0;  // from 1, the header
  std::map<std::string, std::string, std::less<>> cells;

  [[nodiscard]] const std::string& text(std::string_view column) const;
  // Absent for an empty cell. DataError on anything that is not a number.
  [[nodiscard]] std::optional<double> number(std::string_view column) const;
  [[nodiscard]] std::optional<std::int64_t> count(std::string_view column) const;
};

// Cells may be quoted. DataError: a column of `wanted` is missing, or a line has another number of
// cells than the header.
[[nodiscard]] std::vector<FactRow> read_facts(std::istream& in, const std::string& file,
                                              const std::vector<std::string>& wanted);

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
