// Text Generation Inference: launcher/src/main.rs, releases 2 and 3. Every flag is also an
// environment variable: its name in capitals.

#include "sim/engines/tgi/engine.hpp"

#include <fmt/format.h>
#include <array>

#include "sim/engines/launch.hpp"
#include "sim/engines/launch_draft.hpp"
#include "sim/engines/started_log.hpp"

namespace headroom {
namespace {

constexpr std::string_view kModelConfig =
    "changes the model's configuration: check the model's context length";

const FlagRow kTgiRows[] = {
    {.names = "--model-id", .takes = Takes::text, .pointer = "/model", .variable = "MODEL_ID"},
    {.names = "--num-shard",
     .takes = Takes::integer,
     .pointer = "/engine/tensor_parallel_size",
     .variable = "NUM_SHARD"},
    {.names = "--quantize",
     .takes = Takes::text,
     .pointer = "/engine/quantization",
     .note = kQuantizationNote,
     .values = "bitsandbytes-nf4=bitsandbytes|bitsandbytes-fp4=bitsandbytes|"
               "BitsandbytesNf4=bitsandbytes|BitsandbytesFp4=bitsandbytes",  // as it prints them
     .variable = "QUANTIZE"},
    {.names = "--dtype", .takes = Takes::text, .pointer = "/engine/dtype", .variable = "DTYPE"},
    {.names = "--kv-cache-dtype",
     .takes = Takes::text,
     .pointer = "/engine/kv_cache_dtype",
     .values = "fp8_e4m3fn=fp8_e4m3|Fp8e4m3fn=fp8_e4m3|Fp8e5m2=fp8_e5m2",
     .variable = "KV_CACHE_DTYPE"},
    {.names = "--max-input-tokens|--max-input-length",
     .takes = Takes::integer,
     .pointer = "/engine/max_input_tokens",
     .variable = "MAX_INPUT_TOKENS|MAX_INPUT_LENGTH"},
    {.names = "--max-total-tokens",
     .takes = Takes::integer,
     .pointer = "/engine/max_total_tokens",
     .variable = "MAX_TOTAL_TOKENS"},
    {.names = "--max-batch-prefill-tokens",
     .takes = Takes::integer,
     .pointer = "/engine/max_batch_prefill_tokens",
     .variable = "MAX_BATCH_PREFILL_TOKENS"},
    {.names = "--max-batch-total-tokens",
     .takes = Takes::integer,
     .pointer = "/engine/max_batch_total_tokens",
     .variable = "MAX_BATCH_TOTAL_TOKENS"},
    {.names = "--max-batch-size",
     .takes = Takes::integer,
     .pointer = "/engine/max_batch_size",
     .variable = "MAX_BATCH_SIZE"},
    {.names = "--max-concurrent-requests",
     .takes = Takes::integer,
     .pointer = "/engine/max_concurrent_requests",
     .variable = "MAX_CONCURRENT_REQUESTS"},
    {.names = "--waiting-served-ratio",
     .takes = Takes::number,
     .pointer = "/engine/waiting_served_ratio",
     .variable = "WAITING_SERVED_RATIO"},
    {.names = "--max-waiting-tokens",
     .takes = Takes::integer,
     .pointer = "/engine/max_waiting_tokens",
     .variable = "MAX_WAITING_TOKENS"},
    {.names = "--cuda-memory-fraction",
     .takes = Takes::number,
     .pointer = "/engine/cuda_memory_fraction",
     .variable = "CUDA_MEMORY_FRACTION"},
    {.names = "--attention",
     .takes = Takes::text,
     .pointer = "/engine/attention",
     .note = "the block size of these attention kernels is not modelled",
     .variable = "ATTENTION"},
    // server/text_generation_server/models/model.py
    {.takes = Takes::toggle,
     .pointer = "/engine/enable_chunked_prefill",
     .variable = "PREFILL_CHUNKING"},
    // launcher/src/main.rs, resolve_attention
    {.takes = Takes::toggle,
     .pointer = "/engine/enable_prefix_caching",
     .variable = "PREFIX_CACHING|USE_PREFIX_CACHING"},
    // Sharded and no --num-shard: all devices (find_num_shards).
    {.names = "--sharded",
     .takes = Takes::integer,
     .pointer = "/engine/tensor_parallel_size",
     .values = "false=1|true=",
     .variable = "SHARDED"},
    // ---- effects that a scenario cannot express
    {.names = "--speculate",
     .takes = Takes::text,
     .note = kSpeculativeNote,
     .variable = "SPECULATE"},
    {.names = "--cuda-graphs",
     .takes = Takes::text,
     .note = "which CUDA graphs are captured is not modelled",
     .variable = "CUDA_GRAPHS"},
    {.names = "--rope-scaling",
     .takes = Takes::text,
     .note = kModelConfig,
     .variable = "ROPE_SCALING"},
    {.names = "--rope-factor",
     .takes = Takes::text,
     .note = kModelConfig,
     .variable = "ROPE_FACTOR"},
    {.names = "--lora-adapters",
     .takes = Takes::text,
     .note = "LoRA adapters take memory that is not modelled",
     .variable = "LORA_ADAPTERS"},
    {.names = "--disable-custom-kernels",
     .note = "its effect on step time and memory is not modelled",
     .variable = "DISABLE_CUSTOM_KERNELS"},
    // ---- no effect on memory or scheduling
    {.names = "--hostname|--port|-p|--revision|--validation-workers|--max-best-of|"
              "--max-stop-sequences|--max-top-n-tokens|--shard-uds-path|--master-addr|"
              "--master-port|--huggingface-hub-cache|--weights-cache-override|--otlp-endpoint|"
              "--otlp-service-name|--cors-allow-origin|--api-key|--watermark-gamma|"
              "--watermark-delta|--ngrok-authtoken|--ngrok-edge|--tokenizer-config-path|"
              "--max-client-batch-size|--usage-stats|--payload-limit|--max-image-fetch-size|"
              "--prometheus-port",
     .takes = Takes::text},
    {.names = "--trust-remote-code|--json-output|--ngrok|--env|-e|--disable-grammar-support|"
              "--graceful-termination-timeout|--enable-prefill-logprobs"},
};

constexpr LaunchProgram kTgiPrograms[] = {{"text-generation-launcher"}};
constexpr LaunchImage kTgiImages[] = {{.repository = "huggingface/text-generation-inference",
                                       .starts_engine = true,
                                       .tag_is_release = true}};
constexpr std::string_view kTgiEntrypoint[] = {"text-generation-launcher"};

// Without --num-shard it takes every device it sees (find_num_shards in launcher/src/main.rs).
void fill_shards(LaunchDraft& draft) {
  constexpr std::string_view kShards = "/engine/tensor_parallel_size";
  if (draft.find(kShards) != nullptr) return;
  if (draft.devices) {
    draft.set(kShards, *draft.devices);
    draft.note(fmt::format("num_shard = {}: without --num-shard TGI uses every visible device ({})",
                           *draft.devices, draft.devices_by));
  } else {
    draft.note(
        "without --num-shard TGI uses every visible device: set engine.tensor_parallel_size");
  }
}

// server/text_generation_server/models/flash_causal_lm.py (warmup), 2.0 to 3.3.
constexpr std::array kTgiMessages{
    MemoryMessage{.pattern = "Not enough memory to handle `max_total_tokens=#`",
                  .figures = {MemoryFigure::length},
                  .stage = StartupStage::max_length_request,
                  .meaning = "the KV cache is too small for one request of max_total_tokens",
                  .changes = "--max-total-tokens: a shorter longest request|--quantize: smaller "
                             "weights, check quality|--num-shard: more devices"},
    MemoryMessage{.pattern = "Not enough memory to handle # prefill tokens",
                  .stage = StartupStage::profiling,
                  .meaning = "the warm-up's prefill does not fit beside the weights",
                  .changes = "--max-batch-prefill-tokens: a smaller prefill|--num-shard: more "
                             "devices"},
};

// router/src/main.rs and server.rs of releases 1 and 2, backends/v3/src/lib.rs of 3.
constexpr StartLine kTgiStarted[] = {
    {.pattern = "Setting max batch total tokens to #", .figures = {StartFigure::pool_tokens}}};
constexpr std::string_view kTgiMarks[] = {"text_generation_launcher: ", "text_generation_router"};

void read_tgi_settings(std::string_view line, StartedLog& log) {
  constexpr std::string_view kModel = "model_id: \"";
  const std::size_t at = line.find(kModel);
  if (at == std::string_view::npos) return;
  const std::string_view rest = line.substr(at + kModel.size());
  log.model = rest.substr(0, rest.find('"'));
}

constexpr StartedLines kTgiStartedLines{.rows = kTgiStarted,
                                        .marks = kTgiMarks,
                                        .load_begins = {},
                                        .runs = nullptr,
                                        .read_settings = read_tgi_settings};

// launcher/src/main.rs, on one line or, since 2.0, on one for each argument.
constexpr PrintedStart kTgiPrinted[] = {
    {.before = "text_generation_launcher: ", .value = "Args {", .has_defaults = true}};

}  // namespace

const EngineLaunch kTgiLaunch{
    .title = "Text Generation Inference",
    .examples = "text-generation-launcher",
    .command = "text-generation-launcher --model-id {}",
    .programs = kTgiPrograms,
    .images = kTgiImages,
    .entrypoint = kTgiEntrypoint,
    .rows = kTgiRows,
    .messages = kTgiMessages,
    .started = &kTgiStartedLines,
    .printed = kTgiPrinted,
    .settle = fill_shards,
    .deployment = {.image = "ghcr.io/huggingface/text-generation-inference:{}",
                   .host_flag = "--hostname"},
};

}  // namespace headroom
