#include "sim/setup/engine_profile.hpp"

#include <algorithm>
#include <array>

#include "hardware/budget/hf_generate.hpp"
#include "hardware/budget/llamacpp.hpp"
#include "hardware/budget/ollama.hpp"
#include "hardware/budget/sglang.hpp"
#include "hardware/budget/tgi.hpp"
#include "hardware/budget/trtllm.hpp"
#include "hardware/budget/vllm.hpp"
#include "sim/kernel/check.hpp"

namespace headroom {
namespace {

constexpr std::array kProfiles{
    EngineProfile{.name = "vllm",
                  .version = "0.19",
                  .versioned = true,
                  .newest = kNewestVllm,
                  .budget = BudgetRule::vllm,
                  .scheduler = SchedulerKind::vllm,
                  .allocator = AllocatorKind::paged,
                  .cost_family = "vllm",
                  .measured = "memory, traffic",
                  .summary = "vLLM V1 (V0 before 0.8): paged KV, chunked prefill, preemption by "
                             "recompute"},
    EngineProfile{.name = "trtllm",
                  .version = "1.3",
                  .versioned = true,
                  .newest = kNewestTrtllm,
                  .budget = BudgetRule::trtllm,
                  .scheduler = SchedulerKind::trtllm,
                  .cost_family = "trtllm",
                  .measured = "memory, traffic",
                  .summary = "TensorRT-LLM: in-flight batching, KV counted to completion"},
    EngineProfile{.name = "sglang",
                  .version = "0.5",
                  .versioned = true,
                  .newest = kNewestSglang,
                  .budget = BudgetRule::sglang,
                  .scheduler = SchedulerKind::sglang,
                  .cost_family = "sglang",
                  .summary = "SGLang: prefill batches alone, radix cache, retraction"},
    EngineProfile{.name = "tgi",
                  .version = "3.3",
                  .versioned = true,
                  .newest = kNewestTgi,
                  .budget = BudgetRule::tgi,
                  .scheduler = SchedulerKind::tgi,
                  .cost_family = "tgi",
                  .summary = "Text Generation Inference: prompt + max_new_tokens set aside, no "
                             "preemption"},
    EngineProfile{.name = "hf",
                  .version = "4.57",
                  .versioned = true,
                  .newest = kNewestHf,
                  .budget = BudgetRule::hf_generate,
                  .scheduler = SchedulerKind::static_batch,
                  .cost_family = "hf",
                  .devices_share_layers = true,
                  .measured = "memory",
                  .summary = "Hugging Face generate: padded static batches, a cache that grows"},
    EngineProfile{.name = "fastertransformer",
                  .version = "5.3",
                  .versioned = true,
                  .newest = EngineVersion{5, 3},
                  .budget = BudgetRule::fastertransformer,
                  .scheduler = SchedulerKind::static_batch,
                  .allocator = AllocatorKind::contiguous,
                  .cost_family = "fastertransformer",
                  .summary = "FasterTransformer: static batches, batch x longest sequence at once"},
    EngineProfile{.name = "llamacpp",
                  .version = "0.10481",  // build b10481
                  .versioned = true,
                  .newest = kNewestLlamacpp,
                  .budget = BudgetRule::llamacpp,
                  .scheduler = SchedulerKind::llamacpp,
                  .allocator = AllocatorKind::slots,
                  .cost_family = "llamacpp",
                  .devices_share_layers = true,
                  .summary = "llama.cpp server: slots with a context each, n_batch tokens a step"},
    EngineProfile{.name = "ollama",
                  .version = "0.34",
                  .versioned = true,
                  .newest = kNewestOllama,
                  .budget = BudgetRule::ollama,
                  .scheduler = SchedulerKind::llamacpp,
                  .allocator = AllocatorKind::slots,
                  .cost_family = "llamacpp",
                  .devices_share_layers = true,
                  .summary = "Ollama: llama.cpp with a context per parallel request"},
    EngineProfile{.name = "sarathi",
                  .version = "osdi24",
                  .budget = BudgetRule::plain,
                  .scheduler = SchedulerKind::sarathi,
                  .cost_family = "vllm",
                  .own_calibration = false,
                  .max_num_seqs = 128,
                  .summary = "Sarathi-Serve: decodes first, prompts in chunks of what is left"},
    EngineProfile{.name = "orca",
                  .version = "osdi22",
                  .budget = BudgetRule::orca_paper,
                  .scheduler = SchedulerKind::orca,
                  .allocator = AllocatorKind::contiguous,
                  .cost_family = "vllm",
                  .own_calibration = false,
                  .max_num_seqs = 256,
                  .summary = "Orca: iteration-level batches, contiguous reservation of max_tokens"},
    // Hugging Face generate / FasterTransformer without a start-up rule of their own.
    EngineProfile{.name = "static",
                  .version = "1",
                  .budget = BudgetRule::plain,
                  .scheduler = SchedulerKind::static_batch,
                  .allocator = AllocatorKind::contiguous,
                  .cost_family = "vllm",
                  .own_calibration = false,
                  .max_num_seqs = 32,
                  .summary = "static batches: padded, run until the longest output ends"},
};

constexpr std::array<std::string_view, 10> kBudgetNames{
    "vllm",     "trtllm", "sglang",     "tgi",  "hf_generate", "fastertransformer",
    "llamacpp", "ollama", "orca_paper", "plain"};
constexpr std::array<std::string_view, 9> kSchedulerNames{
    "vllm", "vllm_v0", "sarathi", "trtllm", "sglang", "tgi", "llamacpp", "orca", "static"};
constexpr std::array<std::string_view, 3> kAllocatorNames{"paged", "contiguous", "slots"};

template <typename Kind>
Kind kind_of(std::string_view name, std::span<const std::string_view> names) {
  const auto found = std::ranges::find(names, name);
  HEADROOM_CHECK(found != names.end(), "a name that parsing let pass: " + std::string(name));
  return static_cast<Kind>(found - names.begin());
}

}  // namespace

std::span<const EngineProfile> engine_profiles() { return kProfiles; }

const EngineProfile& engine_profile(std::string_view name) {
  const auto found = std::ranges::find(kProfiles, name, &EngineProfile::name);
  HEADROOM_CHECK(found != kProfiles.end(), "an engine that parsing let pass: " + std::string(name));
  return *found;
}

SchedulerKind scheduler_of(const EngineProfile& profile, EngineVersion version) {
  const bool before_v1 = profile.budget == BudgetRule::vllm && version < kVllmV1;
  return before_v1 ? SchedulerKind::vllm_v0 : profile.scheduler;
}

bool has_token_budget(SchedulerKind scheduler) {
  switch (scheduler) {
    case SchedulerKind::vllm:
    case SchedulerKind::vllm_v0:
    case SchedulerKind::sarathi:
    case SchedulerKind::trtllm:
    case SchedulerKind::llamacpp: return true;
    case SchedulerKind::sglang:
    case SchedulerKind::tgi:
    case SchedulerKind::orca:
    case SchedulerKind::static_batch: return false;
  }
  return false;
}

std::string_view name_of(BudgetRule rule) { return kBudgetNames[static_cast<std::size_t>(rule)]; }
std::string_view name_of(SchedulerKind kind) {
  return kSchedulerNames[static_cast<std::size_t>(kind)];
}
std::string_view name_of(AllocatorKind kind) {
  return kAllocatorNames[static_cast<std::size_t>(kind)];
}
SchedulerKind scheduler_kind(std::string_view name) {
  return kind_of<SchedulerKind>(name, kSchedulerNames);
}
AllocatorKind allocator_kind(std::string_view name) {
  return kind_of<AllocatorKind>(name, kAllocatorNames);
}

}  // namespace headroom
