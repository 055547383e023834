#include "sim/memory/worksheet.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "hardware/llm/parameters.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/memory/capacity_pool.hpp"

namespace headroom {
namespace {

// kv_per_token and model_sizes of the document. Its values for llama_70b (64 heads instead of 8
// groups) and mixtral_8x7b are those of full multi-head attention or more: FACTS.md 002.
constexpr std::array kWorksheetModels{WorksheetModel{"llama_7b", 0.0005, 14, "llama-2-7b"},
                                      WorksheetModel{"llama_13b", 0.001, 26, "llama-2-13b"},
                                      WorksheetModel{"llama_70b", 0.0025, 140, "llama-2-70b"},
                                      WorksheetModel{"mixtral_8x7b", 0.002, 90, "mixtral-8x7b"}};

void check_range(std::string_view flag, double value, bool zero_is_legal) {
  // Also false for NaN. 1e9 GB is beyond any machine and keeps the counts below in their range.
  const bool legal = (zero_is_legal ? value >= 0 : value > 0) && value <= 1e9;
  if (legal) return;
  throw ConfigError(fmt::format("{} {}: expected {} and at most 1e9", flag, value,
                                zero_is_legal ? "0 or more" : "above 0"));
}

double kv_gb(const WorksheetInput& in) {
  return in.kv_gb_per_token.value_or(in.geometry_gb_per_token.value_or(0));
}
double weights_gb(const WorksheetInput& in) { return in.weights_gb.value_or(0); }

void check_input(const WorksheetInput& in) {
  check_range("--kv-bytes-per-token in GB", kv_gb(in), false);
  check_range("--weights-gb", weights_gb(in), true);
  check_range("--gpu-memory-gb", in.gpu_memory_gb, false);
  check_range("--overhead-gb", in.overhead_gb, true);
  check_range("--context", static_cast<double>(in.context_tokens), false);
  check_range("--concurrency", static_cast<double>(in.concurrent_requests), true);
  check_range("engine.tensor_parallel_size", static_cast<double>(in.tensor_parallel), false);
}

// `rank_gb` is the KV of a token on one GPU; `divisor_gb` what the last line divides by. Without
// any memory left the document's count is negative.
WorksheetColumn column(const WorksheetInput& in, std::string title, double model_gb, double rank_gb,
                       double divisor_gb) {
  const auto context = static_cast<double>(in.context_tokens);
  WorksheetColumn c;
  c.title = std::move(title);
  c.kv_gb_per_token = model_gb;
  c.kv_needed_per_gpu_gb = rank_gb * context * static_cast<double>(in.concurrent_requests);
  c.available_per_gpu_gb =
      in.gpu_memory_gb - weights_gb(in) / static_cast<double>(in.tensor_parallel) - in.overhead_gb;
  c.will_fit = c.kv_needed_per_gpu_gb < c.available_per_gpu_gb;
  c.headroom_gb = c.available_per_gpu_gb - c.kv_needed_per_gpu_gb;
  const double requests = c.available_per_gpu_gb / (divisor_gb * context);
  c.max_concurrent = static_cast<std::int64_t>(std::clamp(requests, -9e18, 9e18));
  return c;
}

MemoryAudit audit_of(const WorksheetInput& in) {
  MemoryAudit audit;
  audit.weights_gb = weights_gb(in);
  audit.weights_per_gpu_gb = weights_gb(in) / static_cast<double>(in.tensor_parallel);
  audit.available_gb =
      in.gpu_memory_gb - audit.weights_per_gpu_gb - audit.context_gb - audit.allocator_gb;
  audit.available_less_activations_gb = audit.available_gb - audit.activations_gb;
  audit.kv_1k_one_request_gb = kv_gb(in) * 1000;
  audit.kv_8k_ten_requests_gb = kv_gb(in) * 8000 * 10;
  return audit;
}

}  // namespace

std::span<const WorksheetModel> worksheet_models() { return kWorksheetModels; }

const WorksheetModel* worksheet_model(std::string_view name) {
  const auto found = std::ranges::find(kWorksheetModels, name, &WorksheetModel::name);
  return found == kWorksheetModels.end() ? nullptr : &*found;
}

void fill_from_system(WorksheetInput& input, const Resolved& system) {
  constexpr double kGb = 1e9;
  const KvFormat format = kv_format(system);
  const Sharding tensor_only{system.sharding.tensor, 1, 1, false};
  input.tensor_parallel = system.sharding.tensor;
  input.geometry_gb_per_token =
      static_cast<double>(kv_bytes_per_token(system.model, format, Sharding{})) / kGb;
  input.geometry_rank_gb_per_token =
      static_cast<double>(kv_bytes_per_token(system.model, format, tensor_only)) / kGb;
  if (!input.weights_gb) {
    input.weights_gb = static_cast<double>(checkpoint_bytes(system.model)) / kGb;
  }
}

Worksheet make_worksheet(const WorksheetInput& input) {
  check_input(input);
  const double model_gb = kv_gb(input);
  const double rank_gb = model_gb / static_cast<double>(input.tensor_parallel);
  Worksheet sheet;
  sheet.input = input;
  sheet.columns.push_back(column(input, "as written", model_gb, rank_gb, model_gb));
  sheet.columns.push_back(column(input, "corrected", model_gb, rank_gb, rank_gb));
  if (input.geometry_gb_per_token && *input.geometry_gb_per_token > 0) {
    const double model = *input.geometry_gb_per_token;
    const double rank = input.geometry_rank_gb_per_token.value_or(
        model / static_cast<double>(input.tensor_parallel));
    sheet.columns.push_back(column(input, "by geometry", model, rank, rank));
  }
  sheet.audit = audit_of(input);
  return sheet;
}

}  // namespace headroom
