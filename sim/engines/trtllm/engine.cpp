#include "sim/engines/trtllm/engine.hpp"

#include "sim/engines/engine_resolver.hpp"
#include "sim/engines/trtllm/budget.hpp"

namespace headroom {
namespace {

std::vector<OwnRow> trtllm_rows() {
  using T = TrtllmOptions;
  return own_rows<T>({
      {.name = "free_gpu_memory_fraction",
       .field = &T::free_gpu_memory_fraction,
       .unit = "share",
       .bounds = kShareAbove0,
       .doc = "share of the memory left after everything else that KV gets"},
      {.name = "max_num_tokens",
       .field = &T::max_num_tokens,
       .unit = "tokens",
       .bounds = kCount,
       .doc = "most tokens in a step and in the profiling pass"},
      {.name = "max_seq_len",
       .field = &T::max_seq_len,
       .unit = "tokens",
       .bounds = kCount,
       .doc = "longest prompt + output of a request",
       .absent = "the model's context length"},
      {.name = "tokens_per_block",
       .field = &T::tokens_per_block,
       .unit = "tokens",
       .bounds = {.low = 1, .high = 4096},
       .doc = "size of a KV block"},
      {.name = "max_tokens",
       .field = &T::max_tokens,
       .unit = "tokens",
       .bounds = kCount,
       .doc = "upper limit for the size of the KV pool",
       .absent = "no limit"},
      {.name = "max_gpu_total_bytes",
       .field = &T::max_gpu_total_bytes,
       .unit = "bytes",
       .bounds = kBytes,
       .doc = "upper limit for the KV pool; 0 = no limit"},
      {.name = "host_cache_size",
       .field = &T::host_cache_size,
       .unit = "bytes",
       .bounds = kBytes,
       .doc = "host memory for evicted blocks, per rank"},
      {.name = "disable_overlap_scheduler",
       .field = &T::disable_overlap_scheduler,
       .doc = "plan a step only after the last one has ended"},
      {.name = "cuda_graph_max_batch_size",
       .field = &T::cuda_graph_max_batch_size,
       .unit = "sequences",
       .bounds = {.low = 0, .high = 1e6},
       .doc = "largest decode batch with a graph (cuda_graph_config.max_batch_size); 0 = none"},
      {.name = "enable_piecewise_cuda_graph",
       .field = &T::enable_piecewise_cuda_graph,
       .doc = "steps with prompts run in graphs, too (torch_compile_config)"},
  });
}

void resolve_trtllm(EngineResolver& r) {
  EngineSection& e = r.options;
  auto& own = r.own<TrtllmOptions>();
  r.fill_length("/engine/max_seq_len", own.max_seq_len, false);
  r.fill("/engine/max_batch_size", e.max_batch_size, TrtllmDefaults{}.max_batch_size, "llm_args");
  r.system.async_scheduling =
      !own.disable_overlap_scheduler && r.system.scheduler->traits.plans_ahead;
  r.set_sizes(*own.max_seq_len, *e.max_batch_size, own.max_num_tokens, own.tokens_per_block);
}

void turn_trtllm_async_off(EngineResolver& r, std::string_view why) {
  r.own<TrtllmOptions>().disable_overlap_scheduler = true;
  r.note_rule("/engine/disable_overlap_scheduler", why);
}

TrtllmBudgetOptions trtllm_budget_options(const EngineSection& e, const EngineSystem& s) {
  const auto& own = e.own.get<TrtllmOptions>();
  TrtllmBudgetOptions options;
  options.version = s.version;
  options.free_gpu_memory_fraction = own.free_gpu_memory_fraction;
  options.max_batch_size = *e.max_batch_size;
  options.max_num_tokens = own.max_num_tokens;
  options.max_seq_len = own.max_seq_len;
  options.tokens_per_block = s.block_size;
  options.max_tokens = own.max_tokens;
  options.max_gpu_total_bytes = own.max_gpu_total_bytes;
  options.host_cache_size = own.host_cache_size;
  options.disable_overlap_scheduler = own.disable_overlap_scheduler;
  if (e.speculative.is_on()) options.max_draft_len = *e.speculative.num_speculative_tokens;
  return options;
}

// tensorrt_llm/llmapi/llm_args.py (CudaGraphConfig), with padding. capture_num_tokens is taken to
// reach up to max_num_tokens.
CapturedSteps trtllm_captured_steps(const EngineSection& e, const EngineSystem& s) {
  const auto& own = e.own.get<TrtllmOptions>();
  const auto largest = static_cast<std::int32_t>(own.cuda_graph_max_batch_size);
  CapturedSteps steps;
  for (const std::int32_t size : {1, 2, 4}) {
    if (size <= largest) steps.decode_sizes.push_back(size);
  }
  for (std::int32_t size = 8; size <= std::min(largest, 128); size += 8) {
    steps.decode_sizes.push_back(size);
  }
  for (std::int32_t size = 256; size <= largest; size *= 2) steps.decode_sizes.push_back(size);
  if (largest > 0 && steps.decode_sizes.back() < largest) steps.decode_sizes.push_back(largest);
  if (own.enable_piecewise_cuda_graph) steps.largest_mixed = s.max_num_batched_tokens;
  return steps;
}

// Of gpt-oss on Blackwell its TRTLLM backend computes activations in mxfp8.
BackendChoice trtllm_backends(const EngineSection&, const EngineSystem& s) {
  return {.mxfp8 = s.device.sm >= 100};
}

std::span<const FixCandidate> trtllm_fixes() {
  using namespace fixes;
  static constexpr FixCandidate kFixes[] = {
      {"/engine/free_gpu_memory_fraction", Try::share_up, Cost::none, kSpare},
      {"/engine/free_gpu_memory_fraction", Try::share_down, Cost::none, kAsks},
      {"/engine/max_seq_len", Try::count_down, Cost::limits, kLonger, {}, Of::tokens},
      {"/engine/max_seq_len", Try::count_up, Cost::none, kLength, {}, Of::tokens},
      kSmallerBatch,
      kLargerBatch,
      {"/engine/max_num_tokens", Try::count_down, Cost::speed, kSteps, {}, Of::other, 128},
      kKvIn8Bit,
      kWeightsIn8Or4Bit,
      kMoreDevices,
      kMoreStages};
  return kFixes;
}

}  // namespace

const Engine& trtllm_engine() {
  static const Engine kEngine{
      .name = "trtllm",
      .version = "1.3",
      .versioned = true,
      .newest = kNewestTrtllm,
      .summary = "TensorRT-LLM: in-flight batching, KV reserved to completion",
      .measured = "memory, traffic",
      .budget_rule = "trtllm",
      .scheduler = "trtllm",
      .cost_family = "trtllm",
      .kernels = KernelEngine::trtllm,
      .traits = {.budgets_drafter = true,
                 .counts_windows_at_start = true,
                 .prefills_in_fp8 = true,
                 .loads_gguf = false},
      .takes = {"version", "kv_cache_dtype", "max_batch_size", "memory_growth_mib_per_hour"},
      .options = trtllm_rows,
      .launch = &kTrtllmLaunch,
      .log = &kTrtllmLog,
      .metric_prefixes = "trtllm_|nv_trt_llm_",
      .resolve = resolve_trtllm,
      .turn_async_off = turn_trtllm_async_off,
      .budget =
          [](const BudgetInputs& inputs, const EngineSection& e, const EngineSystem& s) {
            return trtllm_budget(inputs, trtllm_budget_options(e, s));
          },
      .budget_warnings =
          [](const BudgetInputs& inputs, const EngineSection& e, const EngineSystem& s) {
            return trtllm_budget_warnings(inputs, trtllm_budget_options(e, s));
          },
      .captured_steps = trtllm_captured_steps,
      .backends = trtllm_backends,
      .host_tier = [](const EngineSection& e) -> ByteCount {
        return e.own.get<TrtllmOptions>().host_cache_size;
      },
      .host_tier_option = "/engine/host_cache_size",
      .fixes = trtllm_fixes,
      .share_option = "/engine/free_gpu_memory_fraction",
      .step_option = "/engine/max_num_tokens",
      .explain_margin =
          [](const EngineSection& e) {
            return fmt::format("spare: KV gets {} of the memory left by the rest",
                               e.own.get<TrtllmOptions>().free_gpu_memory_fraction);
          }};
  return kEngine;
}

}  // namespace headroom
