// VERIFICATION V4: on the same sequence of operations a larger paged pool never refuses earlier.

#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <utility>
#include <vector>

#include "scheduler/kv/paged.hpp"
#include "tests/laws/scenario_runs.hpp"
#include "tests/support/production.hpp"

namespace headroom::laws::pool_law_test {
namespace {

using oracle::Scenario;

struct PoolOperation {
  enum class Kind : std::uint8_t { grow, take, release };
  Kind kind = Kind::grow;
  KvGrowth growth;        // grow; its id also with release
  BlockCount blocks = 0;  // take
  TokenCount held = 0;    // release
};

// Production's own operations on a pool that is never full.
class WrittenDown final : public KvAllocator {
 public:
  WrittenDown(std::unique_ptr<KvAllocator> inner, std::vector<PoolOperation>& operations)
      : inner_(std::move(inner)), operations_(operations) {
    pool_ = inner_->pool();
  }
  [[nodiscard]] TokenCount cached_prefix(RequestId id, const Request& request) const override {
    return inner_->cached_prefix(id, request);
  }
  [[nodiscard]] bool try_grow(const KvGrowth& growth) override {
    operations_.push_back({.growth = growth});
    operations_.back().growth.request = nullptr;  // it does not outlive the run
    const bool fits = inner_->try_grow(growth);
    pool_ = inner_->pool();
    return fits;
  }
  void take(BlockCount blocks) override {
    operations_.push_back({.kind = PoolOperation::Kind::take, .growth = {}, .blocks = blocks});
    inner_->take(blocks);
    pool_ = inner_->pool();
  }
  void release(RequestId id, const Request& request, TokenCount held, KvRelease how,
               TokenCount unnamed) override {
    operations_.push_back(
        {.kind = PoolOperation::Kind::release, .growth = {.id = id}, .held = held});
    inner_->release(id, request, held, how, unnamed);
    pool_ = inner_->pool();
  }
  void on_engine_lost() override {
    inner_->on_engine_lost();
    pool_ = inner_->pool();
  }

 private:
  std::unique_ptr<KvAllocator> inner_;
  std::vector<PoolOperation>& operations_;
};

Scenario on_paged(Scenario s) {
  s.memory = oracle::Memory::paged;
  s.prefix_caching = false;
  s.watermark = 0;
  if (s.policy == oracle::Policy::static_batch) s.policy = oracle::Policy::orca;
  return s;
}

std::vector<PoolOperation> operations_of(Scenario s) {
  s.kv_blocks = 1'000'000;
  std::vector<PoolOperation> operations;
  const Model model = [&](const Scenario& scenario) {
    ReplicaParts parts = production(scenario);
    parts.kv = std::make_unique<WrittenDown>(std::move(parts.kv), operations);
    return parts;
  };
  (void)run_scenario(s, model);
  return operations;
}

std::unique_ptr<KvAllocator> paged_pool(const Scenario& s, BlockCount blocks) {
  return std::make_unique<PagedKv>(
      PagedKvOptions{.blocks = blocks,
                     .block_tokens = static_cast<std::int32_t>(s.block_size),
                     .enable_prefix_caching = false,
                     .reserve_final = s.policy != oracle::Policy::vllm});
}

// Wrong for this law, and known to be: contiguous reservations in the smallest hole that is large
// enough. The hole at the end has another size in a larger space, so other holes are chosen.
class BestFitKv final : public KvAllocator {
 public:
  explicit BestFitKv(TokenCount tokens) : holes_{{0, tokens}} {
    pool_.total_blocks = pool_.free_blocks = tokens;
  }
  [[nodiscard]] TokenCount cached_prefix(RequestId, const Request&) const override { return 0; }
  [[nodiscard]] bool try_grow(const KvGrowth& growth) override {
    if (growth.id >= held_.size()) held_.resize(growth.id + 1);
    if (held_[growth.id].length > 0) return true;
    Range* best = nullptr;
    for (Range& hole : holes_) {
      const bool fits = hole.length >= growth.final_tokens;
      if (fits && (best == nullptr || hole.length < best->length)) best = &hole;
    }
    if (best == nullptr) return false;
    held_[growth.id] = {best->begin, growth.final_tokens};
    best->begin += growth.final_tokens;
    best->length -= growth.final_tokens;
    return true;
  }
  void take(BlockCount) override {}
  void release(RequestId id, const Request&, TokenCount, KvRelease, TokenCount) override {
    holes_.push_back(std::exchange(held_.at(id), {}));
    std::sort(holes_.begin(), holes_.end(),
              [](const Range& a, const Range& b) { return a.begin < b.begin; });
    std::vector<Range> merged;
    for (const Range& hole : holes_) {
      if (hole.length == 0) continue;
      if (!merged.empty() && merged.back().begin + merged.back().length == hole.begin) {
        merged.back().length += hole.length;
      } else {
        merged.push_back(hole);
      }
    }
    holes_ = std::move(merged);
  }
  void on_engine_lost() override {}

 private:
  struct Range {
    TokenCount begin = 0;
    TokenCount length = 0;
  };
  std::vector<Range> holes_;  // by address
  std::vector<Range> held_;   // by RequestId
};

// Number of the first operation that the pool refuses; all of them when it refuses none.
std::size_t first_refusal(const std::vector<PoolOperation>& operations, KvAllocator& pool) {
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const PoolOperation& operation = operations[i];
    switch (operation.kind) {
      case PoolOperation::Kind::grow:
        if (!pool.try_grow(operation.growth)) return i;
        break;
      case PoolOperation::Kind::take:
        if (pool.pool().free_blocks < operation.blocks) return i;
        pool.take(operation.blocks);
        break;
      case PoolOperation::Kind::release:
        pool.release(operation.growth.id, Request{}, operation.held, KvRelease::finished);
        break;
    }
  }
  return operations.size();
}

using PoolMaker = std::unique_ptr<KvAllocator> (*)(const Scenario& s, BlockCount blocks);

// Pools of 1, 2, 3 ... blocks up to the first one that refuses nothing, and 20 more.
bool larger_never_refuses_earlier(const Scenario& s, PoolMaker make) {
  const std::vector<PoolOperation> operations = operations_of(s);
  std::size_t before = 0;
  int enough = 0;
  for (BlockCount blocks = 1; enough < 20; ++blocks) {
    const std::unique_ptr<KvAllocator> pool = make(s, blocks);
    const std::size_t refused = first_refusal(operations, *pool);
    if (refused < before) return false;
    before = refused;
    if (refused == operations.size()) ++enough;
  }
  return true;
}

TEST_CASE("law: a larger paged pool never refuses earlier") {
  REQUIRE(holds_for_all(
      [](const Scenario& s, std::uint64_t) {
        return verdict(larger_never_refuses_earlier(on_paged(s), paged_pool));
      },
      300));
}

TEST_CASE("the law of larger pools refuses best fit by address") {
  const PoolMaker best_fit = [](const Scenario&, BlockCount tokens) {
    return std::unique_ptr<KvAllocator>(std::make_unique<BestFitKv>(tokens));
  };
  REQUIRE_FALSE(holds_for_all([&](const Scenario& s, std::uint64_t) {
    return verdict(larger_never_refuses_earlier(on_paged(s), best_fit));
  }));
}

}  // namespace
}  // namespace headroom::laws::pool_law_test
