#pragma once
// Section `engine` of a scenario. What several engines, or the run itself, read stands here as
// plain fields; what one engine or policy has alone is in its own struct (`own`), which only its
// folder or file names.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/options/option_bag.hpp"
#include "sim/options/rows.hpp"

namespace headroom {

// vLLM's speculative_config; what it says of the drafter's success and speed is the simulator's
// own.
struct SpeculativeSection {
  std::string method = "none";
  std::optional<std::int64_t> num_speculative_tokens;
  std::optional<double> acceptance_rate;
  std::vector<double> acceptance_rates;
  std::optional<std::string> model;
  std::optional<double> draft_step_share;
  double draft_host_us = 0;

  [[nodiscard]] bool is_on() const { return method != "none"; }
};

// Work of one API server process. Tokens and answers: a fit to vLLM (ENGINES.md 4). A request: what
// two saturated servers leave for it, an estimate (docs/fidelity.md, "The API server"). Tokens of a
// prompt: "a few hundred milliseconds" for 256k of them, about 1 us each
// (vLLM PR 10635).
struct ApiServerSection {
  double request_us = 3000;
  double prompt_token_us = 1;
  double output_token_us = 46;
  double finish_us = 777;
  std::optional<double> network_ms;
};

// An empty optional means "by the engine's own rule", which resolve fills in and names.
struct EngineSection {
  std::string name = "vllm";
  std::optional<std::string> version;
  std::int64_t tensor_parallel_size = 1;
  std::int64_t pipeline_parallel_size = 1;
  std::int64_t data_parallel_size = 1;
  std::int64_t decode_context_parallel_size = 1;
  bool enable_expert_parallel = false;
  std::string all2all_backend = "allgather_reducescatter";
  std::string dtype = "auto";
  std::string quantization = "auto";
  std::string kv_cache_dtype = "auto";
  std::optional<std::string> scheduler;
  std::optional<std::string> kv_allocator;
  // Sizes.
  std::optional<double> gpu_memory_utilization;
  std::optional<std::int64_t> max_model_len;
  std::optional<std::int64_t> max_num_seqs;
  std::optional<std::int64_t> max_num_batched_tokens;
  std::optional<std::int64_t> block_size;
  std::optional<std::int64_t> num_gpu_blocks_override;
  std::optional<std::int64_t> kv_cache_memory_bytes;
  std::optional<std::int64_t> max_batch_size;
  std::optional<std::int64_t> max_input_tokens;
  std::int64_t max_new_tokens = 20;
  std::optional<std::int64_t> max_total_tokens;
  std::int64_t batch_size = 2048;
  bool allow_long_max_model_len = false;
  double rope_scaling_factor = 1;
  // Scheduling and caching.
  std::optional<bool> enable_prefix_caching;
  std::optional<bool> enable_chunked_prefill;
  std::optional<bool> async_scheduling;
  std::optional<bool> free_plain_blocks_first;
  std::optional<double> watermark;
  double kv_offloading_size_gib = 0;
  double kv_offloading_disk_gib = 0;
  std::optional<double> kv_offloading_gb_per_s;
  // Adapters and drafts.
  bool enable_lora = false;
  std::int64_t max_loras = 1;
  std::int64_t max_lora_rank = 16;
  std::optional<std::int64_t> max_cpu_loras;
  bool fully_sharded_loras = false;
  SpeculativeSection speculative;
  // The process, and what stands before it.
  std::optional<double> restart_s;
  std::optional<bool> queue_survives;
  double memory_growth_mib_per_hour = 0;
  std::optional<std::int64_t> api_server_count;
  ApiServerSection api_server;
  [[nodiscard]] bool has_api_server() const { return api_server_count.value_or(0) > 0; }

  OptionBag own;
};

// Rows of the plain fields. Their `only_with` is empty where engines and policies say in `takes`
// who reads the option.
[[nodiscard]] const std::vector<Row<EngineSection>>& shared_engine_rows();
[[nodiscard]] const std::vector<Row<SpeculativeSection>>& speculative_rows();
[[nodiscard]] const std::vector<Row<ApiServerSection>>& api_server_rows();

}  // namespace headroom
