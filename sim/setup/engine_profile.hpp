#pragma once
// An engine is a profile that names its parts: budget rule, scheduler, allocator, cost family,
// defaults.

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "hardware/engine_version.hpp"

namespace headroom {

// Each is a file pair of hardware/budget.
enum class BudgetRule : std::uint8_t {
  vllm,
  trtllm,
  sglang,
  tgi,
  hf_generate,
  fastertransformer,
  llamacpp,
  ollama,
  orca_paper,
  plain  // estimates, for a profile without a rule of its own
};
enum class SchedulerKind : std::uint8_t {
  vllm,
  vllm_v0,
  sarathi,
  trtllm,
  sglang,
  tgi,
  llamacpp,
  orca,
  static_batch
};
enum class AllocatorKind : std::uint8_t { paged, contiguous, slots };

struct EngineProfile {
  std::string_view name;
  std::string_view version;   // modelled by default
  bool versioned = false;     // major.minor; rules depend on it
  EngineVersion newest = {};  // of a versioned one: the newest whose rules are known
  BudgetRule budget = BudgetRule::plain;
  SchedulerKind scheduler = SchedulerKind::vllm;
  AllocatorKind allocator = AllocatorKind::paged;
  std::string_view cost_family;  // whose calibrations price its steps
  bool own_calibration = true;  // false: priced with another engine's constants, and results say so
  std::int32_t max_num_seqs = 0;  // 0: by device
  // Several devices hold whole layers each (pipeline_parallel_size); else each holds a part of all.
  bool devices_share_layers = false;
  // What of it was compared with measured runs; empty: it follows its specification only.
  std::string_view measured = {};
  std::string_view summary;
};

[[nodiscard]] std::span<const EngineProfile> engine_profiles();
[[nodiscard]] const EngineProfile& engine_profile(std::string_view name);  // a name of the table

[[nodiscard]] std::string_view name_of(BudgetRule rule);
[[nodiscard]] std::string_view name_of(SchedulerKind kind);
[[nodiscard]] std::string_view name_of(AllocatorKind kind);
[[nodiscard]] SchedulerKind scheduler_kind(std::string_view name);
[[nodiscard]] AllocatorKind allocator_kind(std::string_view name);

// vLLM V1 is the default since 0.8.
inline constexpr EngineVersion kVllmV1{0, 8};
// The scheduler of an engine's release: vLLM was another engine ("V0") before 0.8.
[[nodiscard]] SchedulerKind scheduler_of(const EngineProfile& profile, EngineVersion version);

// All tokens a request may ever need are set aside when it is admitted.
[[nodiscard]] constexpr bool reserves_max_tokens(SchedulerKind scheduler, AllocatorKind allocator) {
  return scheduler == SchedulerKind::orca || scheduler == SchedulerKind::tgi ||
         allocator != AllocatorKind::paged;
}
// A step takes at most max_num_batched_tokens, prompts being cut or held back for it.
[[nodiscard]] bool has_token_budget(SchedulerKind scheduler);

}  // namespace headroom
