#pragma once
// What a start-up budget returns, whatever the engine's rule: bytes by purpose per rank, the KV
// pool in blocks, and where start-up fails if it does.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sim/serving/kv_layout.hpp"
#include "sim/serving/memory_ledger.hpp"
#include "sim/serving/types.hpp"

namespace headroom {

// Where start-up fails, in the order in which an engine gets there.
enum class StartupStage : std::uint8_t {
  free_memory_check,   // less memory free than the engine is told to use
  weights,             // loading the weights
  profiling,           // the forward pass that measures activations
  blocks,              // nothing left for the KV pool
  max_length_request,  // the pool cannot hold one request of max_model_len
  kv_allocation,       // a pool size given by the user does not fit
  graph_capture        // no memory left to capture graphs
};
[[nodiscard]] std::string_view name_of(StartupStage stage);

struct StartupFailure {
  StartupStage stage = StartupStage::blocks;
  std::string message;
  ByteCount wanted_bytes = 0;
  ByteCount free_bytes = 0;
  std::int64_t largest_feasible_max_model_len = 0;  // of max_length_request, else 0
};

// Bytes by purpose; they add up to the capacity.
struct BudgetTerms {
  std::array<ByteCount, kMemoryPurposeCount> bytes{};

  [[nodiscard]] ByteCount operator[](MemoryPurpose p) const {
    return bytes[static_cast<std::size_t>(p)];
  }
  [[nodiscard]] ByteCount sum() const;
};

struct MemoryBudget {
  ByteCount capacity_bytes = 0;      // per rank
  BudgetTerms terms;                 // sums to capacity_bytes
  ByteCount kv_available_bytes = 0;  // what the rule leaves for KV, before rounding to blocks
  ByteCount kv_pool_bytes = 0;       // total_blocks * bytes per block
  BlockCount total_blocks = 0;       // including a null block, where the engine has one
  BlockCount usable_blocks = 0;
  TokenCount kv_tokens = 0;    // as the engine reports it: total_blocks * block size
  double max_concurrency = 0;  // requests of max_model_len that the pool holds
  KvLayout layout;
  std::optional<StartupFailure> failure;
};

// Charges in the order of start-up and stops at the first refusal. What is left at the end is
// margin, so that the terms always add up to the capacity.
class BudgetBuilder {
 public:
  explicit BudgetBuilder(ByteCount capacity_bytes);

  // False when refused: then the failure is recorded. Nothing is charged after a failure.
  bool charge(MemoryPurpose purpose, ByteCount bytes, StartupStage stage);
  void fail(StartupFailure failure);

  [[nodiscard]] bool failed() const { return failure_.has_value(); }
  [[nodiscard]] ByteCount free_bytes() const { return ledger_.free_bytes(); }
  // Writes capacity, terms and failure.
  void finish(MemoryBudget& budget);

 private:
  DeviceLedger ledger_;
  std::optional<StartupFailure> failure_;
};

// The pool of an engine that was left `available` bytes for KV: whole blocks, `null_blocks` of
// which are never handed out. Fails in the stage `blocks` without a byte, in `max_length_request`
// when one request of `max_model_len` needs more, and else charges the pool.
void place_pool(BudgetBuilder& builder, ByteCount available, std::int64_t max_model_len,
                BlockCount null_blocks, MemoryBudget& budget);

// Smallest integer >= share * total, for 0 < share <= 1.
[[nodiscard]] ByteCount share_of(ByteCount total, double share);
[[nodiscard]] ByteCount bytes_from_gib(double gib);
[[nodiscard]] double gib_from_bytes(ByteCount bytes);

}  // namespace headroom
