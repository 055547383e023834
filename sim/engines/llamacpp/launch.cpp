// llama.cpp: tools/server/README.md, builds of 2024 to 2026; most flags are also variables
// LLAMA_ARG_*. Ollama: envconfig/config.go and docs/faq, releases 0.3 to 0.12; it has only
// variables.

#include "sim/engines/llamacpp/engine.hpp"

#include <array>

#include "sim/engines/launch.hpp"

namespace headroom {
namespace {

constexpr std::string_view kPlacement =
    "this placement of tensors is not modelled: all count as on the device, so the engine is "
    "slower than said";
// Regular expressions over tensors' names: those that people write for all routed experts.
constexpr std::string_view kAllExperts =
    "exps=CPU=999|.ffn_.*_exps.=CPU=999|\\.ffn_.*_exps\\.=CPU=999|ffn_.*_exps=CPU=999|"
    "ffn_.*_exps.*=CPU=999|.*ffn_.*_exps.*=CPU=999|.*_exps.*=CPU=999|_exps=CPU=999|"
    ".ffn_.*_exps.weight=CPU=999|\\.ffn_.*_exps\\.weight=CPU=999";
constexpr std::string_view kTextOnly = "inputs other than text are not modelled";
constexpr std::string_view kRope =
    "changes the model's configuration: check the model's context length";

const FlagRow kLlamacppRows[] = {
    {.names = "-m|--model",
     .takes = Takes::text,
     .pointer = "/model",
     .variable = "LLAMA_ARG_MODEL"},
    {.names = "-hf|-hfr|--hf-repo",
     .takes = Takes::text,
     .pointer = "/model",
     .variable = "LLAMA_ARG_HF_REPO"},
    {.names = "-mu|--model-url",
     .takes = Takes::text,
     .pointer = "/model",
     .variable = "LLAMA_ARG_MODEL_URL"},
    {.names = "-dr|--docker-repo",
     .takes = Takes::text,
     .pointer = "/model",
     .variable = "LLAMA_ARG_DOCKER_REPO"},
    {.names = "-c|--ctx-size",
     .takes = Takes::integer,
     .pointer = "/engine/ctx_size",
     .values = "0=",
     .variable = "LLAMA_ARG_CTX_SIZE"},
    {.names = "-np|--parallel",
     .takes = Takes::integer,
     .pointer = "/engine/parallel",
     .values = "-1=",
     .variable = "LLAMA_ARG_N_PARALLEL"},
    {.names = "-ctk|--cache-type-k",
     .takes = Takes::text,
     .pointer = "/engine/cache_type_k",
     .variable = "LLAMA_ARG_CACHE_TYPE_K"},
    {.names = "-ctv|--cache-type-v",
     .takes = Takes::text,
     .pointer = "/engine/cache_type_v",
     .variable = "LLAMA_ARG_CACHE_TYPE_V"},
    // No model has 999 layers: what the engine's users write for all.
    {.names = "-ngl|--gpu-layers|--n-gpu-layers",
     .takes = Takes::integer,
     .pointer = "/engine/n_gpu_layers",
     .values = "auto=|-1=|all=999",
     .variable = "LLAMA_ARG_N_GPU_LAYERS"},
    // As with layers: for all.
    {.names = "-cmoe|--cpu-moe",
     .pointer = "/engine/n_cpu_moe",
     .constant = "999",
     .variable = "LLAMA_ARG_CPU_MOE"},
    {.names = "-ncmoe|--n-cpu-moe",
     .takes = Takes::integer,
     .pointer = "/engine/n_cpu_moe",
     .variable = "LLAMA_ARG_N_CPU_MOE"},
    {.names = "-ot|--override-tensor",
     .takes = Takes::integer,
     .pointer = "/engine/n_cpu_moe",
     .note = kPlacement,
     .values = kAllExperts,
     .variable = "LLAMA_ARG_OVERRIDE_TENSOR"},
    {.names = "-b|--batch-size",
     .takes = Takes::integer,
     .pointer = "/engine/batch_size",
     .variable = "LLAMA_ARG_BATCH"},
    {.names = "-ub|--ubatch-size",
     .takes = Takes::integer,
     .pointer = "/engine/ubatch_size",
     .variable = "LLAMA_ARG_UBATCH"},
    // A bare -fa switched it on in builds before August 2025.
    {.names = "-fa|--flash-attn",
     .takes = Takes::maybe_switch,
     .pointer = "/engine/flash_attn",
     .constant = "\"on\"",
     .values = "1=on|true=on|enabled=on|0=off|false=off|disabled=off",
     .variable = "LLAMA_ARG_FLASH_ATTN"},
    {.names = "-kvu|--kv-unified",
     .pointer = "/engine/kv_unified",
     .constant = "true",
     .variable = "LLAMA_ARG_KV_UNIFIED"},
    {.names = "-no-kvu|--no-kv-unified", .pointer = "/engine/kv_unified", .constant = "false"},
    {.names = "--no-mmap",
     .pointer = "/engine/no_mmap",
     .constant = "true",
     .variable = "LLAMA_ARG_NO_MMAP"},
    {.names = "--mmap", .pointer = "/engine/no_mmap", .constant = "false"},
    {.names = "--cache-prompt",
     .takes = Takes::toggle,
     .pointer = "/engine/cache_prompt",
     .variable = "LLAMA_ARG_CACHE_PROMPT"},
    {.pointer = "/engine/cache_prompt",
     .constant = "false",
     .variable = "LLAMA_ARG_NO_CACHE_PROMPT"},
    {.names = "-sps|--slot-prompt-similarity",
     .takes = Takes::number,
     .pointer = "/engine/slot_prompt_similarity"},
    {.names = "--swa-full",
     .pointer = "/engine/swa_full",
     .constant = "true",
     .variable = "LLAMA_ARG_SWA_FULL"},
    {.names = "-cram|--cache-ram",
     .takes = Takes::integer,
     .pointer = "/engine/cache_ram",
     .variable = "LLAMA_ARG_CACHE_RAM"},
    // ---- effects that a scenario cannot express
    {.names = "-hff|--hf-file",
     .takes = Takes::text,
     .note = "names one file of the repository, whose quantization sets the size of the weights",
     .variable = "LLAMA_ARG_HF_FILE"},
    {.names = "-nkvo|--no-kv-offload",
     .note = "set engine.no_kv_offload for its memory; its step time is not modelled",
     .variable = "LLAMA_ARG_NO_KV_OFFLOAD"},
    {.names = "--no-op-offload|--no-host", .note = kPlacement},
    {.names = "-sm|--split-mode|-ts|--tensor-split|-mg|--main-gpu|-dev|--device|-ncffn|"
              "--n-cpu-ffn|--moe-cache-mib|--rpc",
     .takes = Takes::text,
     .note = kPlacement},
    {.names = "-fit|--fit|-fitt|--fit-target|-fitc|--fit-ctx|-lm|--load-mode|-lzm|--lazy-mode|"
              "--kv-unified-per-slot|-ctxcp|--ctx-checkpoints|--swa-checkpoints|"
              "--cache-reuse|-dt|--defrag-thold|--keep",
     .takes = Takes::text,
     .note = kUnmodelledNote},
    {.names = "-nr|--no-repack|--repack|--mlock|--context-shift|--no-context-shift|-nocb|"
              "--no-cont-batching|--direct-io|-bs|--backend-sampling",
     .note = kUnmodelledNote},
    {.names = "-md|--model-draft|--spec-draft-model|-hfd|-hfrd|--hf-repo-draft|--spec-draft-hf|"
              "--draft|--draft-n|--draft-max|--draft-min|--draft-n-min|--draft-p-min|"
              "--draft-p-split|-cd|--ctx-size-draft|-ngld|--gpu-layers-draft|"
              "--n-gpu-layers-draft|--spec-draft-ngl|-devd|--device-draft|-ctkd|"
              "--cache-type-k-draft|-ctvd|--cache-type-v-draft|--spec-draft-n-max|"
              "--spec-draft-n-min|--spec-draft-p-min|--spec-type|-lcs|--lookup-cache-static|-lcd|"
              "--lookup-cache-dynamic",
     .takes = Takes::text,
     .note = kSpeculativeNote},
    {.names = "--spec-default", .note = kSpeculativeNote},
    {.names = "--lora|--lora-scaled|--control-vector|--control-vector-scaled",
     .takes = Takes::text,
     .note = kLoraNote},
    {.names = "-mm|--mmproj|-mmu|--mmproj-url|--image-min-tokens|--image-max-tokens",
     .takes = Takes::text,
     .note = kTextOnly},
    {.names = "--no-mmproj|--no-mmproj-offload", .note = kTextOnly},
    {.names = "--rope-scaling|--rope-scale|--rope-freq-base|--rope-freq-scale|--yarn-orig-ctx|"
              "--yarn-ext-factor|--yarn-attn-factor|--yarn-beta-slow|--yarn-beta-fast|-gan|-gaw|"
              "--override-kv",
     .takes = Takes::text,
     .note = kRope},
    {.names = "-n|--predict|--n-predict",
     .takes = Takes::text,
     .note = "to limit output tokens, set workload.max_tokens"},
    {.names = "--embedding|--embeddings|--rerank|--reranking",
     .note = "only generation is modelled"},
    {.names = "--models-dir|--models-preset|--models-max",
     .takes = Takes::text,
     .note = "only one model is modelled"},
    // ---- no effect on memory or scheduling
    {.names = "--host|--port|--path|--api-prefix|--api-key|--api-key-file|--ssl-key-file|"
              "--ssl-cert-file|-a|--alias|-to|--timeout|--threads-http|--chat-template|"
              "--chat-template-file|--chat-template-kwargs|--reasoning-format|--reasoning-budget|"
              "--slot-save-path|-hft|--hf-token|--log-file|-lv|--verbosity|--log-verbosity|"
              "--log-colors|-s|--seed|--samplers|--sampling-seq|--temp|--temperature|--top-k|"
              "--top-p|--min-p|--typical|--repeat-last-n|--repeat-penalty|--presence-penalty|"
              "--frequency-penalty|--dry-multiplier|--dry-base|--dry-allowed-length|"
              "--dry-penalty-last-n|--xtc-probability|--xtc-threshold|--mirostat|--grammar|"
              "--grammar-file|-j|--json-schema|-l|--logit-bias|-t|--threads|-tb|--threads-batch|"
              "-C|--cpu-mask|--cpu-range|--cpu-strict|--prio|--poll|--numa|--pooling|--media-path|"
              "--tools|--cors-origins|-rea|--reasoning|--reasoning-effort|--sleep-idle-seconds|"
              "--tags|--ui-config|--webui-config",
     .takes = Takes::text},
    {.names = "--jinja|--no-jinja|--metrics|--props|--slots|--no-slots|--no-webui|--webui|--ui|"
              "--no-ui|-v|--verbose|--log-verbose|--log-disable|--log-prefix|--log-timestamps|"
              "--offline|--warmup|--no-warmup|--check-tensors|-cb|--cont-batching|"
              "--ignore-eos|--special|-sp|-e|--escape|--no-escape|--perf|"
              "--no-perf|--kv-offload|-kvo|--reuse-port|--prefill-assistant|"
              "--no-prefill-assistant|--op-offload"},
};

const FlagRow kOllamaRows[] = {
    {.takes = Takes::integer,
     .pointer = "/engine/num_parallel",
     .values = "0=",
     .variable = "OLLAMA_NUM_PARALLEL"},
    {.takes = Takes::integer,
     .pointer = "/engine/num_ctx",
     .values = "0=",
     .variable = "OLLAMA_CONTEXT_LENGTH"},
    {.takes = Takes::text, .pointer = "/engine/kv_cache_type", .variable = "OLLAMA_KV_CACHE_TYPE"},
    {.takes = Takes::toggle,
     .pointer = "/engine/flash_attention",
     .variable = "OLLAMA_FLASH_ATTENTION"},
    {.takes = Takes::text,
     .note = "multiple models on one device are not modelled",
     .variable = "OLLAMA_MAX_LOADED_MODELS"},
    {.takes = Takes::text,
     .note = "to keep memory free for others, set it in the environment",
     .variable = "OLLAMA_GPU_OVERHEAD"},
    {.takes = Takes::text,
     .note = "a model that fits one device counts as on one",
     .variable = "OLLAMA_SCHED_SPREAD"},
    {.takes = Takes::text,
     .note = "a limit on waiting requests is not modelled",
     .variable = "OLLAMA_MAX_QUEUE"},
    {.names = "--keepalive|--format|--think", .takes = Takes::text},
    {.names = "--verbose|--insecure|--nowordwrap|--hidethinking"},
    {.takes = Takes::text,
     .variable = "OLLAMA_HOST|OLLAMA_ORIGINS|OLLAMA_KEEP_ALIVE|OLLAMA_MODELS|OLLAMA_DEBUG|"
                 "OLLAMA_LLM_LIBRARY|OLLAMA_LOAD_TIMEOUT|OLLAMA_NOPRUNE|OLLAMA_NOHISTORY|"
                 "OLLAMA_TMPDIR|OLLAMA_RUNNERS_DIR|OLLAMA_NEW_ENGINE|OLLAMA_MULTIUSER_CACHE"},
};

constexpr LaunchProgram kLlamacppPrograms[] = {{"llama-server"}, {"llama-server.exe"}};
constexpr LaunchImage kLlamacppImages[] = {
    {.repository = "ggml-org/llama.cpp", .starts_engine = true},
    {.repository = "ggerganov/llama.cpp", .starts_engine = true}};
constexpr std::string_view kLlamacppEntrypoint[] = {"llama-server"};

constexpr LaunchProgram kOllamaPrograms[] = {{"ollama", "serve"}, {"ollama", "run"}};
constexpr LaunchImage kOllamaImages[] = {
    {.repository = "ollama/ollama", .starts_engine = true, .tag_is_release = true}};
constexpr std::string_view kOllamaEntrypoint[] = {"ollama"};

using Figure = MemoryFigure;

constexpr std::string_view kFewerCells =
    "-c (--ctx-size): a shorter context, which is allocated at start|-ctk q8_0 -ctv q8_0: KV in 8 "
    "bit, check quality|-ngl: fewer layers on the device, much slower|-np: fewer slots";
constexpr std::string_view kRefused = "an allocation on the device was refused";
constexpr std::string_view kFewerLayers =
    "-ngl: fewer layers on the device, much slower|a file with fewer bits per weight, check "
    "quality|other programs on the device stopped";

// ggml/src/ggml-cuda/ggml-cuda.cu, ggml/src/ggml-alloc.c, src/llama-kv-cache.cpp,
// src/llama-model.cpp.
constexpr std::array kLlamacppMessages{
    MemoryMessage{.pattern = "failed to allocate buffer for kv cache",
                  .stage = StartupStage::kv_allocation,
                  .meaning = "the KV cache of the whole context does not fit beside the weights",
                  .changes = kFewerCells},
    MemoryMessage{.pattern = "failed to allocate compute buffers",
                  .stage = StartupStage::warm_up,
                  .meaning = "the buffers of a step do not fit beside weights and KV",
                  .changes = "-ub (--ubatch-size): smaller steps|-c (--ctx-size): a shorter "
                             "context|-ngl: fewer layers on the device, much slower"},
    MemoryMessage{.pattern = "error loading model: unable to allocate",
                  .stage = StartupStage::weights,
                  .meaning = "the layers of the model do not fit on the device",
                  .changes = kFewerLayers},
    MemoryMessage{.pattern = "allocating # MiB on device #: cudaMalloc failed: out of memory",
                  .figures = {Figure::wanted},
                  .gib = kGibPerMib,
                  .meaning = kRefused,
                  .changes = kFewerLayers,
                  .is_vague = true},
    MemoryMessage{.pattern = "failed to allocate * buffer of size #",
                  .figures = {Figure::wanted},
                  .gib = kGibPerByte,
                  .meaning = kRefused,
                  .changes = kFewerLayers,
                  .is_vague = true},
};

// llm/server.go: what the scheduler refuses before it loads.
constexpr std::array kOllamaMessages{
    MemoryMessage{.pattern = "model requires more system memory (# GiB) than is available (# GiB)",
                  .figures = {Figure::wanted, Figure::free},
                  .stage = StartupStage::host_memory,
                  .meaning = "the model needs more host memory than is free",
                  .changes = "num_ctx (OLLAMA_CONTEXT_LENGTH): a shorter context|a tag with fewer "
                             "bits per weight, or a smaller model|other programs stopped, or more "
                             "swap"},
};

}  // namespace

const EngineLaunch kLlamacppLaunch{
    .title = "llama.cpp",
    .examples = "llama-server",
    .programs = kLlamacppPrograms,
    .images = kLlamacppImages,
    .entrypoint = kLlamacppEntrypoint,
    .server_word = "--server|-s",  // of the "full" image
    .rows = kLlamacppRows,
    .variable_prefixes = "LLAMA_ARG_",
    .messages = kLlamacppMessages,
    .started = &kLlamacppStartedLines,
    .spreads_by_itself = true,
};

const EngineLaunch kOllamaLaunch{
    .title = "Ollama",
    .examples = "ollama serve",
    .programs = kOllamaPrograms,
    .images = kOllamaImages,
    .entrypoint = kOllamaEntrypoint,
    .idle_command = "serve",
    .rows = kOllamaRows,
    .positional_model = true,
    .variable_prefixes = "OLLAMA_",
    .messages = kOllamaMessages,
    .started = &kOllamaStartedLines,
    .spreads_by_itself = true,
};

}  // namespace headroom
