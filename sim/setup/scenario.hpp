#pragma once
// One run as the user describes it. Plain data; defaults stand here, and unit, range and meaning of
// each field in the option tables (options.hpp). An empty optional means "by the engine's own
// rule", which resolve.hpp fills in and names.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/options/origins.hpp"
#include "sim/setup/fleet_section.hpp"
#include "sim/setup/workload_section.hpp"

namespace headroom {

// What one device draws; values given here replace those of the catalog.
struct PowerSection {
  std::optional<double> idle_w;
  std::optional<double> memory_bound_w;
  std::optional<double> compute_bound_w;
};

// A section that is written as a text is its name: "device": "h100-sxm".
struct DeviceSection {
  std::string name;
  std::optional<double> memory_total_gib;
  std::int64_t per_node = 8;
  double nic_gb_per_s = 50;    // 400 Gb/s
  double nic_latency_us = 10;  // estimate
  PowerSection power = {};
};

// Values given here replace those of the named environment.
struct EnvironmentSection {
  std::string name = "native";
  bool first_start = false;
  std::optional<double> system_gib;
  std::optional<double> processes_gib;
  std::optional<double> tmpfs_gib;
  std::optional<double> shm_size_gib;
  std::optional<double> page_cache_gib;
  std::optional<double> checkpoint_cache_share;
  std::optional<double> engine_host_gib;
  std::optional<double> memory_limit_gib;
  std::optional<std::string> free_metric;
  double storage_gb_per_s = 2;
  double host_growth_mib_per_hour = 0;
  // From the moment a machine stops answering to its engine's start: somebody notices, and it
  // boots. Estimate: 3 min of watchdog and boot.
  double reboot_s = 180;
};

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

struct EngineSection {
  std::string name = "vllm";
  std::optional<std::string> version;
  std::int64_t tensor_parallel_size = 1;
  std::int64_t pipeline_parallel_size = 1;
  std::int64_t data_parallel_size = 1;
  bool enable_expert_parallel = false;
  std::string all2all_backend = "allgather_reducescatter";
  std::string dtype = "auto";
  std::string quantization = "auto";
  std::string kv_cache_dtype = "auto";
  // vllm; the first ones also orca and static
  std::optional<double> gpu_memory_utilization;
  std::optional<std::int64_t> max_model_len;
  std::optional<std::int64_t> max_num_seqs;
  std::optional<std::int64_t> max_num_batched_tokens;
  std::optional<std::int64_t> block_size;
  std::optional<bool> enable_prefix_caching;
  std::optional<bool> enable_chunked_prefill;
  std::optional<bool> async_scheduling;
  bool scheduler_reserve_full_isl = true;
  std::optional<double> watermark;
  std::int64_t long_prefill_token_threshold = 0;
  std::string scheduling_policy = "fcfs";
  std::optional<bool> free_plain_blocks_first;
  std::optional<std::int64_t> num_gpu_blocks_override;
  std::optional<std::int64_t> kv_cache_memory_bytes;
  bool enforce_eager = false;
  std::optional<bool> estimate_cuda_graphs;
  bool disable_hybrid_kv_cache_manager = false;
  bool allow_long_max_model_len = false;
  double rope_scaling_factor = 1;
  double kv_offloading_size_gib = 0;
  // vllm V1
  bool enable_lora = false;
  std::int64_t max_loras = 1;
  std::int64_t max_lora_rank = 16;
  std::optional<std::int64_t> max_cpu_loras;
  bool fully_sharded_loras = false;
  // vllm_v0
  std::string preemption_mode = "recompute";
  double swap_space_gib = 4;
  // vllm, trtllm
  double kv_offloading_disk_gib = 0;
  std::optional<double> kv_offloading_gb_per_s;
  // trtllm
  double free_gpu_memory_fraction = 0.9;
  std::optional<std::int64_t> max_batch_size;  // also fastertransformer, hf
  std::int64_t max_num_tokens = 8192;
  std::optional<std::int64_t> max_seq_len;
  std::int64_t tokens_per_block = 32;
  std::optional<std::int64_t> max_tokens;
  std::int64_t max_gpu_total_bytes = 0;
  std::int64_t host_cache_size = 0;
  bool disable_overlap_scheduler = false;
  bool enable_block_reuse = true;
  bool enable_partial_reuse = true;
  bool copy_on_partial_reuse = true;
  std::string capacity_scheduler_policy = "GUARANTEED_NO_EVICT";
  std::string context_chunking_policy = "FIRST_COME_FIRST_SERVED";
  // sglang
  std::optional<double> mem_fraction_static;
  std::optional<std::int64_t> chunked_prefill_size;
  std::optional<std::int64_t> max_running_requests;
  std::optional<std::int64_t> max_total_tokens;  // also tgi, where it is of one request
  std::optional<std::int64_t> context_length;
  std::int64_t page_size = 1;
  std::optional<std::int64_t> cuda_graph_max_bs;
  std::int64_t max_prefill_tokens = 16384;
  bool disable_cuda_graph = false;
  bool disable_radix_cache = false;
  std::string schedule_policy = "fcfs";
  double schedule_conservativeness = 1.0;
  bool enable_mixed_chunk = false;
  bool disable_overlap_schedule = false;
  // tgi
  std::optional<std::int64_t> max_batch_prefill_tokens;
  std::optional<std::int64_t> max_batch_total_tokens;
  std::optional<std::int64_t> max_input_tokens;  // also hf, fastertransformer
  std::int64_t max_concurrent_requests = 128;
  double cuda_memory_fraction = 1.0;
  std::optional<std::string> attention;
  double waiting_served_ratio = 0.3;
  std::int64_t max_waiting_tokens = 20;
  // hf, fastertransformer
  std::int64_t max_new_tokens = 20;
  std::string attn_implementation = "sdpa";
  std::string cache_implementation = "dynamic";
  std::int64_t beam_width = 1;
  // ollama
  std::optional<std::int64_t> num_ctx;
  std::optional<std::int64_t> num_parallel;
  std::string kv_cache_type = "f16";
  std::optional<bool> flash_attention;
  std::optional<std::int64_t> num_gpu;
  bool use_mmap = true;
  // llamacpp
  std::optional<std::int64_t> ctx_size;
  std::optional<std::int64_t> parallel;
  std::string cache_type_k = "f16";
  std::string cache_type_v = "f16";
  std::optional<std::int64_t> n_gpu_layers;
  std::int64_t ubatch_size = 512;
  std::int64_t batch_size = 2048;
  bool cache_prompt = true;
  double slot_prompt_similarity = 0.1;
  bool no_mmap = false;
  std::optional<std::string> flash_attn;
  std::optional<bool> kv_unified;
  bool no_kv_offload = false;
  bool swa_full = false;
  // static
  double batch_wait_ms = 0;
  std::vector<std::int64_t> preferred_batch_size;
  bool stream = false;
  std::optional<double> restart_s;
  std::optional<bool> queue_survives;
  double memory_growth_mib_per_hour = 0;
  std::optional<std::int64_t> api_server_count;
  ApiServerSection api_server;
  SpeculativeSection speculative;
  std::optional<std::string> scheduler;
  std::optional<std::string> kv_allocator;
  // contiguous
  std::string kv_placement = "first_fit";
  bool kv_compaction = false;
  std::string kv_reservation = "max_tokens";
};

// step = a + c * prompt tokens + b * decoding sequences + d * context they read: the form of the
// queueing laws, so that a run can be compared with a closed form.
struct AffineSection {
  double step_us = 10000;
  double prompt_token_us = 20;
  double decode_token_us = 250;
  double context_token_us = 0;
};

struct CostSection {
  std::string level = "calibrated";
  std::string calibration = "auto";
  std::string tables;  // of level table
  double clock_share = 1;
  double expert_load_factor = 1;
  double bandwidth_share = 1;
  double cold_step_ms = 0;
  AffineSection affine;
};

struct RunSection {
  std::optional<double> until_s;
  std::optional<std::int64_t> max_events;
  std::int64_t no_progress_events = 1'000'000;
  std::optional<double> warmup_s;
  std::optional<double> steady_end_s;
  bool single_step = false;
};

struct OutputSection {
  double timeline_interval_s = 1;
  bool streaming = false;
};

struct Scenario : Origins {
  std::string name;
  std::string description;
  std::int64_t seed = 1;
  std::string model;           // catalog id, Hugging Face name, config.json or its folder
  std::string model_override;  // JSON file merged over the model's config.json
  DeviceSection device;
  EnvironmentSection environment;
  EngineSection engine;
  CostSection cost;
  FleetSection fleet;
  WorkloadSection workload;
  SloSection slo;
  RunSection run;
  OutputSection output;

  std::string directory;  // that relative file names are relative to; empty: the current one
};

}  // namespace headroom
