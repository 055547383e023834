// vLLM: vllm/engine/arg_utils.py and vllm/entrypoints/openai/cli_args.py, releases 0.8 to 0.24
// (flags of older releases are kept: people's commands live longer). Underscores equal dashes;
// every switch has a --no- form; JSON values may be spelled --flag.key value.

#include "sim/engines/vllm/engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/engines/launch.hpp"
#include "sim/engines/launch_draft.hpp"
#include "sim/engines/vllm/memory_messages.hpp"

namespace headroom {
namespace {

constexpr std::string_view kMultimodal =
    "inputs other than text are not modelled: neither their memory nor their tokens";
constexpr std::string_view kRoleNote =
    "if replicas prefill or decode only, set the role of fleet.groups";
constexpr std::string_view kPartialPrefills =
    "limits on how many prompts are split at once are not modelled";

// vllm/config/kernel.py, from 0.20 to autumn 2026; dashes are underscores there.
constexpr std::string_view kLinearBackends =
    "cutlass|flashinfer_cutlass|flashinfer_cutedsl|flashinfer_trtllm|flashinfer_cudnn|"
    "flashinfer_b12x|b12x|humming|triton|deep_gemm|torch|aiter|machete|fbgemm|conch|exllama|"
    "emulation|xpu|xpu_woq";
constexpr std::string_view kMoeBackends =
    "triton|batched_triton|deep_gemm|deep_gemm_mega_moe|cutlass|flashinfer_trtllm|"
    "flashinfer_cutlass|flashinfer_cutedsl|flashinfer_b12x|b12x|humming|triton_unfused|aiter|"
    "flydsl|hpc|emulation|flashinfer_moe_ep_mega_deep_gemm|flashinfer_moe_ep_mega_cutedsl";

const FlagRow kVllmRows[] = {
    {.names = "--model", .takes = Takes::text, .pointer = "/model"},
    {.names = "--config", .takes = Takes::text, .pointer = kSettingsFile},
    {.names = "--tensor-parallel-size|-tp",
     .takes = Takes::integer,
     .pointer = "/engine/tensor_parallel_size"},
    {.names = "--api-server-count|-asc",
     .takes = Takes::integer,
     .pointer = "/engine/api_server_count"},
    {.names = "--pipeline-parallel-size|-pp",
     .takes = Takes::integer,
     .pointer = "/engine/pipeline_parallel_size"},
    {.names = "--data-parallel-size|-dp",
     .takes = Takes::integer,
     .pointer = "/engine/data_parallel_size"},
    {.names = "--decode-context-parallel-size|-dcp",
     .takes = Takes::integer,
     .pointer = "/engine/decode_context_parallel_size"},
    {.names = "--enable-expert-parallel|-ep",
     .takes = Takes::toggle,
     .pointer = "/engine/enable_expert_parallel"},
    {.names = "--dtype",
     .takes = Takes::text,
     .pointer = "/engine/dtype",
     .values = "half=float16|float=float32"},
    {.names = "--quantization|-q",
     .takes = Takes::text,
     .pointer = "/engine/quantization",
     .note = kQuantizationNote,
     // Whatever the word, inc.py: override_quantization_method takes the checkpoint's.
     .values = "auto_round=auto-round"},
    // Formats of latent caches. The one in 4 bits, of builds for GB10, is taken as the one in 8:
    // its pages are as large in a log (7,785 bytes per token of DeepSeek-V4-Flash with a drafter).
    {.names = "--kv-cache-dtype",
     .takes = Takes::text,
     .pointer = "/engine/kv_cache_dtype",
     .values = "fp8_ds_mla=fp8|nvfp4_ds_mla=fp8"},
    {.names = "--gpu-memory-utilization",
     .takes = Takes::number,
     .pointer = "/engine/gpu_memory_utilization"},
    // -1 and auto: the longest length that fits; ENGINES.md 1.1, guard (iii).
    {.names = "--max-model-len",
     .takes = Takes::count,
     .pointer = "/engine/max_model_len",
     .values = "auto=|-1="},
    {.names = "--max-num-seqs", .takes = Takes::count, .pointer = "/engine/max_num_seqs"},
    {.names = "--max-num-batched-tokens",
     .takes = Takes::count,
     .pointer = "/engine/max_num_batched_tokens"},
    {.names = "--block-size", .takes = Takes::integer, .pointer = "/engine/block_size"},
    {.names = "--enable-prefix-caching",
     .takes = Takes::toggle,
     .pointer = "/engine/enable_prefix_caching"},
    {.names = "--enable-chunked-prefill",
     .takes = Takes::toggle,
     .pointer = "/engine/enable_chunked_prefill"},
    {.names = "--async-scheduling", .takes = Takes::toggle, .pointer = "/engine/async_scheduling"},
    {.names = "--num-gpu-blocks-override",
     .takes = Takes::count,
     .pointer = "/engine/num_gpu_blocks_override"},
    {.names = "--kv-cache-memory-bytes|--kv-cache-memory",
     .takes = Takes::count,
     .pointer = "/engine/kv_cache_memory_bytes"},
    {.names = "--enforce-eager", .takes = Takes::toggle, .pointer = "/engine/enforce_eager"},
    {.names = "--enable-lora", .takes = Takes::toggle, .pointer = "/engine/enable_lora"},
    {.names = "--max-loras", .takes = Takes::integer, .pointer = "/engine/max_loras"},
    {.names = "--max-lora-rank", .takes = Takes::integer, .pointer = "/engine/max_lora_rank"},
    {.names = "--max-cpu-loras", .takes = Takes::integer, .pointer = "/engine/max_cpu_loras"},
    {.names = "--fully-sharded-loras",
     .takes = Takes::toggle,
     .pointer = "/engine/fully_sharded_loras"},
    {.names = "--scheduling-policy",
     .takes = Takes::text,
     .pointer = "/engine/scheduling_policy",
     .note = "this order of waiting requests is not modelled"},
    {.names = "--long-prefill-token-threshold",
     .takes = Takes::count,
     .pointer = "/engine/long_prefill_token_threshold"},
    {.names = "--scheduler-reserve-full-isl",
     .takes = Takes::toggle,
     .pointer = "/engine/scheduler_reserve_full_isl"},
    {.names = "--watermark", .takes = Takes::number, .pointer = "/engine/watermark"},
    {.names = "--disable-hybrid-kv-cache-manager",
     .takes = Takes::toggle,
     .pointer = "/engine/disable_hybrid_kv_cache_manager"},
    // ENGINES.md 1.1 (b): whether the KV pool leaves room for the graphs.
    {.takes = Takes::toggle,
     .pointer = "/engine/estimate_cuda_graphs",
     .variable = "VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS"},
    {.takes = Takes::toggle,
     .pointer = "/engine/flashinfer_sampler",
     .variable = "VLLM_USE_FLASHINFER_SAMPLER"},
    {.takes = Takes::text,
     .pointer = "/engine/scheduler",
     .values = "0=vllm_v0|1=vllm",
     .variable = "VLLM_USE_V1"},
    {.takes = Takes::toggle,
     .pointer = "/engine/allow_long_max_model_len",
     .variable = "VLLM_ALLOW_LONG_MAX_MODEL_LEN"},
    // vllm/config/speculative.py; the module of each family is the same method.
    {.names = "--speculative-config.method|-sc.method",
     .takes = Takes::text,
     .pointer = "/engine/speculative_config/method",
     .note = kDrafterNote,
     .values = "[ngram]=ngram|ngram_gpu=ngram|deepseek_mtp=mtp|mimo_mtp=mtp|glm4_moe_mtp=mtp|"
               "ernie_mtp=mtp|exaone_moe_mtp=mtp|qwen3_next_mtp=mtp|qwen3_5_mtp=mtp|"
               "longcat_flash_mtp=mtp|nemotron_h_mtp=mtp|pangu_ultra_moe_mtp=mtp|step3p5_mtp=mtp"},
    {.names = "--speculative-config.num-speculative-tokens|-sc.num_speculative_tokens|"
              "--num-speculative-tokens",
     .takes = Takes::integer,
     .pointer = "/engine/speculative_config/num_speculative_tokens"},
    {.names = "--speculative-config.model|-sc.model|--speculative-model",
     .takes = Takes::text,
     .pointer = "/engine/speculative_config/model"},
    {.names = "--compilation-config.cudagraph-mode|-cc.cudagraph_mode",
     .takes = Takes::text,
     .pointer = "/engine/cudagraph_mode"},
    {.names = "--compilation-config.max-cudagraph-capture-size|-cc.max_cudagraph_capture_size|"
              "--max-cudagraph-capture-size",
     .takes = Takes::integer,
     .pointer = "/engine/max_cudagraph_capture_size"},
    {.names = "--linear-backend",
     .takes = Takes::text,
     .pointer = "/engine/linear_backend",
     .note = kUnmodelledNote,
     .others = kLinearBackends},
    {.takes = Takes::text,
     .pointer = "/engine/linear_backend",
     .note = kUnmodelledNote,
     .variable = "VLLM_NVFP4_GEMM_BACKEND"},
    {.takes = Takes::text,
     .pointer = "/engine/linear_backend",
     .values = "1=marlin|0=",
     .variable = "VLLM_TEST_FORCE_FP8_MARLIN"},
    {.names = "--moe-backend",
     .takes = Takes::text,
     .pointer = "/engine/moe_backend",
     .note = kUnmodelledNote,
     .others = kMoeBackends},
    {.takes = Takes::text,
     .pointer = "/engine/mxfp4_kernel",
     .values = "1=marlin|0=",
     .variable = "VLLM_MXFP4_USE_MARLIN"},
    {.takes = Takes::text,
     .pointer = "/engine/mxfp4_kernel",
     .values = "1=mxfp8|0=",
     .variable = "VLLM_USE_FLASHINFER_MOE_MXFP4_MXFP8"},
    // ---- effects that a scenario cannot express
    {.names = "--speculative-config|-sc", .takes = Takes::json, .note = kDrafterSettingNote},
    {.names = "--ngram-prompt-lookup-max|--ngram-prompt-lookup-min|"
              "--speculative-draft-tensor-parallel-size",
     .takes = Takes::text,
     .note = kDrafterSettingNote},
    {.names = "--specialize-active-lora", .takes = Takes::toggle, .note = kGraphsNote},
    {.names = "--lora-dtype|--lora-extra-vocab-size",
     .takes = Takes::text,
     .note = "the format of LoRA adapters is the model's"},
    {.names = "--lora-modules|--default-mm-loras",
     .takes = Takes::words,
     .note = "set workload.lora to say which requests use a LoRA adapter"},
    {.names = "--compilation-config|-cc", .takes = Takes::json, .note = kGraphsNote},
    {.names = "--optimization-level|-O|--max-seq-len-to-capture",
     .takes = Takes::text,
     .note = kGraphsNote},
    {.names = "--cudagraph-capture-sizes|--cuda-graph-sizes",
     .takes = Takes::words,
     .note = kGraphsNote},
    {.names = "--limit-mm-per-prompt|--mm-processor-kwargs|--media-io-kwargs",
     .takes = Takes::json,
     .note = kMultimodal},
    {.names = "--mm-processor-cache-gb|--mm-processor-cache-type|--mm-encoder-tp-mode|"
              "--mm-encoder-attn-backend|--mm-shm-cache-max-object-size-mb|--video-pruning-rate",
     .takes = Takes::text,
     .note = kMultimodal},
    {.names = "--skip-mm-profiling",
     .takes = Takes::nothing,
     .pointer = "/engine/mm_profiling",
     .constant = "\"skip\""},
    {.names = "--language-model-only",
     .takes = Takes::nothing,
     .pointer = "/engine/mm_profiling",
     .constant = "\"text_only\""},
    {.names = "--limit-mm-per-prompt.image",
     .takes = Takes::text,
     .pointer = "/engine/mm_profiling",
     .note = kMultimodal,
     .values = "0=text_only"},
    {.names = "--limit-mm-per-prompt.video|--limit-mm-per-prompt.audio",
     .takes = Takes::text,
     .note = kMultimodal},
    {.names = "--mm-encoder-only|--enable-mm-embeds|"
              "--disable-mm-preprocessor-cache|--disable-chunked-mm-input|--interleave-mm-strings|"
              "--enable-multimodal-encoder-data-parallel",
     .takes = Takes::toggle,
     .note = kMultimodal},
    {.names = "--kv-offloading-size",
     .takes = Takes::number,
     .pointer = "/engine/kv_offloading_size_gib"},
    {.names = "--swap-space",
     .takes = Takes::number,
     .note = "V0 swaps requests with several beams; see engine.preemption_mode"},
    {.names = "--cpu-offload-gb|--kv-offloading-backend|--offload-backend",
     .takes = Takes::text,
     .note = kOffloadNote},
    {.names = "--kv-transfer-config",
     .takes = Takes::json,
     .pointer = kKvTransfer,
     .note = "moving KV cache between engines is not modelled"},
    {.names = "--ec-transfer-config",
     .takes = Takes::json,
     .note = "moving encoder outputs between engines is not modelled"},
    {.names = "--max-num-partial-prefills|--max-long-partial-prefills",
     .takes = Takes::count,
     .note = kPartialPrefills},
    {.names = "--prefill-context-parallel-size|-pcp",
     .takes = Takes::integer,
     .note = "context parallelism of prompts is not modelled"},
    {.names = "--data-parallel-size-local|-dpl|--data-parallel-rank|-dpn|"
              "--data-parallel-start-rank|-dpr|--nnodes|-n|--node-rank|-r|--master-addr|"
              "--master-port|--data-parallel-address|-dpa|--data-parallel-rpc-port|-dpp",
     .takes = Takes::text,
     .note = kNodesNote},
    {.names = "--headless", .note = kNodesNote},
    // NVIDIA Dynamo's, in front of the engine's own (components/src/dynamo/vllm/args.py)
    {.names = "--disaggregation-mode", .takes = Takes::text, .note = kRoleNote},
    {.names = "--is-prefill-worker|--is-decode-worker", .takes = Takes::toggle, .note = kRoleNote},
    {.names = "--enable-eplb|--enable-dbo|--enable-elastic-ep",
     .takes = Takes::toggle,
     .note = "balancing and overlap of experts are not modelled"},
    {.names = "--eplb-config", .takes = Takes::json, .note = "redundant experts are not modelled"},
    {.names = "--all2all-backend",
     .takes = Takes::text,
     .note = "if data-parallel ranks share their experts, set engine.all2all_backend"},
    {.names = "--attention-backend|--num-redundant-experts|--expert-placement-strategy|"
              "--ubatch-size|--performance-mode",
     .takes = Takes::text,
     .note = kUnmodelledNote},
    {.names = "--attention-config|-ac|--kernel-config|--additional-config",
     .takes = Takes::json,
     .note = kUnmodelledNote},
    {.names = "--disable-custom-all-reduce|--disable-cascade-attn|--kv-sharing-fast-prefill|"
              "--enable-sleep-mode",
     .takes = Takes::toggle,
     .note = kUnmodelledNote},
    {.names = "--disable-sliding-window",
     .takes = Takes::toggle,
     .note = "the model keeps its windows, and its length is not cut to one window: check "
             "max_model_len"},
    {.names = "--mamba-cache-dtype|--mamba-ssm-cache-dtype|--mamba-block-size|--mamba-cache-mode",
     .takes = Takes::text,
     .note = "settings of recurrent state are not modelled"},
    {.names = "--hf-overrides|--rope-scaling",
     .takes = Takes::json,
     .note = "changes the model's configuration: check the model's context length"},
    {.names = "--rope-theta|--hf-config-path|--model-impl",
     .takes = Takes::text,
     .note = "changes the model's configuration"},
    {.names = "--num-scheduler-steps|--scheduler-delay-factor|--preemption-mode|"
              "--num-lookahead-slots|--scheduler-cls",
     .takes = Takes::text,
     .note = "this scheduling is not modelled"},
    {.names = "--stream-interval",
     .takes = Takes::integer,
     .note = "tokens are streamed one by one"},
    // vllm/config/model.py: tasks of pooling models; the steps that follow the start-up generate.
    {.names = "--runner|--task|--convert",
     .takes = Takes::text,
     .pointer = "/engine/runner",
     .note = "only generation is modelled",
     .values = "auto=|none=|generate=generate|pooling=pooling|embed=pooling|embedding=pooling|"
               "classify=pooling|score=pooling|reward=pooling"},
    {.names = "--device", .takes = Takes::text, .note = "only GPUs are modelled"},
    {.takes = Takes::text,
     .note = kUnmodelledNote,
     .variable = "VLLM_ATTENTION_BACKEND|VLLM_USE_TRITON_FLASH_ATTN|VLLM_USE_DEEP_GEMM|"
                 "VLLM_FLASH_ATTN_VERSION|VLLM_ALL2ALL_BACKEND|"
                 "VLLM_USE_FLASHINFER_MOE_FP8|VLLM_USE_FLASHINFER_MOE_FP4"},
    // ---- no effect on memory or scheduling
    {.takes = Takes::text,
     .variable = "VLLM_HOST_IP|VLLM_PORT|VLLM_API_KEY|VLLM_CACHE_ROOT|VLLM_CONFIG_ROOT|"
                 "VLLM_ASSETS_CACHE|VLLM_USE_MODELSCOPE|VLLM_WORKER_MULTIPROC_METHOD|"
                 "VLLM_NO_USAGE_STATS|VLLM_DO_NOT_TRACK|VLLM_ENGINE_ITERATION_TIMEOUT_S|"
                 "VLLM_RPC_TIMEOUT|VLLM_TORCH_PROFILER_DIR|VLLM_HTTP_TIMEOUT_KEEP_ALIVE|"
                 "VLLM_SERVER_DEV_MODE|VLLM_TRACE_FUNCTION|VLLM_LOGGING_LEVEL"},
    {.names = "--host|--port|--uds|--api-key|--ssl-keyfile|--ssl-certfile|--ssl-ca-certs|"
              "--ssl-cert-reqs|--ssl-ciphers|--root-path|--uvicorn-log-level|--log-config-file|"
              "--max-log-len|--disable-access-log-for-endpoints|--h11-max-header-count|"
              "--h11-max-incomplete-event-size|--allowed-origins|--allowed-methods|"
              "--allowed-headers|--response-role|--chat-template|--chat-template-content-format|"
              "--tool-call-parser|--tool-parser-plugin|--tool-server|--reasoning-parser|"
              "--reasoning-parser-plugin|--tokenizer|--tokenizer-mode|--tokenizer-revision|"
              "--tokenizer-pool-size|--tokenizer-pool-type|--revision|--code-revision|"
              "--config-format|--load-format|--download-dir|--safetensors-load-strategy|"
              "--model-loader-extra-config|--pt-load-map-location|--max-parallel-loading-workers|"
              "--distributed-executor-backend|--data-parallel-backend|-dpb|--seed|--max-logprobs|"
              "--logprobs-mode|--generation-config|--guided-decoding-backend|"
              "--logits-processor-pattern|--allowed-local-media-path|--otlp-traces-endpoint|"
              "--show-hidden-metrics-for-version|--kv-cache-metrics-sample|--worker-cls|"
              "--worker-extension-cls|--prefix-caching-hash-algo|--io-processor-plugin|"
              "--override-attention-dtype|--fingerprint-mode|--shutdown-timeout|"
              "--distributed-timeout-seconds|--renderer-num-workers",
     .takes = Takes::text},
    {.names = "--default-chat-template-kwargs|--override-generation-config|--kv-events-config|"
              "--structured-outputs-config|--reasoning-config|--pooler-config|"
              "--override-pooler-config|--profiler-config|--weight-transfer-config",
     .takes = Takes::json},
    {.names = "--served-model-name|--middleware|--ignore-patterns|--allowed-media-domains|"
              "--logits-processors|--collect-detailed-traces",
     .takes = Takes::words},
    {.names = "--hf-token", .takes = Takes::maybe_text},
    {.names = "--trust-remote-code|--disable-log-stats|--disable-log-requests|"
              "--enable-log-requests|--enable-log-outputs|--enable-log-deltas|"
              "--enable-logging-iteration-details|--disable-uvicorn-access-log|"
              "--disable-fastapi-docs|--enable-offline-docs|--allow-credentials|"
              "--enable-ssl-refresh|--enable-auto-tool-choice|"
              "--exclude-tools-when-tool-choice-none|--enable-reasoning|"
              "--enable-prompt-tokens-details|--enable-per-request-metrics|"
              "--enable-server-load-tracking|--enable-force-include-usage|"
              "--enable-tokenizer-info-endpoint|--enable-request-id-headers|"
              "--return-tokens-as-token-ids|--trust-request-chat-template|--log-error-stack|"
              "--tokens-only|--skip-tokenizer-init|--enable-prompt-embeds|--kv-cache-metrics|"
              "--cudagraph-metrics|--enable-mfu-metrics|--enable-layerwise-nvtx-tracing|"
              "--aggregate-engine-logging|--ray-workers-use-nsight|--use-tqdm-on-load|"
              "--calculate-kv-scales|--use-v2-block-manager|--disable-async-output-proc|"
              "--multi-step-stream-outputs|--data-parallel-hybrid-lb|-dph|"
              "--data-parallel-external-lb|-dpe|--disable-nccl-for-dp-synchronization|"
              "--enable-flashinfer-autotune|--numa-bind|--fail-on-environ-validation|"
              "--allow-deprecated-quantization|--disable-frontend-multiprocessing|"
              "--disable-guided-decoding",
     .takes = Takes::toggle},
};

constexpr LaunchProgram kVllmPrograms[] = {{"vllm", "serve"}};
constexpr LaunchProgram kVllmModules[] = {{"vllm.entrypoints.openai.api_server"},
                                          {"vllm.entrypoints.api_server"},
                                          {"vllm.entrypoints.cli.main", "serve"},
                                          {"dynamo.vllm"}};
// Entry points and tags as published with the images in 2024 to 2026. NVIDIA and AMD number theirs
// by month or by their own stack.
constexpr LaunchImage kVllmImages[] = {
    {.repository = "vllm/vllm-openai", .starts_engine = true, .tag_is_release = true},
    {.repository = "nvidia/vllm"},
    {.repository = "rocm/vllm"},
    {.repository = "ai-dynamo/vllm-runtime"},
    {.repository = "llm-d/llm-d-cuda"}};
constexpr std::string_view kVllmEntrypoint[] = {"vllm", "serve"};

constexpr std::string_view kVllmKvTransfer[] = {
    "--kv-transfer-config", R"({"kv_connector":"NixlConnector","kv_role":"kv_both"})"};

constexpr std::string_view kHybridOff = "/engine/disable_hybrid_kv_cache_manager";

// A preference for the manager counts, and decides alone, from this release on; before, a
// connector turned it off in any case.
constexpr EngineVersion kHybridPreference{0, 12};
// Of vLLM's own connectors those that cannot.
constexpr std::array<std::string_view, 1> kWithoutHybrid{"LMCacheConnectorV1"};

// vLLM turns its hybrid KV cache manager off for a KV connector (vllm/config/vllm.py).
void settle_kv_connector(LaunchDraft& draft) {
  if (!draft.kv_connector) return;
  const EngineVersion release = draft.release();
  const Json* wish = draft.find(kHybridOff);
  if (wish != nullptr && (wish->get<bool>() || release >= kHybridPreference)) return;
  const std::string& connector = *draft.kv_connector;
  const bool unable = std::ranges::count(kWithoutHybrid, connector) > 0;
  if (release >= kHybridByConnector && !unable) {
    draft.note(
        fmt::format("vLLM {} keeps its hybrid KV cache manager if the connector{}{} supports it, "
                    "which is assumed here: if the log says 'Turning off hybrid kv cache manager', "
                    "set engine.disable_hybrid_kv_cache_manager",
                    to_string(release), connector.empty() ? "" : " ", connector));
    return;
  }
  draft.set(kHybridOff, true);
  draft.note(
      fmt::format("vLLM {} turns off its hybrid KV cache manager because of the KV connector: "
                  "windowed layers keep all tokens, and models with recurrent layers do not start",
                  to_string(release)));
}

// Releases before 0.8 run V0, whatever the variable says of their first V1; from 0.11 on there is
// no V0 (v1/engine/llm_engine.py).
void settle_engine_core(LaunchDraft& draft) {
  constexpr std::string_view kScheduler = "/engine/scheduler";
  const std::string core = draft.text(kScheduler);
  if (core.empty()) return;
  const EngineVersion release = draft.release();
  const bool both = release >= kV1 && release < kV1Alone;
  if (both && core == "vllm_v0") return;
  draft.unset(kScheduler);
  if (both || (core == "vllm") == (release >= kV1)) return;
  draft.note(fmt::format("VLLM_USE_V1: vLLM {} is modelled with {} alone", to_string(release),
                         release < kV1 ? "V0" : "V1"));
}

}  // namespace

const EngineLaunch kVllmLaunch{
    .title = "vLLM",
    .examples = "vllm serve MODEL, python -m vllm.entrypoints.openai.api_server",
    .command = "vllm serve {}",
    .programs = kVllmPrograms,
    .modules = kVllmModules,
    .images = kVllmImages,
    .entrypoint = kVllmEntrypoint,
    .rows = kVllmRows,
    .abbreviations = true,
    .positional_model = true,
    .variable_prefixes = "VLLM_",
    .messages = kVllmMessages,
    .printed = kVllmPrinted,
    .own_devices_per_rank = true,
    .settle =
        [](LaunchDraft& draft) {
          settle_drafter(draft);
          settle_engine_core(draft);
          settle_kv_connector(draft);
        },
    .deployment = {.image = "vllm/vllm-openai:v{}",
                   .kv_transfer = kVllmKvTransfer,
                   .dynamo_module = "dynamo.vllm",
                   .dynamo_image = "nvcr.io/nvidia/ai-dynamo/vllm-runtime",
                   .dynamo_role_flag = "--disaggregation-mode",
                   .chart_section = "vllmConfig",
                   .chart_workload = "-deployment-vllm"},
};

}  // namespace headroom
