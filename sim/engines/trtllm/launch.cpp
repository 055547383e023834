// TensorRT-LLM: tensorrt_llm/commands/serve.py and tensorrt_llm/llmapi/llm_args.py, releases 0.18
// to 1.3. The keys of the --config file are spelled here as flags: kv_cache_config.dtype is
// --kv_cache_config.dtype. The file overrides the command line.

#include "sim/engines/trtllm/engine.hpp"

#include <fmt/format.h>

#include <array>

#include "sim/engines/launch.hpp"
#include "sim/engines/launch_draft.hpp"

namespace headroom {
namespace {

const FlagRow kTrtllmRows[] = {
    {.names = "--model", .takes = Takes::text, .pointer = "/model"},
    {.names = "--config|--extra_llm_api_options", .takes = Takes::text, .pointer = kSettingsFile},
    {.names = "--tensor_parallel_size|--tp_size",
     .takes = Takes::integer,
     .pointer = "/engine/tensor_parallel_size"},
    {.names = "--pipeline_parallel_size|--pp_size",
     .takes = Takes::integer,
     .pointer = "/engine/pipeline_parallel_size"},
    // A number until settle_expert_ranks().
    {.names = "--moe_expert_parallel_size|--ep_size",
     .takes = Takes::integer,
     .pointer = "/engine/enable_expert_parallel"},
    {.names = "--max_batch_size", .takes = Takes::integer, .pointer = "/engine/max_batch_size"},
    {.names = "--max_num_tokens", .takes = Takes::integer, .pointer = "/engine/max_num_tokens"},
    {.names = "--max_seq_len", .takes = Takes::integer, .pointer = "/engine/max_seq_len"},
    {.names = "--free_gpu_memory_fraction|--kv_cache_free_gpu_memory_fraction|"
              "--kv_cache_config.free_gpu_memory_fraction",
     .takes = Takes::number,
     .pointer = "/engine/free_gpu_memory_fraction"},
    {.names = "--dtype", .takes = Takes::text, .pointer = "/engine/dtype"},
    {.names = "--kv_cache_dtype|--kv_cache_config.dtype",
     .takes = Takes::text,
     .pointer = "/engine/kv_cache_dtype"},
    {.names = "--kv_cache_config.tokens_per_block",
     .takes = Takes::integer,
     .pointer = "/engine/tokens_per_block"},
    {.names = "--kv_cache_config.max_tokens",
     .takes = Takes::integer,
     .pointer = "/engine/max_tokens"},
    {.names = "--kv_cache_config.host_cache_size",
     .takes = Takes::integer,
     .pointer = "/engine/host_cache_size"},
    {.names = "--kv_cache_config.max_gpu_total_bytes",
     .takes = Takes::integer,
     .pointer = "/engine/max_gpu_total_bytes"},
    {.names = "--kv_cache_config.enable_block_reuse",
     .takes = Takes::toggle,
     .pointer = "/engine/enable_block_reuse"},
    {.names = "--kv_cache_config.enable_partial_reuse",
     .takes = Takes::toggle,
     .pointer = "/engine/enable_partial_reuse"},
    {.names = "--kv_cache_config.copy_on_partial_reuse",
     .takes = Takes::toggle,
     .pointer = "/engine/copy_on_partial_reuse"},
    {.names = "--enable_chunked_prefill|--enable_chunked_context",
     .takes = Takes::toggle,
     .pointer = "/engine/enable_chunked_prefill"},
    // Lower case: the older spelling of trtllm-bench and the Triton backend.
    {.names = "--scheduler_config.capacity_scheduler_policy",
     .takes = Takes::text,
     .pointer = "/engine/capacity_scheduler_policy",
     .note = "this capacity policy is not modelled",
     .values = "guaranteed_no_evict=GUARANTEED_NO_EVICT|max_utilization=MAX_UTILIZATION|"
               "static_batch=STATIC_BATCH"},
    {.names = "--scheduler_config.context_chunking_policy",
     .takes = Takes::text,
     .pointer = "/engine/context_chunking_policy",
     .note = "this chunking policy is not modelled",
     .values = "first_come_first_served=FIRST_COME_FIRST_SERVED|equal_progress=EQUAL_PROGRESS"},
    {.names = "--disable_overlap_scheduler",
     .takes = Takes::toggle,
     .pointer = "/engine/disable_overlap_scheduler"},
    {.names = "--cuda_graph_config.max_batch_size",
     .takes = Takes::integer,
     .pointer = "/engine/cuda_graph_max_batch_size"},
    {.names = "--torch_compile_config.enable_piecewise_cuda_graph",
     .takes = Takes::toggle,
     .pointer = "/engine/enable_piecewise_cuda_graph"},
    {.names = "--batch_wait_timeout_iters",
     .takes = Takes::integer,
     .pointer = "/engine/batch_wait_timeout_iters"},
    {.names = "--batch_wait_max_tokens_ratio",
     .takes = Takes::number,
     .pointer = "/engine/batch_wait_max_tokens_ratio"},
    // The tensor ranks become data ranks: settle_attention_dp().
    {.names = "--enable_attention_dp",
     .takes = Takes::toggle,
     .pointer = "/engine/data_parallel_size"},
    {.names = "--attention_dp_config.enable_balance",
     .takes = Takes::toggle,
     .pointer = "/engine/attention_dp_enable_balance"},
    {.names = "--attention_dp_config.timeout_iters",
     .takes = Takes::integer,
     .pointer = "/engine/attention_dp_time_out_iters"},
    {.names = "--attention_dp_config.batching_wait_iters",
     .takes = Takes::integer,
     .pointer = "/engine/attention_dp_batching_wait_iters"},
    // ---- effects that a scenario cannot express
    {.names = "--backend",
     .takes = Takes::text,
     .note = "the PyTorch backend's rules are used, whatever the backend"},
    {.names = "--max_beam_width", .takes = Takes::text, .note = "beam search is not modelled"},
    {.names = "--max_input_len", .takes = Takes::text, .note = kUnmodelledNote},
    {.names = "--context_parallel_size|--cp_size|--moe_cluster_parallel_size|--cluster_size|"
              "--moe_tensor_parallel_size|--gpus_per_node",
     .takes = Takes::text,
     .note = kUnmodelledNote},
    {.names = "--kv_cache_config|--scheduler_config|--quant_config|--moe_config|"
              "--torch_compile_config|--attention_dp_config|--build_config|--cp_config|"
              "--cache_transceiver_config|--peft_cache_config|--lora_config|"
              "--sparse_attention_config|--perf_knobs",
     .takes = Takes::json,
     .note = kUnmodelledNote},
    // tensorrt_llm/llmapi/llm_args.py; Eagle is EAGLE-3, in one model with its target.
    {.names = "--speculative_config.decoding_type",
     .takes = Takes::text,
     .pointer = "/engine/speculative_config/method",
     .note = kDrafterNote,
     .values = "MTP=mtp|Eagle=eagle3|Eagle3=eagle3|NGram=ngram|DraftTarget=draft_model|"
               "Draft_Target=draft_model"},
    {.names = "--speculative_config.max_draft_len|--speculative_config.num_nextn_predict_layers",
     .takes = Takes::integer,
     .pointer = "/engine/speculative_config/num_speculative_tokens"},
    {.names = "--speculative_config.speculative_model_dir|--speculative_config.speculative_model",
     .takes = Takes::text,
     .pointer = "/engine/speculative_config/model"},
    {.names = "--speculative_config", .takes = Takes::json, .note = kDrafterSettingNote},
    {.names = "--cuda_graph_config", .takes = Takes::json, .note = kGraphsNote},
    {.names = "--use_cuda_graph|--cuda_graph_padding_enabled",
     .takes = Takes::toggle,
     .note = kGraphsNote},
    {.names = "--attn_backend|--moe_backend|--allreduce_strategy|--stream_interval|"
              "--batch_wait_timeout_ms|"
              "--sampler_type|--disagg_cluster_uri|--server_role|--metadata_server_config_file",
     .takes = Takes::text,
     .note = kUnmodelledNote},
    {.names = "--enable_layerwise_nvtx_marker|--enable_min_latency|--autotuner_enabled|"
              "--enable_autotuner|--enable_lora|--force_dynamic_quantization",
     .takes = Takes::toggle,
     .note = kUnmodelledNote},
    // ---- no effect on memory or scheduling
    {.names = "--host|--port|--tokenizer|--custom_tokenizer|--custom_module_dirs|--log_level|"
              "--num_postprocess_workers|--revision|--tokenizer_revision|--reasoning_parser|"
              "--tool_parser|--otlp_traces_endpoint|--chat_template|--media_io_kwargs|"
              "--tokenizer_mode|--load_format|--checkpoint_format|--max_stats_len|"
              "--iter_stats_max_iterations|--served_model_name|--guided_decoding_backend|"
              "--return_perf_metrics_max_requests|--perf_metrics_max_requests",
     .takes = Takes::text},
    {.names = "--trust_remote_code|--fail_fast_on_attention_window_too_large|"
              "--skip_tokenizer_init|--print_iter_log|--enable_iter_perf_stats|"
              "--enable_iter_req_stats|--return_perf_metrics",
     .takes = Takes::toggle},
};

constexpr LaunchProgram kTrtllmPrograms[] = {{"trtllm-serve", "serve"}, {"trtllm-serve"}};
constexpr LaunchProgram kTrtllmModules[] = {{"tensorrt_llm.commands.serve", "serve"},
                                            {"tensorrt_llm.commands.serve"}};
constexpr LaunchImage kTrtllmImages[] = {
    {.repository = "nvidia/tensorrt-llm", .tag_is_release = true}};

constexpr std::string_view kTensor = "/engine/tensor_parallel_size";
constexpr std::string_view kData = "/engine/data_parallel_size";

// The ranks of experts are tensor ranks (tensorrt_llm/mapping.py: moe_world_size), so there are at
// least as many. Tables of benchmarks that count tensor ranks per rank of attention break this: the
// engine would refuse what they write.
void settle_expert_ranks(LaunchDraft& draft) {
  constexpr std::string_view kExperts = "/engine/enable_expert_parallel";
  const Json* flag = draft.find(kExperts);
  if (flag == nullptr) return;
  const auto experts = flag->get<std::int64_t>();
  if (experts > 1) {
    draft.set(kExperts, true);
  } else {
    draft.unset(kExperts);
  }
  const Json* tensor = draft.find(kTensor);
  const std::int64_t ranks = tensor == nullptr ? 1 : tensor->get<std::int64_t>();
  if (experts <= ranks) return;
  const Json* splits = draft.find(kData);
  if (splits != nullptr && splits->get<bool>()) {
    draft.note(
        fmt::format("--ep_size {} of --tp_size {}: {} tensor ranks, one of attention each; "
                    "TensorRT-LLM itself wants --tp_size {}",
                    experts, ranks, experts, experts));
    draft.set(kTensor, experts);
  } else {
    draft.note(
        fmt::format("--ep_size {} of --tp_size {}: TensorRT-LLM refuses more ranks of "
                    "experts than tensor ranks",
                    experts, ranks));
  }
}

// With attention DP every tensor rank serves requests of its own, and experts are shared by all
// (tensorrt_llm/mapping.py: dp_size).
void settle_attention_dp(LaunchDraft& draft) {
  constexpr std::string_view kBalance = "/engine/attention_dp_enable_balance";
  const Json* flag = draft.find(kData);
  const Json* ranks = draft.find(kTensor);
  const bool splits = flag != nullptr && flag->get<bool>() && ranks != nullptr && *ranks > 1;
  if (splits) {
    draft.set(kData, *ranks);
    draft.unset(kTensor);
  } else {
    draft.unset(kData);
    draft.unset(kBalance);
  }
  const Json* balances = draft.find(kBalance);
  if (balances != nullptr && balances->get<bool>()) return;
  draft.unset("/engine/attention_dp_time_out_iters");
  draft.unset("/engine/attention_dp_batching_wait_iters");
}

// The inverse of settle_expert_ranks and settle_attention_dp.
std::vector<std::string> lay_out_ranks(Json& engine) {
  const auto number = [&engine](const char* key) {
    return engine.contains(key) && engine[key].is_number_integer() ? engine[key].get<std::int64_t>()
                                                                   : std::int64_t{1};
  };
  const std::int64_t data = number("data_parallel_size");
  const std::int64_t tensor = number("tensor_parallel_size") * data;
  if (engine.value("enable_expert_parallel", false)) engine["enable_expert_parallel"] = tensor;
  engine.erase("data_parallel_size");
  if (data <= 1) return {};
  engine["tensor_parallel_size"] = tensor;
  engine["data_parallel_size"] = true;
  return {};
}

// tensorrt_llm/commands/serve.py, 1.0: the rest is of the file of --extra_llm_api_options.
constexpr std::string_view kTrtllmCommandFlags[] = {"--tp_size",
                                                    "--pp_size",
                                                    "--ep_size",
                                                    "--max_batch_size",
                                                    "--max_num_tokens",
                                                    "--max_seq_len",
                                                    "--kv_cache_free_gpu_memory_fraction"};

using Figure = MemoryFigure;

// tensorrt_llm/_torch/pyexecutor/py_executor_creator.py (_maybe_explain_if_oom), 1.0 and later;
// cpp/tensorrt_llm/runtime/tllmBuffers.h.
constexpr std::array kTrtllmMessages{
    MemoryMessage{.pattern = "Executor creation failed due to insufficient GPU memory",
                  .stage = StartupStage::kv_allocation,
                  .meaning = "a part of the engine does not fit beside those before it",
                  .changes =
                      "--kv_cache_free_gpu_memory_fraction: a smaller share, if the KV cache "
                      "is that part|--max_num_tokens, --max_batch_size: smaller steps|"
                      "--tp_size: more devices"},
    MemoryMessage{.pattern = "CUDA runtime error in*cudaMalloc*out of memory",
                  .stage = StartupStage::kv_allocation,
                  .meaning = "an allocation on the device was refused",
                  .changes = "--kv_cache_free_gpu_memory_fraction: a smaller share|"
                             "--max_num_tokens, --max_batch_size: smaller steps|--tp_size: more "
                             "devices"},
    MemoryMessage{.pattern = "Total GPU memory (GiB): #", .figures = {Figure::total}},
    MemoryMessage{.pattern = "Free GPU memory before component creation attempt (GiB): #",
                  .figures = {Figure::free}},
    MemoryMessage{.pattern = "Use # GB for model weights", .figures = {Figure::weights}},
    MemoryMessage{.pattern = "Allocated # GiB for max tokens in paged KV cache",
                  .figures = {Figure::kv}},
};

constexpr PrintedStart kTrtllmPrinted[] = {{.before = "engine args: ", .value = "{"}};

}  // namespace

const EngineLaunch kTrtllmLaunch{
    .title = "TensorRT-LLM",
    .examples = "trtllm-serve MODEL",
    .command = "trtllm-serve {}",
    .programs = kTrtllmPrograms,
    .modules = kTrtllmModules,
    .images = kTrtllmImages,
    .rows = kTrtllmRows,
    .positional_model = true,
    .settings_win = true,
    .variable_prefixes = "TRTLLM_|TLLM_",
    .messages = kTrtllmMessages,
    .printed = kTrtllmPrinted,
    .own_devices_per_rank = true,
    .settle =
        [](LaunchDraft& draft) {
          settle_drafter(draft);
          settle_expert_ranks(draft);
          settle_attention_dp(draft);
        },
    .deployment = {.image = "nvcr.io/nvidia/tensorrt-llm/release:{}",
                   .command_flags = kTrtllmCommandFlags,
                   .settings_flag = "--extra_llm_api_options"},
    .lay_out = lay_out_ranks,
};

}  // namespace headroom
