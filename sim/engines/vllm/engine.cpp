#include "sim/engines/vllm/engine.hpp"

#include <algorithm>

#include "scheduler/batching/vllm_batch.hpp"
#include "sim/engines/engine_resolver.hpp"
#include "sim/engines/vllm/budget.hpp"
#include "sim/engines/vllm/capture_sizes.hpp"
#include "sim/engines/vllm/defaults.hpp"

namespace headroom {
namespace {

constexpr EngineVersion kAsyncDefault{0, 14};     // asynchronous scheduling is; ENGINES.md 4
constexpr EngineVersion kPlainFirst{0, 23};       // see resolve_cache_order
constexpr EngineVersion kWholePromptGate{0, 19};  // pull request 37307, merged in March 2026
constexpr EngineVersion kSparesLone{0, 31};       // v1/core/sched/scheduler.py, num_eligible_reqs
constexpr EngineVersion kCachesStates{0, 28};     // prefix caching of models with states is on
// vllm/utils/mem_utils.py @a6d5c390 reads MemAvailable for sm 87, 110 and 121, and pull request
// 35356 (February 2026) for all integrated devices; 0.11.0 was still patched to do so by
// jetson-containers. That it came with 0.12 is an estimate between the two.
constexpr EngineVersion kVllmReadsAvailable{0, 12};
// Model Optimizer's hf_quant_config.json: utils/torch_utils.py, resolve_kv_cache_dtype_string.
// compressed-tensors: attention/layer.py; before, its scheme gave the scales alone.
bool vllm_reads_cache_format(EngineVersion at, std::string_view method) {
  if (method == "modelopt") return at >= EngineVersion{0, 14};
  if (method == "compressed-tensors") return at >= EngineVersion{0, 15};
  return true;
}

// Before 0.8, and by VLLM_USE_V1=0 until it was removed.
bool runs_v0(const EngineSystem& s) {
  return s.version < kV1 || (s.version < kV1Alone && s.scheduler->name == "vllm_v0");
}

std::vector<OwnRow> vllm_rows() {
  using V = VllmOptions;
  return own_rows<V>({
      {.name = "enforce_eager",
       .field = &V::enforce_eager,
       .doc = "capture no CUDA graphs: their memory stays free, and decode batches are not padded"},
      {.name = "estimate_cuda_graphs",
       .field = &V::estimate_cuda_graphs,
       .doc = "subtract an estimate of the CUDA graphs from the pool "
              "(VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS)",
       .absent = "on from vLLM 0.20"},
      {.name = "disable_hybrid_kv_cache_manager",
       .field = &V::disable_hybrid_kv_cache_manager,
       .doc = "keep the whole context in windowed layers, as in full ones"},
      {.name = "max_cudagraph_capture_size",
       .field = &V::max_cudagraph_capture_size,
       .unit = "tokens",
       .bounds = kCount,
       .doc = "largest step with a CUDA graph",
       .absent = "2 x max_num_seqs, 512 at most"},
      {.name = "cudagraph_mode",
       .field = &V::cudagraph_mode,
       .choices = "NONE|PIECEWISE|FULL|FULL_DECODE_ONLY|FULL_AND_PIECEWISE",
       .doc = "which steps run in CUDA graphs: all up to the largest size, or decodes alone",
       .absent = "FULL_AND_PIECEWISE from 0.11, PIECEWISE before"},
      {.name = "mxfp4_kernel",
       .field = &V::mxfp4_kernel,
       .choices = "auto|marlin|mxfp8",
       .doc = "of experts in mxfp4 (VLLM_MXFP4_USE_MARLIN, VLLM_USE_FLASHINFER_MOE_MXFP4_MXFP8)"},
      {.name = "linear_backend",
       .field = &V::linear_backend,
       .choices = "auto|marlin",
       .doc = "kernels of quantised matrices other than experts (marlin: unpacked to 16 bits)"},
      {.name = "moe_backend",
       .field = &V::moe_backend,
       .choices = "auto|marlin",
       .doc = "kernels of quantised experts, likewise"},
      {.name = "flashinfer_sampler",
       .field = &V::flashinfer_sampler,
       .doc = "draw tokens with FlashInfer, whose start-up needs less memory than the sort of "
              "releases before 0.17 (VLLM_USE_FLASHINFER_SAMPLER)",
       .absent = "off; before 0.12 it is used where it is installed, as in the engine's image"},
      {.name = "mm_profiling",
       .field = &V::mm_profiling,
       .choices = "auto|skip|text_only",
       .doc = "whether the start-up measures the largest images, too (skip: --skip-mm-profiling); "
              "text_only: no tower is loaded (--language-model-only)"},
      {.name = "runner",
       .field = &V::runner,
       .choices = "auto|generate|pooling",
       .doc = "pooling: vectors are made of hidden states, and the start-up measures no sampler; "
              "auto: of models that are called an embedding"},
  });
}

// V0 kept cached blocks apart and took them last; V1 does so again from 0.23 on (v1/core/
// block_pool.py, free_blocks: 0.22 appends all blocks).
void resolve_cache_order(EngineResolver& r) {
  const bool plain_first = r.system.version < kV1 || r.system.version >= kPlainFirst;
  r.fill("/engine/free_plain_blocks_first", r.options.free_plain_blocks_first, plain_first,
         "before V1, and from 0.23");
}

// Older releases admit a prompt when its first chunk fits.
void resolve_admission(EngineResolver& r) {
  const std::string pointer = "/engine/scheduler_reserve_full_isl";
  if (r.given.is_given(pointer) || r.system.version >= kWholePromptGate) return;
  r.options.own.edit<VllmScheduling>().scheduler_reserve_full_isl = false;
  r.note_rule(pointer, fmt::format("off before {}", to_string(kWholePromptGate)));
}

// A request that is alone starves no other one.
void resolve_threshold(EngineResolver& r) {
  const std::string pointer = "/engine/threshold_cuts_lone_prompts";
  if (r.given.is_given(pointer) || r.system.version < kSparesLone) return;
  r.options.own.edit<VllmScheduling>().threshold_cuts_lone_prompts = false;
  r.note_rule(pointer, fmt::format("off from {}", to_string(kSparesLone)));
}

// The scheduler's default is on.
void resolve_state_cache(EngineResolver& r) {
  const std::string pointer = "/engine/enable_prefix_caching";
  const bool is_on = r.options.enable_prefix_caching.value_or(false);
  if (!is_on || r.given.is_given(pointer) || r.system.version >= kCachesStates) return;
  r.options.enable_prefix_caching = false;
  r.note_rule(pointer,
              fmt::format("off for models with states before {}", to_string(kCachesStates)));
}

// --kv-offloading-size sets up a KV connector. From 0.12 on an explicit wish counts.
void resolve_hybrid_manager(EngineResolver& r) {
  const std::string pointer = "/engine/disable_hybrid_kv_cache_manager";
  const bool connects = r.options.kv_offloading_size_gib > 0 && r.system.version >= kV1;
  if (!connects || r.system.version >= kHybridByConnector || r.given.is_given(pointer)) return;
  const bool windows = std::ranges::any_of(r.system.model.kinds, [](const LayerKind& kind) {
    return kind.attention && kind.attention->window_tokens > 0;
  });
  if (!windows) return;
  r.options.own.edit<VllmOptions>().disable_hybrid_kv_cache_manager = true;
  r.note_rule(pointer, fmt::format("on with kv_offloading_size_gib before {}",
                                   to_string(kHybridByConnector)));
}

void check_sizes(const EngineResolver& r, bool chunked, bool automatic) {
  const EngineSection& e = r.options;
  const std::string pointer = "/engine/max_num_batched_tokens";
  const std::string value = fmt::to_string(*e.max_num_batched_tokens);
  if (*e.max_num_batched_tokens < *e.max_num_seqs) {
    r.given.refuse_value(pointer, value,
                         fmt::format("expected at least max_num_seqs = {}", *e.max_num_seqs));
  }
  if (!chunked && *e.max_num_batched_tokens < *e.max_model_len) {
    r.given.refuse_value(pointer, value,
                         fmt::format("without chunked prefill expected at least max_model_len = {}",
                                     *e.max_model_len));
  }
  if (automatic && !chunked) {
    r.given.refuse_value("/engine/max_model_len", "-1",
                         "without chunked prefill a length is required");
  }
}

// V0's chunks of prompts know no latent attention, no images and no windows.
bool v0_can_chunk(const EngineResolver& r) {
  const ModelSpec& model = r.system.model;
  const bool plain = std::ranges::none_of(model.kinds, [](const LayerKind& kind) {
    return kind.attention && kind.attention->mla.has_value();
  });
  const bool windows_alone = std::ranges::all_of(model.kinds, [](const LayerKind& kind) {
    return kind.attention && kind.attention->window_tokens > 0;
  });
  return plain && !windows_alone && !model.vision && !r.options.speculative.is_on() &&
         !r.options.enable_lora && !is_embedding_model(model);
}

// Whole prompts of more than 32k tokens were too much for V0: it computed them in chunks where it
// could, on NVIDIA devices alone (vllm/engine/arg_utils.py: create_engine_config in 0.6 and 0.7,
// _set_default_args_v0 in 0.9.1).
void resolve_v0_chunks(EngineResolver& r) {
  constexpr std::int64_t kChunksAbove = 32768;
  const std::string pointer = "/engine/enable_chunked_prefill";
  const bool is_long = r.options.max_model_len.value_or(0) > kChunksAbove;
  if (!runs_v0(r.system) || r.given.is_given(pointer) || !is_long) return;
  if (r.system.device.vendor != "nvidia" || !v0_can_chunk(r)) return;
  r.options.enable_chunked_prefill = true;
  r.note_rule(pointer, fmt::format("on above {} tokens in V0", kChunksAbove));
}

// vllm/config/model.py, is_chunked_prefill_supported and is_prefix_caching_supported: attention
// must be causal for both.
void resolve_encoder(EngineResolver& r) {
  if (!is_encoder(r.system.model)) return;
  const auto off = [&](const std::string& pointer, std::optional<bool>& option) {
    if (r.given.is_given(pointer) && option.value_or(false)) {
      r.given.refuse(pointer, r.system.model.id +
                                  " is an encoder: its tokens see those that follow, so prompts "
                                  "are computed whole and nothing of them is kept");
    }
    option = false;
    r.note_rule(pointer, "off: an encoder");
  };
  off("/engine/enable_chunked_prefill", r.options.enable_chunked_prefill);
  off("/engine/enable_prefix_caching", r.options.enable_prefix_caching);
}

bool quantises_experts(const LayerKind& kind) {
  return kind.moe && is_quantised(kind.moe->format.dtype);
}

bool quantises_matrices(const LayerKind& kind) {
  return (kind.attention && is_quantised(kind.attention->format.dtype)) ||
         (kind.recurrent && is_quantised(kind.recurrent->format.dtype)) ||
         (kind.mlp && is_quantised(kind.mlp->format.dtype)) ||
         (kind.moe && kind.moe->shared_ffn > 0 && is_quantised(kind.moe->shared_format.dtype));
}

// Marlin unpacks quantised weights: kernels of other ones are chosen by other rules
// (kernels/linear/__init__.py), and with experts in 16 bits the start ends in a ValueError
// (fused_moe/oracle/unquantized.py: map_unquantized_backend; seen with 0.29).
void check_backends(EngineResolver& r) {
  const auto& own = r.options.own.get<VllmOptions>();
  const ModelSpec& model = r.system.model;
  if (own.linear_backend == "marlin" && !std::ranges::any_of(model.kinds, quantises_matrices)) {
    r.warn(
        fmt::format("linear_backend marlin has no effect: {} has no quantised matrices other "
                    "than experts",
                    model.id));
  }
  if (own.moe_backend != "marlin") return;
  if (!has_experts(model)) {
    r.warn(fmt::format("moe_backend marlin has no effect: {} has no experts", model.id));
  } else if (!std::ranges::any_of(model.kinds, quantises_experts)) {
    r.warn(
        fmt::format("moe_backend marlin: the experts of {} are in 16 bits, and vLLM does not "
                    "start with it then",
                    model.id));
  }
}

// vllm/config/parallel.py and model.py (verify_with_parallel_config): every rank of the group must
// hold a copy of the keys that it can give up, and all its queries. Windows and states:
// v1/kv_cache_interface.py and v1/core/kv_cache_coordinator.py assert a size of 1.
void check_context_ranks(EngineResolver& r) {
  constexpr EngineVersion kSharesContext{0, 10};  // 0.10.2
  const std::int64_t ranks = r.options.decode_context_parallel_size;
  if (ranks == 1) return;
  const std::int64_t tensor = r.options.tensor_parallel_size;
  const ModelSpec& model = r.system.model;
  const auto refuse = [&](const std::string& why) {
    r.given.refuse_value("/engine/decode_context_parallel_size", fmt::to_string(ranks), why);
  };
  if (r.system.version < kSharesContext) refuse("vLLM has it since 0.10.2: expected 1");
  if (tensor % ranks != 0) {
    refuse(fmt::format("expected a divisor of tensor_parallel_size = {}", tensor));
  }
  for (const LayerKind& kind : model.kinds) {
    const AttentionSpec a = kind.attention.value_or(AttentionSpec{});
    if (kind.recurrent || a.window_tokens > 0 || a.compress_ratio > 1) {
      refuse(
          fmt::format("vLLM does not start: {} has layers that do not keep every token", model.id));
    }
    if (!kind.attention || a.mla) continue;
    if (ranks * a.kv_heads > tensor || a.q_heads / a.kv_heads % ranks != 0) {
      refuse(
          fmt::format("expected a divisor of the {} queries per key head of {}, and at most "
                      "tensor_parallel_size / key heads = {} / {}",
                      a.q_heads / a.kv_heads, model.id, tensor, a.kv_heads));
    }
  }
}

void resolve_vllm(EngineResolver& r) {
  EngineSection& e = r.options;
  EngineSystem& s = r.system;
  check_backends(r);
  check_context_ranks(r);
  resolve_cache_order(r);
  if (s.scheduler->name == "vllm") {
    resolve_admission(r);
    resolve_threshold(r);
  }
  resolve_hybrid_manager(r);
  const VllmDefaults defaults = vllm_defaults(s.device, s.model, s.version, runs_v0(s));
  const std::string by_device = fmt::format("API server default on {}", s.device.id);
  const bool automatic = e.max_model_len == -1;
  if (!automatic) {
    r.fill_length("/engine/max_model_len", e.max_model_len, true,
                  ", or -1 for the longest that fits");
  }
  resolve_v0_chunks(r);
  resolve_encoder(r);
  const bool chunked = e.enable_chunked_prefill.value_or(true);
  std::int64_t tokens = defaults.max_num_batched_tokens;
  if (!chunked) tokens = std::max<std::int64_t>(tokens, *e.max_model_len);
  r.fill("/engine/max_num_batched_tokens", e.max_num_batched_tokens, tokens,
         chunked ? by_device : "whole prompts: at least max_model_len");
  r.fill("/engine/max_num_seqs", e.max_num_seqs,
         std::min<std::int64_t>(defaults.max_num_seqs, *e.max_num_batched_tokens), by_device);
  r.fill("/engine/block_size", e.block_size, defaults.block_size, "by attention kind");
  r.fill("/engine/async_scheduling", e.async_scheduling, s.version >= kAsyncDefault,
         "on from 0.14");
  r.fill("/engine/gpu_memory_utilization", e.gpu_memory_utilization,
         defaults.gpu_memory_utilization, "0.90 to 0.19, then 0.92");
  check_sizes(r, chunked, automatic);
  if (has_states(s.model)) resolve_state_cache(r);
  s.async_scheduling = *e.async_scheduling && s.scheduler->traits.plans_ahead;
  r.set_sizes(*e.max_model_len, *e.max_num_seqs, *e.max_num_batched_tokens, *e.block_size);

  if (e.own.get<VllmOptions>().disable_hybrid_kv_cache_manager && has_states(s.model)) {
    r.given.refuse("/engine/disable_hybrid_kv_cache_manager",
                   fmt::format("vLLM does not start: only the hybrid KV cache manager can hold the "
                               "recurrent layers of {} beside attention",
                               s.model.id));
  }
}

void turn_vllm_async_off(EngineResolver& r, std::string_view why) {
  const std::string pointer = "/engine/async_scheduling";
  if (r.given.is_given(pointer) && r.options.async_scheduling.value_or(false)) {
    r.warn(fmt::format("async_scheduling {}", why));
  }
  r.options.async_scheduling = false;
  r.note_rule(pointer, why);
}

// vllm/config/model.py, _get_default_runner_type
bool pools(const std::string& runner, const ModelSpec& model) {
  if (runner != "auto") return runner == "pooling";
  return is_embedding_model(model);
}

// Whether experts run Marlin by command: by their backend, or those in mxfp4 by their kernel.
bool chooses_marlin(const VllmOptions& own) {
  return own.moe_backend == "marlin" || own.mxfp4_kernel == "marlin";
}

VllmBudgetOptions vllm_budget_options(const EngineSection& e, const EngineSystem& s) {
  const auto& own = e.own.get<VllmOptions>();
  VllmBudgetOptions options;
  options.version = s.version;
  options.patch = e.version ? patch_of(*e.version).value_or(0) : 0;
  options.v0 = runs_v0(s);
  options.gpu_memory_utilization = *e.gpu_memory_utilization;
  options.kv_cache_memory_bytes = e.kv_cache_memory_bytes;
  options.num_gpu_blocks_override = e.num_gpu_blocks_override;
  options.max_model_len = s.max_model_len;
  options.max_num_seqs = s.max_num_seqs;
  options.max_num_batched_tokens = s.max_num_batched_tokens;
  options.block_size = s.block_size;
  options.async_scheduling = s.async_scheduling;
  options.enforce_eager = own.enforce_eager || own.cudagraph_mode == "NONE";
  options.max_capture = own.max_cudagraph_capture_size;
  if (e.speculative.is_on()) {
    options.draft_tokens =
        static_cast<std::int32_t>(e.speculative.num_speculative_tokens.value_or(0));
  }
  options.draft_method = e.speculative.method;
  options.estimate_graphs = own.estimate_cuda_graphs;
  options.compile_cache_empty = s.first_start && !own.enforce_eager;
  options.hybrid_kv_cache_manager = !own.disable_hybrid_kv_cache_manager;
  options.enable_prefix_caching = e.enable_prefix_caching.value_or(true);
  options.profile_multimodal = own.mm_profiling == "auto";
  options.text_only = own.mm_profiling == "text_only";
  options.pooling = pools(own.runner, s.model);
  options.marlin_experts = chooses_marlin(own);
  options.flashinfer_sampler = own.flashinfer_sampler.value_or(false);
  if (e.enable_lora) {
    options.lora = LoraShape{e.max_lora_rank, e.fully_sharded_loras};
    options.max_loras = e.max_loras;
  }
  return options;
}

// vllm/config/compilation.py and vllm/v1/cudagraph_dispatcher.py: piecewise graphs hold steps with
// prompts, too; full ones of decodes do not.
CapturedSteps vllm_captured_steps(const EngineSection& e, const EngineSystem& s) {
  const auto& own = e.own.get<VllmOptions>();
  if (own.enforce_eager || own.cudagraph_mode == "NONE") return {};
  CapturedSteps steps;
  steps.decode_sizes =
      vllm_capture_sizes(s.max_num_seqs, s.max_num_batched_tokens, own.max_cudagraph_capture_size);
  const bool mixed = !runs_v0(s) && own.cudagraph_mode != "FULL_DECODE_ONLY";
  if (mixed) steps.largest_mixed = steps.decode_sizes.back();
  return steps;
}

std::vector<std::int32_t> capture_sizes(const EngineSection& e, const EngineSystem& s) {
  // The model of V0 knows no padding (it captured graphs, too).
  return runs_v0(s) ? std::vector<std::int32_t>{} : vllm_captured_steps(e, s).decode_sizes;
}

BackendChoice vllm_backends(const EngineSection& e, const EngineSystem&) {
  const auto& own = e.own.get<VllmOptions>();
  const auto marlin_if = [](bool chosen) {
    return chosen ? ProductKernel::marlin : ProductKernel::fastest;
  };
  return {.linear = marlin_if(own.linear_backend == "marlin"),
          .moe = marlin_if(chooses_marlin(own)),
          .mxfp8 = own.mxfp4_kernel == "mxfp8"};
}

// The constants of the rule were fitted on start-ups of 0.17 to 0.19 on this device.
std::string_view fitted_on(const EngineSystem& s) {
  const bool fits =
      s.device.id == "h100-sxm" && s.version >= EngineVersion{0, 17} && s.version <= kMeasuredVllm;
  return fits ? "vLLM 0.19 on H100" : "";
}

std::string explain_activations(const EngineSystem& s, bool fitted) {
  return fmt::format(
      "peak of the profiling pass: {} sampled rows x {} entries, or {} tokens in the widest layer; "
      "constants {}",
      s.max_num_seqs, s.model.vocab, s.max_num_batched_tokens,
      fitted ? "fitted on 32 start-ups of vLLM 0.19 on H100" : "of another device or release");
}

std::span<const FixCandidate> vllm_fixes() {
  using namespace fixes;
  static constexpr FixCandidate kFixes[] = {
      kMoreOfTotal,
      kLessOfTotal,
      kFewerPoolBytes,
      kMorePoolBytes,
      kFewerPoolBlocks,
      kMorePoolBlocks,
      kShorterModelLen,
      kLongerModelLen,
      kFewerSeqs,
      kMoreSeqs,
      {"/engine/max_num_batched_tokens", Try::count_down, Cost::speed, kSteps, {}, Of::other, 128},
      {"/engine/enforce_eager", Try::ladder, Cost::speed, kGraphs, "true"},
      kKvIn8Bit,
      kWeightsIn8Or4Bit,
      kMoreDevices,
      kMoreStages};
  return kFixes;
}

}  // namespace

const Engine& vllm_engine() {
  static const Engine kEngine{
      .name = "vllm",
      .version = "0.33",
      .versioned = true,
      .newest = kNewestVllm,
      .summary = "vLLM V1 (V0 before 0.8): paged KV, chunked prefill, preemption by recompute",
      .measured = "memory, traffic",
      .budget_rule = "vllm",
      .scheduler = "vllm",
      .cost_family = "vllm",
      .kernels = KernelEngine::vllm,
      .traits = {.budgets_drafter = true,
                 .keeps_windows_if_uniform = true,
                 .groups_layers = true,
                 .halves_fp32 = true,
                 .cuts_whole_blocks = true},
      .counts_page_cache_free_since = kVllmReadsAvailable,
      .reads_cache_format = vllm_reads_cache_format,
      .takes = {"version", "all2all_backend", "decode_context_parallel_size", "kv_cache_dtype",
                "gpu_memory_utilization", "max_model_len", "max_num_seqs", "max_num_batched_tokens",
                "block_size", "num_gpu_blocks_override", "kv_cache_memory_bytes",
                "allow_long_max_model_len", "async_scheduling", "free_plain_blocks_first",
                "enable_lora", "memory_growth_mib_per_hour"},
      .options = vllm_rows,
      .scheduler_at = [](EngineVersion version) -> std::string_view {
        return version < kV1 ? "vllm_v0" : "vllm";
      },
      .launch = &kVllmLaunch,
      .log = &kVllmLog,
      .metric_prefixes = "vllm:",
      .metrics = &kVllmMetrics,
      .load_metrics = &kVllmLoadMetrics,
      .resolve = resolve_vllm,
      .turn_async_off = turn_vllm_async_off,
      .budget =
          [](const BudgetInputs& inputs, const EngineSection& e, const EngineSystem& s) {
            return vllm_budget(inputs, vllm_budget_options(e, s));
          },
      .budget_warnings =
          [](const BudgetInputs& inputs, const EngineSection& e, const EngineSystem& s) {
            return vllm_budget_warnings(inputs, vllm_budget_options(e, s));
          },
      .capture_sizes = capture_sizes,
      .captured_steps = vllm_captured_steps,
      .pads_sparse_latents = vllm_pads_sparse_latents,
      .graph_switch = [](const EngineSection& e, const EngineSystem&) -> std::string_view {
        return e.own.get<VllmOptions>().enforce_eager ? "enforce_eager" : "";
      },
      .backends = vllm_backends,
      .fixes = vllm_fixes,
      .share_option = "/engine/gpu_memory_utilization",
      .step_option = "/engine/max_num_batched_tokens",
      .pool_option = "/engine/kv_cache_memory_bytes",
      .fitted_on = fitted_on,
      .explain_activations = explain_activations,
      .explain_margin =
          [](const EngineSection& e) {
            return fmt::format("spare: the engine may use {} of the total",
                               e.gpu_memory_utilization.value_or(0));
          }};
  return kEngine;
}

}  // namespace headroom
