#pragma once
// Inputs and result of a start-up budget, for every engine's rule: bytes by purpose per rank, the
// KV pool in blocks, and where start-up fails if it does.

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/device.hpp"
#include "hardware/host_reads.hpp"
#include "hardware/llm/model_spec.hpp"
#include "sim/serving/kv_layout.hpp"
#include "sim/serving/memory_ledger.hpp"
#include "sim/serving/types.hpp"

namespace headroom {

// Where start-up fails, in the order in which an engine gets there.
enum class StartupStage : std::uint8_t {
  platform,            // the engine has no back end for the device
  host_memory,         // the host's memory, before or while the weights are read
  free_memory_check,   // less memory is free than the engine is set to use
  weights,             // loading the weights
  profiling,           // the forward pass that measures activations
  blocks,              // nothing left for the KV pool
  max_length_request,  // the pool cannot hold one request of max_model_len
  kv_allocation,       // the pool does not fit what is really free
  graph_capture,       // no memory left to capture graphs
  warm_up              // nor for the sampler or the first batch after that
};
[[nodiscard]] std::string_view name_of(StartupStage stage);

// What runs out, DESIGN.md 4: the device's memory, the host's or a container's limit; or the
// machine stops answering because device memory cannot be swapped.
enum class StartupKind : std::uint8_t { startup, host_oom, cgroup_kill, host_freeze };
[[nodiscard]] std::string_view name_of(StartupKind kind);

struct StartupFailure {
  StartupStage stage = StartupStage::blocks;
  std::string message;
  ByteCount wanted_bytes = 0;
  ByteCount free_bytes = 0;
  std::int64_t largest_feasible_max_model_len = 0;  // of max_length_request, else 0
  StartupKind kind = StartupKind::startup;
};

// What the engine finds on the machine, in the metric of free memory that it reads. On a discrete
// device everything but the total is usually 0 and the rule's own constants apply.
struct MachineMemory {
  ByteCount total_bytes = 0;         // per device, as the runtime reports it
  ByteCount others_bytes = 0;        // not free before the engine starts: system, processes, tmpfs
  ByteCount cache_before_bytes = 0;  // page cache that counts as not free at the first look
  ByteCount cache_growth_bytes = 0;  // more of it when the pool is sized: the checkpoint was read
  ByteCount engine_host_bytes = 0;   // the engine's host memory, taken after the first look
  ByteCount slack_bytes = 0;  // free by the metric, but the driver no longer allocates from it
  std::string_view free_metric = "cuda";  // cuda, MemFree or MemAvailable

  // Not free when the pool is sized, beside what the engine holds on the device.
  [[nodiscard]] ByteCount not_free_bytes() const {
    return others_bytes + cache_before_bytes + cache_growth_bytes + engine_host_bytes;
  }
};
// The whole of `device` free: what a discrete device in a container or not looks like.
[[nodiscard]] MachineMemory idle_machine(const DeviceSpec& device);

// What every rule needs. Weights follow from the model's formats (model_spec.hpp: quantised).
struct BudgetInputs {
  ModelSpec model;
  DeviceSpec device;
  Sharding sharding;
  Dtype kv = Dtype::bf16;
  MachineMemory machine;
  std::optional<ModelSpec> drafter{};  // with weights of its own, on the last stage
};

// Bytes by purpose; they add up to the capacity.
struct BudgetTerms {
  std::array<ByteCount, kMemoryPurposeCount> bytes{};

  [[nodiscard]] ByteCount operator[](MemoryPurpose p) const {
    return bytes[static_cast<std::size_t>(p)];
  }
  [[nodiscard]] ByteCount sum() const;
};

// What an engine takes while it starts, and keeps.
struct StartupCharge {
  StartupStage stage = StartupStage::weights;
  MemoryPurpose purpose = MemoryPurpose::weights;
  ByteCount bytes = 0;
};

struct MemoryBudget {
  ByteCount capacity_bytes = 0;        // per rank
  BudgetTerms terms;                   // sums to capacity_bytes
  std::vector<StartupCharge> charges;  // the terms but margin, in the engine's order
  ByteCount kv_available_bytes = 0;    // what the rule leaves for KV, before rounding to blocks
  ByteCount kv_pool_bytes = 0;         // total_blocks * bytes per block
  BlockCount total_blocks = 0;         // including a null block, where the engine has one
  BlockCount usable_blocks = 0;
  TokenCount kv_tokens = 0;        // as the engine reports it
  std::int64_t max_model_len = 0;  // asked for, or found by the rule
  double max_concurrency = 0;      // requests of max_model_len that the pool holds
  std::int64_t step_tokens = 1;    // tokens of one sequence that a step may compute
  KvLayout layout;
  // Weights and KV kept off the devices in host memory, of the whole model, and weights used in
  // place from the page cache, whose term includes them.
  ByteCount host_weight_bytes = 0;
  ByteCount host_kv_bytes = 0;
  HostReads host_reads;
  ByteCount mapped_weight_bytes = 0;
  ByteCount reread_weight_bytes = 0;  // mapped ones beyond memory, which every step reads again
  std::vector<std::string> notes;     // what the rule decided by itself, e.g. a lowered max_seq_len
  std::optional<StartupFailure> failure;
};

// Charges in the order of start-up and stops at the first refusal. The rest at the end is margin,
// so that the terms always add up to the capacity.
class BudgetBuilder {
 public:
  explicit BudgetBuilder(ByteCount capacity_bytes);

  // False when refused: then the failure is recorded. Nothing is charged after a failure.
  bool charge(MemoryPurpose purpose, ByteCount bytes, StartupStage stage);
  void fail(StartupFailure failure);

  [[nodiscard]] bool failed() const { return failure_.has_value(); }
  [[nodiscard]] ByteCount free_bytes() const { return ledger_.free_bytes(); }
  // Writes capacity, terms, charges and failure.
  void finish(MemoryBudget& budget);

 private:
  DeviceLedger ledger_;
  std::vector<StartupCharge> charges_;
  std::optional<StartupFailure> failure_;
};

// others, page cache and the engine's host memory of `machine`.
void charge_machine(BudgetBuilder& builder, const MachineMemory& machine);

struct PoolRule {
  ByteCount available_bytes = 0;
  std::int64_t max_model_len = 0;  // -1: the largest up to `longest` that fits
  std::int64_t step_tokens = 1;    // tokens of one sequence that a step may compute
  BlockCount null_blocks = 0;      // never handed out
  std::int64_t longest = 1'000'000'000;
};
// The pool of an engine that was left `available_bytes` for KV: whole blocks of `budget.layout`.
// Fails in the stage `blocks` without a byte, in `max_length_request` when one request of
// max_model_len needs more, and else charges the pool.
void place_pool(BudgetBuilder& builder, const PoolRule& rule, MemoryBudget& budget);

// Longest sequence that `blocks` hold; 0 when none.
[[nodiscard]] std::int64_t largest_length(const KvLayout& layout, BlockCount blocks,
                                          std::int64_t step_tokens, std::int64_t upper);

// An encoder, of which the engine keeps nothing: its layout counts a byte per token and layer.
[[nodiscard]] bool keeps_no_kv(const MemoryBudget& budget, const ModelSpec& model);

// How many sequences of `tokens` each are in decode together in the pool.
[[nodiscard]] std::int64_t concurrent_sequences(const MemoryBudget& budget, TokenCount tokens);

// The stage of a pipeline that decides: the first that fails, else the one with fewest blocks, to
// which every other shrinks its pool.
[[nodiscard]] MemoryBudget tightest_stage(
    const Sharding& sharding, const std::function<MemoryBudget(std::int64_t stage)>& rule);

inline constexpr ByteCount kMib = ByteCount{1} << 20;

// Smallest integer >= share * total, for 0 < share <= 1.
[[nodiscard]] ByteCount share_of(ByteCount total, double share);
[[nodiscard]] ByteCount bytes_from_gib(double gib);
[[nodiscard]] double gib_from_bytes(ByteCount bytes);

}  // namespace headroom
