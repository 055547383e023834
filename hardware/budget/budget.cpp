#include "hardware/budget/budget.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/kernel/check.hpp"

namespace headroom {

std::string_view name_of(StartupStage stage) {
  static constexpr std::array<std::string_view, 10> kNames{
      "platform", "host_memory",        "free_memory_check", "weights",       "profiling",
      "blocks",   "max_length_request", "kv_allocation",     "graph_capture", "warm_up"};
  return kNames[static_cast<std::size_t>(stage)];
}

std::string_view name_of(StartupKind kind) {
  static constexpr std::array<std::string_view, 4> kNames{"startup", "host_oom", "cgroup_kill",
                                                          "host_freeze"};
  return kNames[static_cast<std::size_t>(kind)];
}

MachineMemory idle_machine(const DeviceSpec& device) {
  MachineMemory machine;
  machine.total_bytes = device.memory_reported_bytes;
  return machine;
}

ByteCount BudgetTerms::sum() const {
  ByteCount total = 0;
  for (const ByteCount b : bytes) total += b;
  return total;
}

BudgetBuilder::BudgetBuilder(ByteCount capacity_bytes) : ledger_(capacity_bytes) {}

bool BudgetBuilder::charge(MemoryPurpose purpose, ByteCount bytes, StartupStage stage) {
  if (failed()) return false;
  if (ledger_.charge(purpose, bytes) == LedgerRefusal::none) {
    if (bytes != 0) charges_.push_back({stage, purpose, bytes});
    return true;
  }
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
  HEADROOM_CHECK(refusal == LedgerRefusal::none, "the rest of the device does not fit as margin");
  budget.capacity_bytes = ledger_.capacity_bytes();
  for (std::size_t i = 0; i < kMemoryPurposeCount; ++i) {
    budget.terms.bytes[i] = ledger_.charged(static_cast<MemoryPurpose>(i));
  }
  HEADROOM_CHECK(
      budget.terms.sum() == budget.capacity_bytes,
      fmt::format("{} bytes by purpose, capacity {}", budget.terms.sum(), budget.capacity_bytes));
  budget.charges = std::move(charges_);
  budget.failure = std::move(failure_);
}

void charge_machine(BudgetBuilder& builder, const MachineMemory& machine) {
  constexpr StartupStage kStage = StartupStage::host_memory;
  builder.charge(MemoryPurpose::others, machine.others_bytes, kStage);
  builder.charge(MemoryPurpose::page_cache, machine.cache_before_bytes + machine.cache_growth_bytes,
                 kStage);
  builder.charge(MemoryPurpose::engine_host, machine.engine_host_bytes, kStage);
}

std::int64_t largest_length(const KvLayout& layout, BlockCount blocks, std::int64_t step_tokens,
                            std::int64_t upper) {
  std::int64_t low = 0;           // fits
  std::int64_t high = upper + 1;  // does not
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (layout.sequence_blocks(middle, step_tokens) <= blocks ? low : high) = middle;
  }
  return low;
}

void place_pool(BudgetBuilder& builder, const PoolRule& rule, MemoryBudget& budget) {
  budget.step_tokens = rule.step_tokens;
  budget.max_model_len = rule.max_model_len;
  if (builder.failed()) return;
  const KvLayout& layout = budget.layout;
  const ByteCount available = std::max<ByteCount>(rule.available_bytes, 0);
  budget.kv_available_bytes = available;
  if (available < layout.block_bytes * (rule.null_blocks + 1)) {
    builder.fail({StartupStage::blocks, "no available memory for the cache blocks",
                  layout.block_bytes * (rule.null_blocks + 1), available, 0});
    return;
  }
  const BlockCount blocks = available / layout.block_bytes;
  if (rule.max_model_len < 0) {
    budget.max_model_len = largest_length(layout, blocks, rule.step_tokens, rule.longest);
  }
  const BlockCount request = layout.sequence_blocks(budget.max_model_len, rule.step_tokens);
  if (request > blocks || budget.max_model_len == 0) {
    const std::int64_t feasible = largest_length(layout, blocks, rule.step_tokens,
                                                 std::max<std::int64_t>(budget.max_model_len, 1));
    builder.fail({StartupStage::max_length_request,
                  fmt::format("one request of max_model_len {} needs {:.2f} GiB of KV, but {:.2f} "
                              "GiB are available; the largest feasible max_model_len is {}",
                              budget.max_model_len, gib_from_bytes(request * layout.block_bytes),
                              gib_from_bytes(available), feasible),
                  request * layout.block_bytes, available, feasible});
    return;
  }
  if (!builder.charge(MemoryPurpose::kv_pool, blocks * layout.block_bytes,
                      StartupStage::kv_allocation)) {
    return;
  }
  budget.kv_pool_bytes = blocks * layout.block_bytes;
  budget.total_blocks = blocks;
  budget.usable_blocks = blocks - rule.null_blocks;
  budget.kv_tokens = blocks * layout.block_tokens;
  budget.max_concurrency = static_cast<double>(blocks) / static_cast<double>(request);
}

bool keeps_no_kv(const MemoryBudget& budget, const ModelSpec& model) {
  return is_encoder(model) && budget.layout.bytes_per_token <= model.layers();
}

std::int64_t concurrent_sequences(const MemoryBudget& budget, TokenCount tokens) {
  const KvLayout& layout = budget.layout;
  if (budget.failure || layout.block_bytes == 0) return 0;
  BlockCount each = layout.decode_blocks(tokens);
  if (layout.uniform() && layout.state_bytes_per_sequence > 0) {
    each = (tokens * layout.bytes_per_token + layout.state_bytes_per_sequence + layout.block_bytes -
            1) /
           layout.block_bytes;
  }
  return each > 0 ? budget.usable_blocks / each : 0;
}

MemoryBudget tightest_stage(const Sharding& sharding,
                            const std::function<MemoryBudget(std::int64_t stage)>& rule) {
  MemoryBudget tightest = rule(0);
  for (std::int64_t stage = 1; stage < sharding.pipeline && !tightest.failure; ++stage) {
    MemoryBudget budget = rule(stage);
    if (budget.failure || budget.total_blocks < tightest.total_blocks) tightest = std::move(budget);
  }
  return tightest;
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
