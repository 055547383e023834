#include "sim/setup/engine_profile.hpp"

#include <algorithm>
#include <array>

#include "sim/kernel/check.hpp"

namespace headroom {
namespace {

constexpr std::array kProfiles{
    EngineProfile{.name = "vllm",
                  .version = "0.19",
                  .versioned = true,
                  .budget = BudgetRule::vllm,
                  .scheduler = SchedulerKind::vllm,
                  .allocator = AllocatorKind::paged,
                  .cost_family = "vllm",
                  .summary = "vLLM V1: paged KV, chunked prefill, preemption by recompute"},
    EngineProfile{.name = "trtllm",
                  .version = "1.3",
                  .versioned = true,
                  .budget = BudgetRule::trtllm,
                  .cost_family = "trtllm",
                  .summary = "TensorRT-LLM: a share of what is left after a profiling run"},
    EngineProfile{.name = "sglang",
                  .version = "0.5",
                  .versioned = true,
                  .budget = BudgetRule::sglang,
                  .cost_family = "sglang",
                  .summary = "SGLang: a share of what was free before load, for weights and KV"},
    EngineProfile{.name = "tgi",
                  .version = "3.3",
                  .versioned = true,
                  .budget = BudgetRule::tgi,
                  .cost_family = "tgi",
                  .summary = "Text Generation Inference: what a warm-up leaves of total memory"},
    EngineProfile{.name = "hf",
                  .version = "4.57",
                  .versioned = true,
                  .budget = BudgetRule::hf_generate,
                  .allocator = AllocatorKind::contiguous,
                  .cost_family = "hf",
                  .summary = "Hugging Face generate: no pool, the peak of a padded batch"},
    EngineProfile{.name = "fastertransformer",
                  .version = "5.3",
                  .versioned = true,
                  .budget = BudgetRule::fastertransformer,
                  .allocator = AllocatorKind::contiguous,
                  .cost_family = "fastertransformer",
                  .summary = "FasterTransformer: batch x longest sequence, set aside at once"},
    EngineProfile{.name = "llamacpp",
                  .version = "0.10481",  // build b10481
                  .versioned = true,
                  .budget = BudgetRule::llamacpp,
                  .allocator = AllocatorKind::contiguous,
                  .cost_family = "llamacpp",
                  .summary = "llama.cpp server: ctx_size KV cells at start, shared by the slots"},
    EngineProfile{.name = "ollama",
                  .version = "0.34",
                  .versioned = true,
                  .budget = BudgetRule::ollama,
                  .allocator = AllocatorKind::contiguous,
                  .cost_family = "llamacpp",
                  .summary = "Ollama: llama.cpp with a context per parallel request"},
    // Orca (OSDI'22): iteration-level batches, a request reserves prompt + max_tokens.
    EngineProfile{.name = "orca",
                  .version = "osdi22",
                  .budget = BudgetRule::orca_paper,
                  .scheduler = SchedulerKind::orca,
                  .allocator = AllocatorKind::contiguous,
                  .cost_family = "vllm",
                  .own_calibration = false,
                  .max_num_seqs = 256,
                  .summary = "Orca: iteration-level batches, contiguous reservation of max_tokens"},
    // Hugging Face generate / FasterTransformer: a batch runs until its longest output ends.
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
constexpr std::array<std::string_view, 3> kSchedulerNames{"vllm", "orca", "static"};
constexpr std::array<std::string_view, 2> kAllocatorNames{"paged", "contiguous"};

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
