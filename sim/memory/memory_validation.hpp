#pragma once
// `headroom validate memory DIR`: the budget rules against start-ups that were logged. Every row of
// the files is scored, or excluded by name with the reason.
//
// Files, each optional, in DIR or up to two folders below it:
//   vllm019_h100_startup.csv  32 start-ups of vLLM 0.19 on H100 (llm-d-planner, Apache-2.0)
//   vllm_kv_blocks.csv        single public logs of other devices and releases
//   dgx_spark_runs.csv        63 runs of TensorRT-LLM on a DGX Spark (benchmark-spark)
//   startups/*.json           public start-ups of all engines (startup_validation.hpp)

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/catalog.hpp"
#include "sim/memory/spark_validation.hpp"
#include "sim/memory/startup_validation.hpp"

namespace headroom {

enum class ValidationGroup : std::uint8_t {
  h100_dense,
  h100_moe,
  h100_vision,
  h100_pipeline,
  elsewhere,  // another device or release, with settings that the log gives
  assumed     // the log does not say max_num_seqs or max_num_batched_tokens: defaults assumed
};
[[nodiscard]] std::string_view name_of(ValidationGroup group);
// Whether the rule's constants were chosen on rows of this group.
[[nodiscard]] bool chose_constants(ValidationGroup group);

// GiB per rank, as logged and as computed.
struct ComparedTerm {
  std::optional<double> logged;
  double modelled = 0;
  [[nodiscard]] std::optional<double> error() const;  // modelled less logged
};

struct ValidationRow {
  ValidationGroup group = ValidationGroup::h100_dense;
  std::string file;
  std::int64_t line = 0;
  std::string label;     // model, with what sets the row apart
  std::string model_id;  // of the catalog
  ComparedTerm weights;
  ComparedTerm activation;
  ComparedTerm outside_torch;
  ComparedTerm kv;
  std::optional<std::int64_t> logged_blocks;
  std::int64_t modelled_blocks = 0;
  // Blocks that the geometry makes of the logged pool, less the logged ones, beyond what two digits
  // of GiB leave open: a test of bytes per block alone.
  std::optional<std::int64_t> geometry_blocks_off;
  bool scored_by_blocks = false;
  double error_share = 0;  // of the pool: by KV GiB, or by blocks
  double error_gib = 0;
  std::string note;
};

struct ExcludedRow {
  std::string file;
  std::int64_t line = 0;
  std::string label;
  std::string why;
};

// Pools below this are scored in GiB, where a share says little.
inline constexpr double kSmallPoolGib = 15;

struct ValidationScore {
  std::int64_t rows = 0;
  double mean_share = 0;         // of |error|, all rows
  double worst_share = 0;        // rows of kSmallPoolGib and more
  std::string worst;             // its label
  std::int64_t small_pools = 0;  // rows below
  double worst_small_gib = 0;
  std::string worst_small;
};

struct SparkValidation {
  std::int64_t runs = 0;
  double mean_residual_gib = 0;  // logged less modelled, signs kept
  double worst_residual_gib = 0;
  SparkExplanations explained;
};

struct MemoryValidation {
  std::vector<std::string> files;  // names of those found
  std::vector<ValidationRow> rows;
  std::vector<ExcludedRow> excluded;
  std::optional<SparkValidation> spark;
  StartupValidation startups;
};

// ConfigError when none of the files is there; DataError with file:line on a bad row.
[[nodiscard]] MemoryValidation validate_memory(const std::filesystem::path& directory,
                                               const Catalog& catalog);

// Of the rows of `group`, or of all rows of the H100 file.
[[nodiscard]] ValidationScore score_of(const MemoryValidation& validation, ValidationGroup group);
[[nodiscard]] ValidationScore h100_score(const MemoryValidation& validation);

}  // namespace headroom
