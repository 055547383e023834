#pragma once
// The worksheet and the audit list of "Finding the KV cache problem before your bill does" (seed
// 002), as written and corrected, side by side. GB = 10^9 bytes, as there.
//
// As written: kv per GPU = kv per token * context * requests / TP; available = GPU memory -
// weights / TP - overhead; max concurrent = available / (kv per token * context), which sets the
// memory of one GPU against the KV of the whole model. Corrected: against kv per token * context /
// TP.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/resolve/resolve.hpp"

namespace headroom {

// The document's figures for four models, and a catalog row of that geometry.
struct WorksheetModel {
  std::string_view name;
  double kv_gb_per_token = 0;
  double weights_gb = 0;
  std::string_view catalog_id;
};
[[nodiscard]] std::span<const WorksheetModel> worksheet_models();
[[nodiscard]] const WorksheetModel* worksheet_model(std::string_view name);  // null: not one

// The document's defaults: memory of one GPU, and CUDA with allocator.
inline constexpr double kWorksheetGpuMemoryGb = 80;
inline constexpr double kWorksheetOverheadGb = 4;

struct WorksheetInput {
  std::string model;                             // as shown
  std::optional<double> kv_gb_per_token;         // > 0, of the whole model; absent: the geometry's
  std::optional<double> weights_gb;              // >= 0, of the whole model; absent: 0
  double gpu_memory_gb = kWorksheetGpuMemoryGb;  // > 0
  double overhead_gb = kWorksheetOverheadGb;     // >= 0
  std::int64_t context_tokens = 0;               // >= 1
  std::int64_t concurrent_requests = 1;          // >= 0
  std::int64_t tensor_parallel = 1;              // >= 1
  // By the model's geometry, where it is known: of the whole model, and of one rank (fewer KV
  // heads than ranks are repeated).
  std::optional<double> geometry_gb_per_token;
  std::optional<double> geometry_rank_gb_per_token;
};

struct WorksheetColumn {
  std::string title;
  double kv_gb_per_token = 0;
  double kv_needed_per_gpu_gb = 0;
  double available_per_gpu_gb = 0;
  bool will_fit = false;
  double headroom_gb = 0;
  std::int64_t max_concurrent = 0;
};

// The document's list of where memory goes; its constants are the author's, not measurements.
struct MemoryAudit {
  double weights_gb = 0;
  double weights_per_gpu_gb = 0;
  double context_gb = 1.5;
  double allocator_gb = 2;
  double activations_gb = 4;  // transient: the document does not subtract them
  double available_gb = 0;    // for KV, per GPU, as written
  double available_less_activations_gb = 0;
  double kv_1k_one_request_gb = 0;   // 1,000 tokens, whole model
  double kv_8k_ten_requests_gb = 0;  // 8,000 tokens each
};

struct Worksheet {
  WorksheetInput input;
  std::vector<WorksheetColumn> columns;  // as written, corrected, and by geometry where known
  MemoryAudit audit;
};

// Geometry, weights and tensor parallel size of a resolved system. Keeps what is set already of
// kv_gb_per_token and weights_gb.
void fill_from_system(WorksheetInput& input, const Resolved& system);

// ConfigError: an input out of range, with its flag.
[[nodiscard]] Worksheet make_worksheet(const WorksheetInput& input);

}  // namespace headroom
