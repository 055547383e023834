#pragma once
// SGLang.

#include <cstdint>
#include <optional>

#include "sim/engines/engine.hpp"

namespace headroom {

struct StartedLines;

// Options that only SGLang has; defaults: server_args.py (ENGINES.md 6.3).
struct SglangOptions {
  std::optional<double> mem_fraction_static;
  std::optional<std::int64_t> chunked_prefill_size;
  std::optional<std::int64_t> max_running_requests;
  std::optional<std::int64_t> context_length;
  std::int64_t page_size = 1;
  std::optional<std::int64_t> cuda_graph_max_bs;
  bool disable_overlap_schedule = false;
  bool disable_cuda_graph = false;
  double swa_full_tokens_ratio = 0.8;
  std::optional<bool> piecewise_cuda_graph;
  double mamba_full_memory_ratio = 0.9;
  std::optional<std::int64_t> max_mamba_cache_size;
  std::string mamba_scheduler_strategy = "auto";
  std::optional<std::int64_t> speculative_eagle_topk;
  std::optional<std::int64_t> speculative_num_draft_tokens;
  std::optional<bool> enable_spec_v2;
};

extern const EngineLaunch kSglangLaunch;
extern const StartedLines kSglangStartedLines;
extern const LoadMetrics kSglangLoadMetrics;
[[nodiscard]] const Engine& sglang_engine();

}  // namespace headroom
