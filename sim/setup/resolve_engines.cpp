// What each engine makes of the options it was not given.

#include <algorithm>

#include "hardware/budget/vllm_defaults.hpp"
#include "sim/kernel/named_value.hpp"
#include "sim/setup/resolver.hpp"

namespace headroom {
namespace {

// First release with asynchronous scheduling on by default; ENGINES.md 4.
constexpr EngineVersion kAsyncDefault{0, 14};
// A synchronous engine's scheduler has no rules for tokens in flight.
bool overlaps(SchedulerKind scheduler) {
  return scheduler == SchedulerKind::vllm || scheduler == SchedulerKind::trtllm ||
         scheduler == SchedulerKind::sglang;
}

// What the plain budget assumes for the largest forward pass of engines without a token budget.
constexpr std::int64_t kPlainStepTokens = 8192;

}  // namespace

void Resolver::resolve_vllm() {
  EngineSection& e = r_.scenario.engine;
  const VllmDefaults defaults = vllm_defaults(r_.device, r_.model, r_.version);
  const std::string by_device = fmt::format("API server default on {}", r_.device.id);
  const bool automatic = e.max_model_len == -1;
  const bool chunked = e.enable_chunked_prefill.value_or(true);
  if (!automatic) fill_length("/engine/max_model_len", e.max_model_len, true);
  std::int64_t tokens = defaults.max_num_batched_tokens;
  if (!chunked) tokens = std::max<std::int64_t>(tokens, *e.max_model_len);
  fill("/engine/max_num_batched_tokens", e.max_num_batched_tokens, tokens,
       chunked ? by_device : "whole prompts: at least max_model_len");
  fill("/engine/max_num_seqs", e.max_num_seqs,
       std::min<std::int64_t>(defaults.max_num_seqs, *e.max_num_batched_tokens), by_device);
  fill("/engine/block_size", e.block_size, defaults.block_size, "by attention kind");
  fill("/engine/async_scheduling", e.async_scheduling, r_.version >= kAsyncDefault, "on from 0.14");
  fill("/engine/gpu_memory_utilization", e.gpu_memory_utilization, defaults.gpu_memory_utilization,
       "0.90 to 0.20, then 0.92");
  if (*e.max_num_batched_tokens < *e.max_num_seqs) {
    r_.scenario.refuse_value("/engine/max_num_batched_tokens",
                             fmt::to_string(*e.max_num_batched_tokens),
                             fmt::format("expected at least max_num_seqs = {}", *e.max_num_seqs));
  }
  if (!chunked && *e.max_num_batched_tokens < *e.max_model_len) {
    r_.scenario.refuse_value(
        "/engine/max_num_batched_tokens", fmt::to_string(*e.max_num_batched_tokens),
        fmt::format("without chunked prefill expected at least max_model_len = {}",
                    *e.max_model_len));
  }
  if (automatic && !chunked) {
    r_.scenario.refuse_value("/engine/max_model_len", "-1",
                             "without chunked prefill a length must be given");
  }
  r_.async_scheduling = *e.async_scheduling && overlaps(r_.scheduler);
  set_common(*e.max_model_len, *e.max_num_seqs, *e.max_num_batched_tokens, *e.block_size);

  const bool recurrent = std::ranges::any_of(
      r_.model.kinds, [](const LayerKind& kind) { return kind.recurrent.has_value(); });
  if (e.disable_hybrid_kv_cache_manager && recurrent) {
    r_.scenario.refuse(
        "/engine/disable_hybrid_kv_cache_manager",
        fmt::format("vLLM does not start: layers of {} are recurrent, which only the hybrid KV "
                    "cache manager holds beside attention",
                    r_.model.id));
  }
  VllmBudgetOptions options;
  options.version = r_.version;
  options.gpu_memory_utilization = *e.gpu_memory_utilization;
  options.kv_cache_memory_bytes = e.kv_cache_memory_bytes;
  options.num_gpu_blocks_override = e.num_gpu_blocks_override;
  options.max_model_len = r_.max_model_len;
  options.max_num_seqs = r_.max_num_seqs;
  options.max_num_batched_tokens = r_.max_num_batched_tokens;
  options.block_size = r_.block_size;
  options.enforce_eager = e.enforce_eager;
  options.estimate_graphs = e.estimate_cuda_graphs;
  options.compile_cache_empty = r_.scenario.environment.first_start && !e.enforce_eager;
  options.hybrid_kv_cache_manager = !e.disable_hybrid_kv_cache_manager;
  r_.budget = options;
}

void Resolver::resolve_trtllm() {
  EngineSection& e = r_.scenario.engine;
  fill_length("/engine/max_seq_len", e.max_seq_len, false);
  fill("/engine/max_batch_size", e.max_batch_size, TrtllmDefaults{}.max_batch_size, "llm_args");
  r_.async_scheduling = !e.disable_overlap_scheduler && overlaps(r_.scheduler);
  set_common(*e.max_seq_len, *e.max_batch_size, e.max_num_tokens, e.tokens_per_block);

  TrtllmBudgetOptions options;
  options.version = r_.version;
  options.free_gpu_memory_fraction = e.free_gpu_memory_fraction;
  options.max_batch_size = *e.max_batch_size;
  options.max_num_tokens = e.max_num_tokens;
  options.max_seq_len = e.max_seq_len;
  options.tokens_per_block = r_.block_size;
  options.max_tokens = e.max_tokens;
  options.max_gpu_total_bytes = e.max_gpu_total_bytes;
  options.host_cache_size = e.host_cache_size;
  options.disable_overlap_scheduler = e.disable_overlap_scheduler;
  r_.budget = options;
}

void Resolver::resolve_sglang() {
  EngineSection& e = r_.scenario.engine;
  const SglangDefaults defaults = sglang_defaults(r_.device, r_.model, r_.version, r_.sharding);
  const std::string by_device = fmt::format("default on {}", r_.device.id);
  fill_length("/engine/context_length", e.context_length, false);
  fill("/engine/chunked_prefill_size", e.chunked_prefill_size, defaults.chunked_prefill_size,
       by_device);
  fill("/engine/cuda_graph_max_bs", e.cuda_graph_max_bs, defaults.cuda_graph_max_bs, by_device);

  SglangBudgetOptions options;
  options.version = r_.version;
  options.mem_fraction_static = e.mem_fraction_static;
  options.chunked_prefill_size = e.chunked_prefill_size;
  options.cuda_graph_max_bs = e.cuda_graph_max_bs;
  options.context_length = e.context_length;
  options.max_total_tokens = e.max_total_tokens;
  options.max_running_requests = e.max_running_requests;
  options.page_size = static_cast<std::int32_t>(e.page_size);
  options.max_prefill_tokens = e.max_prefill_tokens;
  options.disable_cuda_graph = e.disable_cuda_graph;
  options.disable_radix_cache = e.disable_radix_cache;
  r_.budget = options;
  if (!e.mem_fraction_static) {
    const auto device_mib = static_cast<double>(r_.device.memory_reported_bytes >> 20);
    const double reserved = sglang_reserved_mib(options, defaults, r_.sharding, device_mib);
    fill("/engine/mem_fraction_static", e.mem_fraction_static,
         sglang_mem_fraction_static(device_mib, reserved), "by device, chunk and graph sizes");
  }
  if (*e.chunked_prefill_size > 0 && *e.chunked_prefill_size % e.page_size != 0) {
    r_.scenario.refuse_value("/engine/chunked_prefill_size",
                             fmt::to_string(*e.chunked_prefill_size),
                             fmt::format("expected a multiple of page_size = {}", e.page_size));
  }
  if (e.disable_radix_cache && (e.schedule_policy == "lpm" || e.schedule_policy == "dfs-weight")) {
    r_.warnings.push_back(
        fmt::format("schedule_policy {} needs the radix cache: without it SGLang serves fcfs",
                    e.schedule_policy));
    e.schedule_policy = "fcfs";
    note_rule("/engine/schedule_policy", "fcfs without the radix cache");
  }
  r_.async_scheduling = !e.disable_overlap_schedule && overlaps(r_.scheduler);
  // By pool and context length once the pool is known (startup_budget).
  const bool chunks = *e.chunked_prefill_size > 0;
  set_common(*e.context_length, e.max_running_requests.value_or(0),
             chunks ? *e.chunked_prefill_size : e.max_prefill_tokens, e.page_size);
}

void Resolver::resolve_tgi() {
  EngineSection& e = r_.scenario.engine;
  const TgiDefaults defaults = tgi_defaults(r_.device, r_.model, r_.version);
  fill("/engine/max_input_tokens", e.max_input_tokens, defaults.max_input_tokens,
       "one less than the model's length, at most 4095");
  fill("/engine/max_batch_prefill_tokens", e.max_batch_prefill_tokens, *e.max_input_tokens + 50,
       "max_input_tokens + 50");
  fill("/engine/attention", e.attention,
       defaults.attention == TgiAttention::paged ? "paged" : "flashinfer", "by device");
  if (r_.scheduler == SchedulerKind::tgi) {
    // launcher/src/main.rs, resolve_attention: off where flashinfer does not know the heads.
    std::int64_t head = 0;
    for (const LayerKind& kind : r_.model.kinds) {
      if (kind.attention) head = kind.attention->head_dim;
    }
    const bool shares = *e.attention != "paged" && r_.allocator == AllocatorKind::paged;
    if (e.enable_prefix_caching.value_or(false) && !shares) {
      r_.scenario.refuse(
          "/engine/enable_prefix_caching",
          "TGI shares with attention flashinfer or flashdecoding, and on blocks, only");
    }
    fill("/engine/enable_prefix_caching", e.enable_prefix_caching,
         shares && (head == 64 || head == 128 || head == 256),
         "on with flashinfer and flashdecoding, for heads of 64, 128 and 256");
  }

  TgiBudgetOptions options;
  options.version = r_.version;
  options.attention = parse_tgi_attention(*e.attention);
  options.max_input_tokens = e.max_input_tokens;
  options.max_total_tokens = e.max_total_tokens;
  options.max_batch_prefill_tokens = e.max_batch_prefill_tokens;
  options.max_batch_total_tokens = e.max_batch_total_tokens;
  options.cuda_memory_fraction = e.cuda_memory_fraction;
  r_.budget = options;
  // More than max_concurrent_requests are never in the engine at once.
  const std::int64_t sequences =
      std::min(e.max_batch_size.value_or(e.max_concurrent_requests), e.max_concurrent_requests);
  set_common(e.max_total_tokens.value_or(r_.model.max_position), sequences,
             *e.max_batch_prefill_tokens, tgi_block_size(*options.attention));
}

void Resolver::resolve_hf() {
  EngineSection& e = r_.scenario.engine;
  fill("/engine/max_batch_size", e.max_batch_size, 1, "one sequence unless batched by the caller");
  fill("/engine/max_input_tokens", e.max_input_tokens, HfBatch{}.prompt_tokens, "profile");
  HfBudgetOptions options;
  options.engine.version = r_.version;
  options.engine.attn_implementation = parse_hf_attention(e.attn_implementation);
  options.engine.cache_implementation = parse_hf_cache(e.cache_implementation);
  options.batch = {*e.max_batch_size, *e.max_input_tokens, e.max_new_tokens};
  r_.budget = options;
  const std::int64_t length = *e.max_input_tokens + e.max_new_tokens;
  if (r_.model.max_position > 0 && length > r_.model.max_position) {
    r_.warnings.push_back(fmt::format("prompt and output of {} tokens: {} was trained for {}",
                                      length, r_.model.id, r_.model.max_position));
  }
  set_common(length, *e.max_batch_size, *e.max_batch_size * *e.max_input_tokens, 1);
}

void Resolver::resolve_fastertransformer() {
  EngineSection& e = r_.scenario.engine;
  const FtBatch defaults = fastertransformer_defaults(r_.model).batch;
  fill("/engine/max_batch_size", e.max_batch_size, defaults.sequences, "profile");
  fill("/engine/max_input_tokens", e.max_input_tokens, defaults.input_tokens, "profile");
  FtBudgetOptions options;
  // Before 5.0 buffers had the configured sizes (ENGINES.md 1.7, two commits).
  options.generation =
      r_.version >= EngineVersion{5, 0} ? FtGeneration::per_batch : FtGeneration::configured;
  options.batch = {*e.max_batch_size, e.beam_width, *e.max_input_tokens, e.max_new_tokens};
  r_.budget = options;
  set_common(options.batch.sequence_tokens(), *e.max_batch_size,
             *e.max_batch_size * *e.max_input_tokens, 1);
}

void Resolver::resolve_llamacpp() {
  EngineSection& e = r_.scenario.engine;
  LlamacppBudgetOptions options;
  options.version = r_.version;
  options.ctx_size = e.ctx_size;
  options.parallel = e.parallel;
  options.kv_unified = e.kv_unified;
  options.cache_type_k =
      lookup("/engine/cache_type_k", [&] { return parse_dtype(e.cache_type_k); });
  options.cache_type_v =
      lookup("/engine/cache_type_v", [&] { return parse_dtype(e.cache_type_v); });
  options.ubatch_size = e.ubatch_size;
  options.n_gpu_layers = e.n_gpu_layers;
  if (e.flash_attn) {
    options.flash_attn =
        value_named<LlamacppFlashAttn>(*e.flash_attn, {{"on", LlamacppFlashAttn::on},
                                                       {"off", LlamacppFlashAttn::off},
                                                       {"auto", LlamacppFlashAttn::automatic}});
  }
  options.no_mmap = e.no_mmap;
  options.no_kv_offload = e.no_kv_offload;
  options.swa_full = e.swa_full;
  r_.budget = options;
  const LlamacppCells cells =
      lookup("/engine/ctx_size", [&] { return llamacpp_cells(r_.model, options); });
  set_common(cells.per_sequence, cells.slots, e.batch_size, 1);
}

void Resolver::resolve_ollama() {
  EngineSection& e = r_.scenario.engine;
  const OllamaDefaults defaults = ollama_defaults(r_.device, r_.model, r_.version);
  fill("/engine/num_ctx", e.num_ctx, defaults.num_ctx, "by version and device");
  fill("/engine/num_parallel", e.num_parallel, defaults.num_parallel, "by version");
  OllamaOptions options;
  options.version = r_.version;
  options.num_ctx = e.num_ctx;
  options.num_parallel = e.num_parallel;
  options.kv_cache_type =
      lookup("/engine/kv_cache_type", [&] { return parse_dtype(e.kv_cache_type); });
  options.flash_attention = e.flash_attention;
  options.num_gpu = e.num_gpu;
  options.use_mmap = e.use_mmap;
  r_.budget = options;
  set_common(*e.num_ctx, *e.num_parallel, e.batch_size, 1);
}

void Resolver::resolve_orca() {
  EngineSection& e = r_.scenario.engine;
  fill_length("/engine/max_model_len", e.max_model_len, false);
  fill("/engine/max_num_seqs", e.max_num_seqs, r_.profile->max_num_seqs, "profile");
  fill("/engine/block_size", e.block_size, 16, "profile");
  fill("/engine/async_scheduling", e.async_scheduling, false, "synchronous engine");
  OrcaBudgetOptions options;
  options.max_model_len = *e.max_model_len;
  // The paper's two oracles: results say what no real engine knows.
  const bool oracle = e.kv_reservation == "pow2" || e.kv_reservation == "oracle";
  if (oracle) options.reservation = parse_orca_reservation(e.kv_reservation);
  r_.budget = options;
  set_common(*e.max_model_len, *e.max_num_seqs, std::max(kPlainStepTokens, *e.max_model_len),
             *e.block_size);
}

void Resolver::resolve_plain() {
  EngineSection& e = r_.scenario.engine;
  fill_length("/engine/max_model_len", e.max_model_len, false);
  fill("/engine/max_num_seqs", e.max_num_seqs, r_.profile->max_num_seqs, "profile");
  fill("/engine/block_size", e.block_size, 16, "profile");
  fill("/engine/async_scheduling", e.async_scheduling, false, "synchronous engine");
  fill("/engine/gpu_memory_utilization", e.gpu_memory_utilization, 0.9, "profile");
  std::int64_t step_tokens = std::max(kPlainStepTokens, *e.max_model_len);
  if (r_.scheduler == SchedulerKind::sarathi) {
    // The strict one of the paper's two budgets (ENGINES.md 3.8); the other is 2048.
    fill("/engine/max_num_batched_tokens", e.max_num_batched_tokens, 512, "profile");
    step_tokens = *e.max_num_batched_tokens;
    if (step_tokens < *e.max_num_seqs) {
      r_.scenario.refuse_value("/engine/max_num_batched_tokens", fmt::to_string(step_tokens),
                               fmt::format("expected at least max_num_seqs = {}", *e.max_num_seqs));
    }
  }
  set_common(*e.max_model_len, *e.max_num_seqs, step_tokens, *e.block_size);

  PlainBudgetOptions options;
  options.memory_fraction = *e.gpu_memory_utilization;
  options.max_model_len = r_.max_model_len;
  options.max_step_tokens = r_.max_num_batched_tokens;
  options.max_num_seqs = r_.max_num_seqs;
  options.block_size = r_.allocator == AllocatorKind::paged ? r_.block_size : 1;
  r_.budget = options;
}

}  // namespace headroom
