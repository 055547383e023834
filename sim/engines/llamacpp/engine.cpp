#include "sim/engines/llamacpp/engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "sim/engines/engine_resolver.hpp"
#include "sim/engines/llamacpp/budget.hpp"
#include "sim/engines/llamacpp/ollama_budget.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/kernel/named_value.hpp"

namespace headroom {
namespace {

constexpr NamedValue<LlamacppFlashAttn> kFlashAttn[] = {{"on", LlamacppFlashAttn::on},
                                                        {"off", LlamacppFlashAttn::off},
                                                        {"auto", LlamacppFlashAttn::automatic}};

std::vector<OwnRow> llamacpp_rows() {
  using L = LlamacppOptions;
  static const std::string kFlashNames = choices_in<LlamacppFlashAttn>(kFlashAttn);
  return own_rows<L>({
      {.name = "ctx_size",
       .field = &L::ctx_size,
       .unit = "tokens",
       .bounds = {.low = 0, .high = 1e8},
       .doc = "KV cells of all slots together; 0 = the model's context length",
       .absent = "what fits, up to the model's context length"},
      {.name = "parallel",
       .field = &L::parallel,
       .unit = "slots",
       .bounds = {.low = 1, .high = 1024},
       .doc = "requests served at once",
       .absent = "by version"},
      {.name = "cache_type_k",
       .field = &L::cache_type_k,
       .choices = "f32|f16|bf16|q8_0|q5_1|q5_0|q4_1|q4_0|iq4_nl",
       .doc = "data type of the keys"},
      {.name = "cache_type_v",
       .field = &L::cache_type_v,
       .choices = "f32|f16|bf16|q8_0|q5_1|q5_0|q4_1|q4_0|iq4_nl",
       .doc = "data type of the values; a quantised one needs flash_attn"},
      {.name = "n_gpu_layers",
       .field = &L::n_gpu_layers,
       .unit = "layers",
       .bounds = {.low = 0, .high = 1e4},
       .doc =
           "layers on the device, where the output layer counts as one; the rest stays on the host",
       .absent = "as many as fit"},
      {.name = "n_cpu_moe",
       .field = &L::n_cpu_moe,
       .unit = "layers",
       .bounds = {.low = 0, .high = 1e4},
       .doc = "the first layers whose routed experts stay in host memory",
       .absent = "as few as fit"},
      {.name = "ubatch_size",
       .field = &L::ubatch_size,
       .unit = "tokens",
       .bounds = {.low = 1, .high = 1e6},
       .doc = "size of a physical batch; sets the size of the compute buffer"},
      {.name = "no_mmap",
       .field = &L::no_mmap,
       .doc = "read the weights into memory instead of mapping the file"},
      {.name = "flash_attn",
       .field = &L::flash_attn,
       .choices = kFlashNames,
       .doc = "fused attention: needs no score buffer and allows quantised values",
       .absent = "by version"},
      {.name = "kv_unified",
       .field = &L::kv_unified,
       .doc = "slots share the cells instead of owning equal parts",
       .absent = "when parallel is not given"},
      {.name = "no_kv_offload", .field = &L::no_kv_offload, .doc = "keep the KV cache on the host"},
      {.name = "swa_full",
       .field = &L::swa_full,
       .doc = "keep as many cells in windowed layers as in the others"},
      {.name = "cache_ram",
       .field = &L::cache_ram,
       .unit = "MiB",
       .bounds = {.low = -1, .high = 1e9},
       .doc = "host memory that the cache of earlier prompts may grow to; 0: none, -1: no limit; "
              "in memory that the device shares it is counted, as an upper bound",
       .absent = "8192 from b6725, not counted"},
  });
}

std::vector<OwnRow> ollama_rows() {
  using O = OllamaOptions;
  return own_rows<O>({
      {.name = "num_ctx",
       .field = &O::num_ctx,
       .unit = "tokens",
       .bounds = {.low = 1, .high = 1e8},
       .doc = "context length of one request (OLLAMA_CONTEXT_LENGTH)",
       .absent = "by version and device"},
      {.name = "num_parallel",
       .field = &O::num_parallel,
       .unit = "requests",
       .bounds = {.low = 1, .high = 1024},
       .doc = "requests served at once (OLLAMA_NUM_PARALLEL)",
       .absent = "by version"},
      {.name = "kv_cache_type",
       .field = &O::kv_cache_type,
       .choices = "f16|q8_0|q4_0",
       .doc = "data type of keys and values (OLLAMA_KV_CACHE_TYPE)"},
      {.name = "flash_attention",
       .field = &O::flash_attention,
       .doc = "fused attention (OLLAMA_FLASH_ATTENTION); a quantised cache needs it",
       .absent = "by version"},
      {.name = "num_gpu",
       .field = &O::num_gpu,
       .unit = "layers",
       .bounds = {.low = 0, .high = 1e4},
       .doc = "layers on the device",
       .absent = "as many as fit"},
      {.name = "use_mmap",
       .field = &O::use_mmap,
       .doc = "map the file instead of reading the weights into memory"},
  });
}

// src/llama-context.cpp: no more than a batch holds.
std::int64_t micro_batch(const EngineSection& e) {
  return std::min(e.own.get<LlamacppOptions>().ubatch_size, e.batch_size);
}

LlamacppBudgetOptions llamacpp_budget_options(const EngineSection& e, const EngineSystem& s) {
  const auto& own = e.own.get<LlamacppOptions>();
  LlamacppBudgetOptions options;
  options.version = s.version;
  options.ctx_size = own.ctx_size;
  options.parallel = own.parallel;
  options.kv_unified = own.kv_unified;
  options.cache_type_k = parse_dtype(own.cache_type_k);
  options.cache_type_v = parse_dtype(own.cache_type_v);
  options.ubatch_size = micro_batch(e);
  options.n_gpu_layers = own.n_gpu_layers;
  options.n_cpu_moe = own.n_cpu_moe;
  if (own.flash_attn) {
    options.flash_attn = value_named<LlamacppFlashAttn>(*own.flash_attn, kFlashAttn);
  }
  options.no_mmap = own.no_mmap;
  options.no_kv_offload = own.no_kv_offload;
  options.swa_full = own.swa_full;
  options.cache_ram_mib = own.cache_ram;
  return options;
}

void warn_without_flash(EngineResolver& r, const char* pointer, bool off) {
  if (!off || !r.given.is_given(pointer)) return;
  r.warn(
      "llama.cpp: without flash attention only memory is modelled: steps with long contexts take "
      "longer than simulated");
}

void resolve_llamacpp(EngineResolver& r) {
  const std::optional<std::string>& flash = r.own<LlamacppOptions>().flash_attn;
  warn_without_flash(r, "/engine/flash_attn", flash == "off");
  const LlamacppCells cells = r.lookup("/engine/ctx_size", [&] {
    return llamacpp_cells(r.system.model, llamacpp_budget_options(r.options, r.system));
  });
  // For embeddings a batch is no more than a micro batch (tools/server/server.cpp).
  std::int64_t batch = r.options.batch_size;
  if (is_encoder(r.system.model)) {
    batch = micro_batch(r.options);
    if (batch < r.system.model.max_position) {
      r.warn(fmt::format(
          "llama.cpp refuses prompts of an encoder longer than one micro batch, {} tokens: raise "
          "ubatch_size, and batch_size where that is smaller",
          batch));
    }
  }
  r.set_sizes(cells.per_sequence, cells.slots, batch, 1);
}

OllamaBudgetOptions ollama_budget_options(const EngineSection& e, const EngineSystem& s) {
  const auto& own = e.own.get<OllamaOptions>();
  OllamaBudgetOptions options;
  options.version = s.version;
  options.num_ctx = own.num_ctx;
  options.num_parallel = own.num_parallel;
  options.kv_cache_type = parse_dtype(own.kv_cache_type);
  options.flash_attention = own.flash_attention;
  options.num_gpu = own.num_gpu;
  options.use_mmap = own.use_mmap;
  return options;
}

void resolve_ollama(EngineResolver& r) {
  auto& own = r.own<OllamaOptions>();
  warn_without_flash(r, "/engine/flash_attention", own.flash_attention == false);
  const OllamaDefaults defaults = ollama_defaults(r.system.device, r.system.sharding.devices(),
                                                  r.system.model, r.system.version);
  r.fill("/engine/num_ctx", own.num_ctx, defaults.num_ctx, "by version and device");
  r.fill("/engine/num_parallel", own.num_parallel, defaults.num_parallel, "by version");
  std::int64_t length = *own.num_ctx;
  std::int64_t batch = r.options.batch_size;
  if (is_encoder(r.system.model)) {
    length = batch = ollama_embedding_batch(r.system.version, length);
    r.warn(fmt::format("Ollama cuts an encoder's input to {} tokens; here longer ones are rejected",
                       length));
  }
  r.set_sizes(length, *own.num_parallel, batch, 1);
}

// Not where all layers have a window.
bool llamacpp_cuts_windows(const EngineSection& e, const EngineSystem& s, const KvLayout&) {
  return !e.own.get<LlamacppOptions>().swa_full &&
         std::ranges::any_of(s.model.kinds, [](const LayerKind& kind) {
           return kind.attention && kind.attention->window_tokens == 0;
         });
}

// Generation ends where the slot's context does.
void cut_at_slot(const EngineSection&, AdmissionLimits& limits) { limits.cuts_max_tokens = true; }

// "b6918" as its releases are called and its programs print, or 0.6918.
EngineVersion read_build(std::string_view text) {
  std::string_view number = text;
  if (!number.starts_with('b')) return parse_engine_version(text);
  number.remove_prefix(1);
  EngineVersion version;
  const char* const end = number.data() + number.size();
  const auto read = std::from_chars(number.data(), end, version.minor);
  if (read.ec != std::errc{} || read.ptr != end || version.minor < 0) {
    throw ConfigError(
        fmt::format("engine version '{}': a build of llama.cpp, e.g. b6918 or 0.6918", text));
  }
  return version;
}

// Latents: llama.cpp's src/models/deepseek2.cpp, pull request 12801. A file of a checkpoint in 32
// bits that names no format is in 16 (convert_hf_to_gguf.py, --outtype auto).
constexpr EngineTraits kLlamacppTraits{.devices_share_layers = true,
                                       .counts_windows_at_start = true,
                                       .absorbs_prompts = true,
                                       .allocates_with_torch = false,
                                       .loads_gguf_alone = true,
                                       .halves_fp32 = true};
constexpr EngineTraits ollama_traits() {
  EngineTraits traits = kLlamacppTraits;
  traits.names_by_tag = true;
  return traits;
}
// llama.cpp pull request 17368, November 2025; ollama pull request 12619, October 2025: earlier
// releases are taken to do the same.
constexpr EngineVersion kAlways{};

std::span<const FixCandidate> llamacpp_fixes() {
  using namespace fixes;
  static constexpr FixCandidate kFixes[] = {
      {"/engine/flash_attn", Try::ladder, Cost::none, "no score buffer", "on"},
      {"/engine/ctx_size", Try::count_down, Cost::limits, kCells, {}, Of::tokens},
      {"/engine/ctx_size", Try::count_up, Cost::none, kCells, {}, Of::cells},
      {"/engine/parallel", Try::count_down, Cost::limits, kFewer, {}, Of::requests},
      {"/engine/parallel", Try::count_up, Cost::none, kMore, {}, Of::requests},
      {"/engine/ubatch_size", Try::count_down, Cost::speed, kSteps, {}, Of::other, 32},
      {"/engine/n_gpu_layers", Try::count_down, Cost::speed, kHostLayers, {}, Of::layers, 0},
      {"/engine/cache_type_k", Try::ladder, Cost::quality, "keys in {}: check quality", "q8_0"},
      {"/engine/cache_type_v", Try::ladder, Cost::quality,
       "values in {}, with flash attention: check quality", "q8_0"},
      {"/engine/quantization", Try::ladder, Cost::quality, kWeights, "q8_0|q4_k_m"},
      kMoreStages};
  return kFixes;
}

std::span<const FixCandidate> ollama_fixes() {
  using namespace fixes;
  static constexpr FixCandidate kFixes[] = {
      {"/engine/num_ctx", Try::count_down, Cost::limits, kLonger, {}, Of::tokens},
      {"/engine/num_ctx", Try::count_up, Cost::none, kLength, {}, Of::tokens},
      {"/engine/num_parallel", Try::count_down, Cost::limits, kFewer, {}, Of::requests},
      {"/engine/num_parallel", Try::count_up, Cost::none, kMore, {}, Of::requests},
      {"/engine/flash_attention", Try::ladder, Cost::none, "no score buffer", "true"},
      {"/engine/kv_cache_type", Try::ladder, Cost::quality, "keys and values in {}: check quality",
       "q8_0"},
      {"/engine/quantization", Try::ladder, Cost::quality, kWeights, "q8_0|q4_k_m"},
      {"/engine/num_gpu", Try::count_down, Cost::speed, kHostLayers, {}, Of::layers, 0}};
  return kFixes;
}

}  // namespace

const Engine& llamacpp_engine() {
  static const Engine kEngine{
      .name = "llamacpp",
      .version = "b11026",
      .versioned = true,
      .newest = kNewestLlamacpp,
      .summary = "llama.cpp server: slots with a context each, n_batch tokens a step",
      .measured = "memory, steps",
      .budget_rule = "llamacpp",
      .scheduler = "llamacpp",
      .allocator = "slots",
      .cost_family = "llamacpp",
      .traits = kLlamacppTraits,
      .counts_page_cache_free_since = kAlways,
      .takes = {"version", "batch_size", "memory_growth_mib_per_hour"},
      .options = llamacpp_rows,
      .launch = &kLlamacppLaunch,
      .metric_prefixes = "llamacpp:",
      .load_metrics = &kLlamacppLoadMetrics,
      .resolve = resolve_llamacpp,
      .budget =
          [](const BudgetInputs& inputs, const EngineSection& e, const EngineSystem& s) {
            return llamacpp_budget(inputs, llamacpp_budget_options(e, s));
          },
      .budget_warnings =
          [](const BudgetInputs& inputs, const EngineSection& e, const EngineSystem& s) {
            return llamacpp_budget_warnings(inputs, llamacpp_budget_options(e, s));
          },
      .cuts_windows = llamacpp_cuts_windows,
      .limit = cut_at_slot,
      .micro_batch = micro_batch,
      .fixes = llamacpp_fixes,
      .read_version = read_build};
  return kEngine;
}

const Engine& ollama_engine() {
  static const Engine kEngine{
      .name = "ollama",
      .version = "0.34",
      .versioned = true,
      .newest = kNewestOllama,
      .summary = "Ollama: llama.cpp with a context per parallel request",
      .measured = "memory",
      .budget_rule = "ollama",
      .scheduler = "llamacpp",
      .allocator = "slots",
      .cost_family = "llamacpp",
      .traits = ollama_traits(),
      .counts_page_cache_free_since = kAlways,
      // Its library's tags without a format, of models since the autumn of 2024; before, Q4_0.
      .usual_format = kTagFormat,
      .takes = {"version", "batch_size", "memory_growth_mib_per_hour"},
      .options = ollama_rows,
      .launch = &kOllamaLaunch,
      .resolve = resolve_ollama,
      .budget =
          [](const BudgetInputs& inputs, const EngineSection& e, const EngineSystem& s) {
            return ollama_budget(inputs, ollama_budget_options(e, s));
          },
      .budget_warnings =
          [](const BudgetInputs& inputs, const EngineSection& e, const EngineSystem& s) {
            return ollama_budget_warnings(inputs, ollama_budget_options(e, s));
          },
      .cuts_windows = llamacpp_cuts_windows,
      .limit = cut_at_slot,
      .fixes = ollama_fixes};
  return kEngine;
}

}  // namespace headroom
