#include "hardware/budget/budget.hpp"

#include <fmt/format.h>

#include "sim/kernel/check.hpp"

namespace headroom {

std::string_view name_of(StartupStage stage) {
  static constexpr std::array<std::string_view, 7> kNames{
      "free_memory_check",  "weights",       "profiling",    "blocks",
      "max_length_request", "kv_allocation", "graph_capture"};
  return kNames[static_cast<std::size_t>(stage)];
}

ByteCount BudgetTerms::sum() const {
  ByteCount total = 0;
  for (const ByteCount b : bytes) total += b;
  return total;
}

BudgetBuilder::BudgetBuilder(ByteCount capacity_bytes) : ledger_(capacity_bytes) {}

bool BudgetBuilder::charge(MemoryPurpose purpose, ByteCount bytes, StartupStage stage) {
  if (failed()) return false;
  if (ledger_.charge(purpose, bytes) == LedgerRefusal::none) return true;
  fail({stage,
        fmt::format("{}: {:.2f} GiB of {} wanted, {:.2f} GiB free", name_of(stage),
                    gib_from_bytes(bytes), name_of(purpose), gib_from_bytes(ledger_.free_bytes())),
        bytes, ledger_.free_bytes(), 0});
  return false;
}

void BudgetBuilder::fail(StartupFailure failure) {
  if (!failed()) failure_ = std::move(failure);
}

void BudgetBuilder::finish(MemoryBudget& budget) {
  const LedgerRefusal refusal = ledger_.charge(MemoryPurpose::margin, ledger_.free_bytes());
  HEADROOM_CHECK(refusal == LedgerRefusal::none, "the rest of the device is refused as margin");
  budget.capacity_bytes = ledger_.capacity_bytes();
  for (std::size_t i = 0; i < kMemoryPurposeCount; ++i) {
    budget.terms.bytes[i] = ledger_.charged(static_cast<MemoryPurpose>(i));
  }
  HEADROOM_CHECK(
      budget.terms.sum() == budget.capacity_bytes,
      fmt::format("{} bytes by purpose, capacity {}", budget.terms.sum(), budget.capacity_bytes));
  budget.failure = std::move(failure_);
}

void place_pool(BudgetBuilder& builder, ByteCount available, std::int64_t max_model_len,
                BlockCount null_blocks, MemoryBudget& budget) {
  if (builder.failed()) return;
  const KvLayout& layout = budget.layout;
  const ByteCount block_bytes = layout.bytes_per_block();
  budget.kv_available_bytes = available > 0 ? available : 0;
  if (available < block_bytes * (null_blocks + 1)) {
    builder.fail({StartupStage::blocks, "no available memory for the cache blocks",
                  block_bytes * (null_blocks + 1), budget.kv_available_bytes, 0});
    return;
  }
  const BlockCount blocks = available / block_bytes;
  const BlockCount request = blocks_needed(max_model_len, layout.block_tokens);
  if (request > blocks) {
    const std::int64_t feasible = blocks * layout.block_tokens;
    builder.fail(
        {StartupStage::max_length_request,
         fmt::format("one request of max_model_len {} needs {:.2f} GiB of KV, {:.2f} GiB are "
                     "available; the largest feasible max_model_len is {}",
                     max_model_len, gib_from_bytes(request * block_bytes),
                     gib_from_bytes(available), feasible),
         request * block_bytes, available, feasible});
    return;
  }
  if (!builder.charge(MemoryPurpose::kv_pool, blocks * block_bytes, StartupStage::kv_allocation)) {
    return;
  }
  budget.kv_pool_bytes = blocks * block_bytes;
  budget.total_blocks = blocks;
  budget.usable_blocks = blocks - null_blocks;
  budget.kv_tokens = blocks * layout.block_tokens;
  budget.max_concurrency = static_cast<double>(blocks) / static_cast<double>(request);
}

ByteCount share_of(ByteCount total, double share) {
  const double exact = static_cast<double>(total) * share;
  const auto whole = static_cast<ByteCount>(exact);
  return static_cast<double>(whole) < exact ? whole + 1 : whole;
}

namespace {
constexpr double kGib = 1073741824.0;
}  // namespace

ByteCount bytes_from_gib(double gib) { return static_cast<ByteCount>(gib * kGib + 0.5); }
double gib_from_bytes(ByteCount bytes) { return static_cast<double>(bytes) / kGib; }

}  // namespace headroom
