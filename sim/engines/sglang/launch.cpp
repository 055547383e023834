// SGLang: docs/advanced_features/server_arguments.md and python/sglang/srt/server_args.py, releases
// 0.4 to 0.5. Command line flags override the file of --config.

#include "sim/engines/sglang/engine.hpp"

#include <fmt/format.h>
#include <array>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "sim/engines/launch.hpp"
#include "sim/engines/launch_draft.hpp"
#include "sim/engines/sglang/defaults.hpp"
#include "sim/kernel/lower_case.hpp"

namespace headroom {
namespace {

constexpr std::string_view kLoadBalance = "/engine/load_balance_method";
constexpr std::string_view kSpeculativeMethod = "/engine/speculative_config/method";
constexpr std::string_view kDrafterModel = "/engine/speculative_config/model";
constexpr std::string_view kSpeculativeSteps = "/engine/speculative_config/num_speculative_tokens";
constexpr std::string_view kSpeculativeTopk = "/engine/speculative_eagle_topk";
constexpr std::string_view kSpeculativeTokens = "/engine/speculative_num_draft_tokens";
constexpr std::string_view kSecondWorkerSwitch = "/engine/enable_spec_v2";
constexpr std::string_view kDisaggregation = "prefill/decode disaggregation is not modelled";

const FlagRow kSglangRows[] = {
    {.names = "--model-path|--model", .takes = Takes::text, .pointer = "/model"},
    {.names = "--config", .takes = Takes::text, .pointer = kSettingsFile},
    {.names = "--tensor-parallel-size|--tp-size|--tp",
     .takes = Takes::integer,
     .pointer = "/engine/tensor_parallel_size"},
    {.names = "--pipeline-parallel-size|--pp-size|--pp",
     .takes = Takes::integer,
     .pointer = "/engine/pipeline_parallel_size"},
    {.names = "--data-parallel-size|--dp-size|--dp",
     .takes = Takes::integer,
     .pointer = "/engine/data_parallel_size"},
    {.names = "--expert-parallel-size|--ep-size|--ep",
     .takes = Takes::above_one,
     .pointer = "/engine/enable_expert_parallel"},
    {.names = "--dtype",
     .takes = Takes::text,
     .pointer = "/engine/dtype",
     .values = "half=float16|float=float32"},
    {.names = "--quantization",
     .takes = Takes::text,
     .pointer = "/engine/quantization",
     .note = kQuantizationNote,
     .values = "modelopt_fp8=modelopt"},
    {.names = "--kv-cache-dtype",
     .takes = Takes::text,
     .pointer = "/engine/kv_cache_dtype",
     .values = "bf16=bfloat16|fp4_e2m1=nvfp4"},
    {.names = "--mem-fraction-static",
     .takes = Takes::number,
     .pointer = "/engine/mem_fraction_static"},
    {.names = "--context-length", .takes = Takes::integer, .pointer = "/engine/context_length"},
    {.names = "--max-running-requests",
     .takes = Takes::integer,
     .pointer = "/engine/max_running_requests"},
    {.names = "--max-total-tokens", .takes = Takes::integer, .pointer = "/engine/max_total_tokens"},
    {.names = "--chunked-prefill-size",
     .takes = Takes::integer,
     .pointer = "/engine/chunked_prefill_size"},
    {.names = "--max-prefill-tokens",
     .takes = Takes::integer,
     .pointer = "/engine/max_prefill_tokens"},
    // Newer releases also order by priority and routing-key.
    {.names = "--schedule-policy",
     .takes = Takes::text,
     .pointer = "/engine/schedule_policy",
     .note = "this order of waiting requests is not modelled"},
    {.names = "--schedule-conservativeness",
     .takes = Takes::number,
     .pointer = "/engine/schedule_conservativeness"},
    {.names = "--page-size", .takes = Takes::integer, .pointer = "/engine/page_size"},
    {.names = "--swa-full-tokens-ratio",
     .takes = Takes::number,
     .pointer = "/engine/swa_full_tokens_ratio"},
    {.names = "--cuda-graph-max-bs|--cuda-graph-max-bs-decode",
     .takes = Takes::integer,
     .pointer = "/engine/cuda_graph_max_bs"},
    {.names = "--disable-cuda-graph", .pointer = "/engine/disable_cuda_graph", .constant = "true"},
    {.names = "--disable-radix-cache",
     .pointer = "/engine/disable_radix_cache",
     .constant = "true"},
    {.names = "--disable-overlap-schedule",
     .pointer = "/engine/disable_overlap_schedule",
     .constant = "true"},
    {.names = "--scheduler-recv-interval",
     .takes = Takes::integer,
     .pointer = "/engine/scheduler_recv_interval"},
    {.names = "--enable-mixed-chunk", .pointer = "/engine/enable_mixed_chunk", .constant = "true"},
    {.names = "--load-balance-method",
     .takes = Takes::text,
     .pointer = kLoadBalance,
     .note = "this way to choose a data rank is not modelled",
     .values = "auto=|shortest_queue=total_requests|minimum_tokens=total_tokens"},
    {.names = "--enable-deepep-moe|--enable-ep-moe",
     .pointer = "/engine/enable_expert_parallel",
     .constant = "true"},
    // speculative/spec_info.py. NEXTN is EAGLE whose drafter is the checkpoint's own module.
    {.names = "--speculative-algorithm|--speculative-algo",
     .takes = Takes::text,
     .pointer = kSpeculativeMethod,
     .note = kDrafterNote,
     .values = "NEXTN=mtp|EAGLE=eagle|EAGLE3=eagle3|STANDALONE=draft_model|NGRAM=ngram|"
               "DFLASH=dflash|nextn=mtp|standalone=draft_model"},
    {.names = "--speculative-draft-model-path|--speculative-draft-model",
     .takes = Takes::text,
     .pointer = kDrafterModel},
    {.names = "--speculative-num-steps", .takes = Takes::integer, .pointer = kSpeculativeSteps},
    {.names = "--speculative-eagle-topk", .takes = Takes::integer, .pointer = kSpeculativeTopk},
    {.names = "--speculative-num-draft-tokens|--speculative-dflash-block-size",
     .takes = Takes::integer,
     .pointer = kSpeculativeTokens},
    {.takes = Takes::toggle, .pointer = kSecondWorkerSwitch, .variable = "SGLANG_ENABLE_SPEC_V2"},
    // ---- effects that a scenario cannot express
    {.names = "--speculative-token-map|"
              "--speculative-attention-mode|--speculative-draft-model-quantization|"
              "--speculative-draft-model-revision|--speculative-accept-threshold-single|"
              "--speculative-accept-threshold-acc|--speculative-ngram-min-bfs-breadth|"
              "--speculative-ngram-max-bfs-breadth|--speculative-ngram-max-match-window-size|"
              "--speculative-ngram-min-match-window-size|--speculative-draft-window-size|"
              "--speculative-moe-runner-backend|--speculative-adaptive-config",
     .takes = Takes::text,
     .note = kDrafterSettingNote},
    {.names = "--speculative-adaptive|--speculative-use-rejection-sampling|"
              "--enable-multi-layer-eagle",
     .note = kDrafterSettingNote},
    {.names = "--enable-lora|--enable-lora-overlap-loading", .note = kLoraNote},
    {.names = "--max-lora-rank|--max-loras-per-batch|--max-loaded-loras|--lora-backend|"
              "--lora-eviction-policy|--max-lora-chunk-size",
     .takes = Takes::text,
     .note = kLoraNote},
    {.names = "--lora-paths|--lora-target-modules", .takes = Takes::words, .note = kLoraNote},
    {.names = "--cuda-graph-bs|--piecewise-cuda-graph-tokens|--cuda-graph-bs-decode|"
              "--cuda-graph-bs-prefill",
     .takes = Takes::words,
     .note = kGraphsNote},
    {.names = "--disable-piecewise-cuda-graph|--disable-prefill-cuda-graph",
     .pointer = "/engine/piecewise_cuda_graph",
     .constant = "false"},
    {.names = "--enable-piecewise-cuda-graph|--enforce-piecewise-cuda-graph",
     .pointer = "/engine/piecewise_cuda_graph",
     .constant = "true"},
    {.names = "--cuda-graph-backend-prefill",
     .takes = Takes::text,
     .pointer = "/engine/piecewise_cuda_graph",
     .values = "disabled=false|breakable=true|tc_piecewise=true|full=true"},
    {.names = "--mamba-full-memory-ratio",
     .takes = Takes::number,
     .pointer = "/engine/mamba_full_memory_ratio"},
    {.names = "--max-mamba-cache-size",
     .takes = Takes::integer,
     .pointer = "/engine/max_mamba_cache_size"},
    {.names = "--mamba-scheduler-strategy",
     .takes = Takes::text,
     .pointer = "/engine/mamba_scheduler_strategy"},
    {.names = "--disable-cuda-graph-padding|--disable-decode-cuda-graph", .note = kGraphsNote},
    {.names = "--piecewise-cuda-graph-max-tokens|--cuda-graph-max-bs-prefill|"
              "--cuda-graph-backend-decode|--cuda-graph-config|--cuda-graph-tc-compiler",
     .takes = Takes::text,
     .note = kGraphsNote},
    {.names = "--cpu-offload-gb|--hicache-ratio|--hicache-size|--hicache-write-policy|"
              "--hicache-io-backend|--hicache-mem-layout|--hicache-storage-backend|"
              "--hicache-storage-prefetch-policy|--hicache-storage-backend-extra-config|"
              "--offload-group-size|--offload-num-in-group|--offload-mode|--kt-num-gpu-experts|"
              "--kt-weight-path|--kt-method|--kt-cpuinfer|--kt-threadpool-count",
     .takes = Takes::text,
     .note = kOffloadNote},
    {.names = "--enable-hierarchical-cache|--enable-lmcache", .note = kOffloadNote},
    {.names = "--disaggregation-mode|--disaggregation-transfer-backend|"
              "--disaggregation-bootstrap-port|--disaggregation-ib-device|"
              "--num-reserved-decode-tokens",
     .takes = Takes::text,
     .note = kDisaggregation},
    {.names = "--enable-dp-attention", .pointer = kSwitch},
    {.names = "--enable-dp-lm-head|--enable-two-batch-overlap|--enable-single-batch-overlap|"
              "--enable-eplb|--enable-torch-compile|--enable-flashinfer-allreduce-fusion|"
              "--disable-custom-all-reduce|--enable-mscclpp|--enable-torch-symm-mem|"
              "--enable-symm-mem|--enable-nccl-nvls|--disable-shared-experts-fusion|"
              "--disable-chunked-prefix-cache|--enable-memory-saver|--enable-fp32-lm-head|"
              "--disable-hybrid-swa-memory|--enable-dynamic-chunking|--enable-prefill-delayer|"
              "--enable-priority-scheduling|--enable-deterministic-inference|"
              "--flashinfer-mla-disable-ragged|--enable-attn-tp-input-scattered|"
              "--enable-fused-qk-norm-rope",
     .note = kUnmodelledNote},
    {.names = "--attention-backend|--prefill-attention-backend|--decode-attention-backend|"
              "--mm-attention-backend|--sampling-backend|--moe-a2a-backend|--moe-runner-backend|"
              "--fp8-gemm-backend|--fp4-gemm-backend|--deepep-mode|--deepep-config|"
              "--moe-dense-tp-size|--ep-num-redundant-experts|--ep-dispatch-algorithm|"
              "--eplb-algorithm|--init-expert-location|--torch-compile-max-bs|--torchao-config|"
              "--num-continuous-decode-steps|--triton-attention-num-kv-splits|"
              "--mamba-ssm-dtype|--prefill-max-requests|"
              "--pp-max-micro-batch-size|--pp-async-batch-depth|"
              "--attention-context-parallel-size|--attn-cp-size|--moe-data-parallel-size|"
              "--moe-dp-size|--stream-interval|--dsa-prefill-backend|--dsa-decode-backend|"
              "--nsa-prefill-backend|--nsa-decode-backend|--dllm-algorithm|--modelopt-quant|"
              "--radix-eviction-policy",
     .takes = Takes::text,
     .note = kUnmodelledNote},
    {.names = "--nnodes|--node-rank|--dist-init-addr|--nccl-init-addr",
     .takes = Takes::text,
     .note = kNodesNote},
    {.names = "--json-model-override-args",
     .takes = Takes::json,
     .note = "changes the model's configuration: check the model's context length"},
    {.names = "--is-embedding|--encoder-only", .note = "only generation is modelled"},
    {.names = "--enable-multimodal|--language-only|--keep-mm-feature-on-device",
     .note = "inputs other than text are not modelled"},
    {.names = "--device", .takes = Takes::text, .note = "only GPUs are modelled"},
    {.names = "--max-queued-requests",
     .takes = Takes::integer,
     .note = "a limit on waiting requests is not modelled"},
    // ---- no effect on memory or scheduling
    {.takes = Takes::text,
     .variable = "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN|SGLANG_TORCH_PROFILER_DIR|"
                 "SGLANG_USE_MODELSCOPE|SGLANG_HOST_IP|SGLANG_PORT"},
    {.names = "--host|--port|--api-key|--admin-api-key|--served-model-name|--tokenizer-path|"
              "--tokenizer-mode|--tokenizer-worker-num|--load-format|--model-loader-extra-config|"
              "--revision|--model-impl|--fastapi-root-path|--warmups|--nccl-port|"
              "--quantization-param-path|--random-seed|--watchdog-timeout|"
              "--soft-watchdog-timeout|--dist-timeout|--download-dir|--base-gpu-id|"
              "--gpu-id-step|--log-level|--log-level-http|--log-requests-level|"
              "--log-requests-format|--crash-dump-folder|--decode-log-interval|"
              "--kv-events-config|--otlp-traces-endpoint|--export-metrics-to-file-dir|"
              "--weight-version|--chat-template|--hf-chat-template-name|--completion-template|"
              "--file-storage-path|--reasoning-parser|--tool-call-parser|--tool-server|"
              "--sampling-defaults|--preferred-sampling-params|--grammar-backend|"
              "--constrained-json-whitespace-pattern|--gc-warning-threshold-secs|"
              "--custom-weight-loader|--mooncake-ib-device|"
              "--ssl-keyfile|--ssl-certfile|--ssl-ca-certs",
     .takes = Takes::text},
    {.names = "--log-requests-target|--uvicorn-access-log-exclude-prefixes|"
              "--bucket-time-to-first-token|--bucket-inter-token-latency|"
              "--bucket-e2e-request-latency|--prompt-tokens-buckets|--generation-tokens-buckets|"
              "--numa-node",
     .takes = Takes::words},
    {.names = "--trust-remote-code|--skip-tokenizer-init|--skip-server-warmup|--grpc-mode|"
              "--log-requests|--show-time-cost|--enable-metrics|--enable-mfu-metrics|"
              "--enable-metrics-for-all-schedulers|--collect-tokens-histogram|--enable-trace|"
              "--enable-request-time-stats-logging|--export-metrics-to-file|"
              "--enable-cache-report|--sleep-on-idle|--enable-p2p-check|--enable-nan-detection|"
              "--constrained-json-disable-any-whitespace|--allow-auto-truncate|"
              "--enable-custom-logit-processor|--delete-ckpt-after-loading|"
              "--disable-outlines-disk-cache|--disable-fast-image-processor|"
              "--enable-return-hidden-states|--enable-return-routed-experts|"
              "--enable-tokenizer-batch-encode|--disable-tokenizer-batch-decode|"
              "--triton-attention-reduce-in-fp32|--enable-profile-cuda-graph|"
              "--enable-cudagraph-gc|--enable-layerwise-nvtx-marker|"
              "--disable-flashinfer-autotune|--incremental-streaming-output|"
              "--enable-weights-cpu-backup"},
};

// The whole number that an option has, or `fallback`.
std::int64_t number_of(const LaunchDraft& draft, std::string_view pointer, std::int64_t fallback) {
  const Json* value = draft.find(pointer);
  return value != nullptr && value->is_number_integer() ? value->get<std::int64_t>() : fallback;
}

// The drafter is the checkpoint's own prediction module, by whatever name it is asked for.
bool is_own_module(const LaunchDraft& draft, std::string path) {
  if (path.empty() || path == draft.text("/model")) return true;
  path = lower_case(std::move(path));
  return path.find("nextn") != std::string::npos || path.find("mtp") != std::string::npos;
}

// Methods without a tree: the tokens of a round say how many are drafted.
void settle_round_without_tree(LaunchDraft& draft) {
  const std::int64_t tokens = number_of(draft, kSpeculativeTokens, 0);
  draft.unset(kSpeculativeSteps);
  draft.unset(kSpeculativeTopk);
  draft.unset(kSpeculativeTokens);
  if (tokens > 1) draft.set(kSpeculativeSteps, tokens - 1);
}

void settle_tree(LaunchDraft& draft) {
  const bool has_steps = draft.find(kSpeculativeSteps) != nullptr;
  if (!has_steps &&
      (draft.find(kSpeculativeTopk) != nullptr || draft.find(kSpeculativeTokens) != nullptr)) {
    draft.refuses_to_start(
        "--speculative-eagle-topk and --speculative-num-draft-tokens need --speculative-num-steps");
    draft.unset(kSpeculativeTopk);
    draft.unset(kSpeculativeTokens);
  }
  // A chain needs no further words. Where the tokens contradict it they stay, and the resolver says
  // what becomes of them.
  if (number_of(draft, kSpeculativeTopk, 1) > 1) return;
  draft.unset(kSpeculativeTopk);
  const std::int64_t chain = number_of(draft, kSpeculativeSteps, 0) + 1;
  if (number_of(draft, kSpeculativeTokens, chain) == chain) draft.unset(kSpeculativeTokens);
}

void settle_speculation(LaunchDraft& draft) {
  const std::string method = draft.text(kSpeculativeMethod);
  const SglangRelease release =
      sglang_release(draft.release(), draft.find("/engine/version") != nullptr
                                          ? std::optional(draft.text("/engine/version"))
                                          : std::nullopt);
  if (method.empty() || release >= SglangRelease{0, 5, 14}) draft.unset(kSecondWorkerSwitch);
  if (method.empty() || draft.refused.contains(std::string(kSpeculativeMethod))) {
    bool named = false;
    for (const std::string_view pointer :
         {kDrafterModel, kSpeculativeSteps, kSpeculativeTopk, kSpeculativeTokens}) {
      named = named || draft.find(pointer) != nullptr;
      draft.unset(pointer);
    }
    if (named && method.empty() && !draft.refused.contains(std::string(kSpeculativeMethod))) {
      draft.note("--speculative-algorithm is not given, so there are no drafts");
    }
    return;
  }
  if (method == "eagle" && is_own_module(draft, draft.text(kDrafterModel)))
    draft.set(kSpeculativeMethod, "mtp");
  if (method == "ngram" || method == "dflash") {
    settle_round_without_tree(draft);
  } else {
    settle_tree(draft);
  }
  settle_drafter(draft);
}

// The inverse. SGLang takes all three numbers of a tree or none.
void lay_out_speculation(Json& engine) {
  if (!engine.contains("speculative_config")) return;
  Json& config = engine["speculative_config"];
  if (!config.contains("num_speculative_tokens")) return;
  const auto steps = config["num_speculative_tokens"].get<std::int64_t>();
  if (!engine.contains("speculative_num_draft_tokens")) {
    engine["speculative_num_draft_tokens"] = steps + 1;
  }
  const std::string method = config.value("method", "none");
  if (method == "ngram" || method == "dflash") {
    config.erase("num_speculative_tokens");
  } else if (!engine.contains("speculative_eagle_topk")) {
    engine["speculative_eagle_topk"] = 1;
  }
}

// With attention by data ranks the tensor ranks are shared out to them, as are the chunk and the
// requests; without it data ranks are engines of their own behind one door (server_args.py:
// _handle_data_parallelism; managers/data_parallel_controller.py).
void settle_data_ranks(LaunchDraft& draft) {
  constexpr std::string_view kTensor = "/engine/tensor_parallel_size";
  constexpr std::string_view kData = "/engine/data_parallel_size";
  const std::int64_t ranks = number_of(draft, kData, 1);
  if (ranks <= 1) return draft.unset(kLoadBalance);
  if (!draft.switches.contains("--enable-dp-attention")) {
    draft.unset(kData);
    draft.unset(kLoadBalance);
    draft.note(
        fmt::format("--dp-size {} without --enable-dp-attention starts {} engines: this is "
                    "one of them, with its share of the traffic",
                    ranks, ranks));
    return;
  }
  const std::int64_t tensor = number_of(draft, kTensor, 1);
  if (tensor % ranks != 0) {
    draft.note(fmt::format("--tp-size {} is no multiple of --dp-size {}: SGLang will not start",
                           tensor, ranks));
    return;
  }
  draft.set(kTensor, tensor / ranks);
  for (const std::string_view shared :
       {"/engine/chunked_prefill_size", "/engine/max_running_requests"}) {
    const std::int64_t whole = number_of(draft, shared, 0);
    if (whole > 0) draft.set(shared, std::max<std::int64_t>(1, whole / ranks));
  }
}

// The inverse of settle(). The ranks of experts are all tensor ranks.
std::vector<std::string> lay_out_sglang(Json& engine) {
  const auto number = [&engine](const char* key) {
    return engine.contains(key) && engine[key].is_number_integer() ? engine[key].get<std::int64_t>()
                                                                   : std::int64_t{1};
  };
  lay_out_speculation(engine);
  const std::int64_t ranks = number("data_parallel_size");
  const std::int64_t tensor = number("tensor_parallel_size") * ranks;
  if (engine.value("enable_expert_parallel", false)) engine["enable_expert_parallel"] = tensor;
  if (ranks <= 1) return {};
  engine["tensor_parallel_size"] = tensor;
  for (const char* shared : {"chunked_prefill_size", "max_running_requests"}) {
    if (number(shared) > 1) engine[shared] = number(shared) * ranks;
  }
  return {"--enable-dp-attention"};
}

std::string whole_sglang_release(const std::string& version) {
  return to_string(sglang_release(parse_engine_version(version), version));
}

constexpr LaunchProgram kSglangPrograms[] = {{"sglang", "serve"}};
constexpr LaunchProgram kSglangModules[] = {
    {"sglang.launch_server"}, {"sglang.cli.main", "serve"}, {"dynamo.sglang"}};
constexpr LaunchImage kSglangImages[] = {{.repository = "lmsysorg/sglang", .tag_is_release = true},
                                         {.repository = "nvidia/sglang"},
                                         {.repository = "ai-dynamo/sglang-runtime"}};

using Figure = MemoryFigure;

constexpr std::string_view kGraphCaptureCures =
    "--mem-fraction-static: a smaller share, so that more is left|--cuda-graph-max-bs: fewer "
    "graphs|--disable-cuda-graph: none, slower decode steps";

// python/sglang/srt/model_executor/model_runner.py and pool_configurator.py (0.4 to 0.5), which
// print GiB as GB.
constexpr std::array kSglangMessages{
    MemoryMessage{.pattern = "Not enough memory. Please try to increase --mem-fraction-static",
                  .stage = StartupStage::blocks,
                  .meaning = "the share of memory that the engine may use leaves nothing for KV "
                             "beside the weights",
                  .changes = "--mem-fraction-static: a larger share|--quantization: smaller "
                             "weights, check quality|--tp-size: more devices"},
    MemoryMessage{.pattern = "Capture cuda graph failed: CUDA out of memory",
                  .stage = StartupStage::graph_capture,
                  .meaning = "no memory is left to capture CUDA graphs",
                  .changes = kGraphCaptureCures},
    MemoryMessage{.pattern = "Load weight end*avail mem=# GB, mem usage=# GB",
                  .figures = {Figure::free, Figure::weights}},
    MemoryMessage{.pattern = "KV Cache is allocated*KV size: # GB", .figures = {Figure::kv}},
    MemoryMessage{.pattern = "Memory pool end*avail mem=# GB", .figures = {Figure::free}},
};

// python/sglang/srt/entrypoints/engine.py
constexpr PrintedStart kSglangPrinted[] = {
    {.before = "server_args=", .value = "ServerArgs(", .has_defaults = true}};

}  // namespace

const EngineLaunch kSglangLaunch{
    .title = "SGLang",
    .examples = "python -m sglang.launch_server, sglang serve",
    .command = "python3 -m sglang.launch_server --model-path {}",
    .programs = kSglangPrograms,
    .modules = kSglangModules,
    .images = kSglangImages,
    .rows = kSglangRows,
    .abbreviations = true,
    .positional_model = true,
    .variable_prefixes = "SGLANG_|SGL_",
    .messages = kSglangMessages,
    .started = &kSglangStartedLines,
    .printed = kSglangPrinted,
    .settle =
        [](LaunchDraft& draft) {
          settle_speculation(draft);
          settle_data_ranks(draft);
        },
    .deployment = {.image = "lmsysorg/sglang:v{}",
                   .whole_release = whole_sglang_release,
                   .dynamo_module = "dynamo.sglang",
                   .dynamo_image = "nvcr.io/nvidia/ai-dynamo/sglang-runtime",
                   .dynamo_role_flag = "--disaggregation-mode"},
    .lay_out = lay_out_sglang,
};

}  // namespace headroom
