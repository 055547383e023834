#include "sim/engines/papers/orca_budget.hpp"

#include <array>
#include <catch2/catch.hpp>

#include "sim/kernel/errors.hpp"
#include "tests/unit/hardware/budget_models.hpp"

namespace headroom::orca_paper_budget_test {
namespace {

using namespace budget_test;

ModelSpec opt(std::string id, std::int64_t layers, std::int64_t hidden, std::int64_t heads) {
  ModelSpec m = dense_model(std::move(id),
                            {layers, hidden, heads, heads, hidden / heads, 4 * hidden, 50272, 2048},
                            Dtype::fp16);
  m.kinds.front().mlp->gated = false;
  m.tie_embeddings = true;
  return m;
}

struct Table1 {
  const char* id;
  std::int64_t layers, hidden, heads, devices;
  double device_gib;
  std::int64_t kv_gib;
  double slots_k;
};
// PagedAttention paper, Table 1: OPT-13B, OPT-66B and OPT-175B (ENGINES.md 1.8).
constexpr std::array<Table1, 3> kTable1{{{"opt-13b", 40, 5120, 40, 1, 40, 12, 15.7},
                                         {"opt-66b", 64, 9216, 72, 4, 40, 21, 9.7},
                                         {"opt-175b", 96, 12288, 96, 8, 80, 264, 60.1}}};

BudgetInputs inputs_of_row(const Table1& row) {
  BudgetInputs inputs = inputs_of(opt(row.id, row.layers, row.hidden, row.heads), row.device_gib);
  inputs.kv = Dtype::fp16;
  inputs.sharding.tensor = row.devices;
  return inputs;
}

}  // namespace

TEST_CASE("the slots of Table 1 follow from its KV memory and the bytes of a token") {
  for (const Table1& row : kTable1) {
    INFO(row.id);
    const ByteCount token = 2 * row.layers * row.hidden * 2;
    if (row.hidden == 5120) {
      CHECK(token == 800 * 1024);
      CHECK(2048 * token == 1'677'721'600);  // "up to 1.6 GB" for a longest request
    }
    // Memory is printed in whole GB (2^30), slots in hundreds: the intervals must meet.
    const ByteCount half = bytes_from_gib(0.5);
    const ByteCount kv = row.kv_gib << 30;
    CHECK(static_cast<double>(orca_slots(kv - half, token)) <= (row.slots_k + 0.05) * 1000);
    CHECK(static_cast<double>(orca_slots(kv + half, token)) >= (row.slots_k - 0.05) * 1000);
  }
  CHECK(orca_slots(ByteCount{12} << 30, 819'200) == 15'728);
  CHECK(orca_slots(ByteCount{264} << 30, 4'718'592) == 60'074);
}

TEST_CASE("KV memory given for all devices becomes slots of every rank") {
  for (const Table1& row : kTable1) {
    INFO(row.id);
    const MemoryBudget budget =
        orca_paper_budget(inputs_of_row(row), {.kv_bytes = row.kv_gib << 30});
    REQUIRE_FALSE(budget.failure);
    const ByteCount token = 2 * row.layers * row.hidden * 2;
    CHECK(budget.total_blocks == (row.kv_gib << 30) / token);
    CHECK(budget.layout.block_tokens == 1);
    CHECK(budget.terms.sum() == budget.capacity_bytes);
  }
}

TEST_CASE("without a given size the rule finds the KV memory of Table 1 within 6 percent") {
  // 0.9 x total - weights: 36 - 23.9, 144 - 123 and 576 - 325 GiB; the table has 346 GB of weights
  // for 175B, where 175e9 parameters are 350.
  for (const Table1& row : kTable1) {
    const MemoryBudget budget = orca_paper_budget(inputs_of_row(row), {});
    REQUIRE_FALSE(budget.failure);
    const double gib = gib_from_bytes(budget.kv_available_bytes) * static_cast<double>(row.devices);
    CAPTURE(row.id, gib);
    CHECK(gib == Approx(static_cast<double>(row.kv_gib)).epsilon(0.06));
  }
}

TEST_CASE("an emulation reserves the maximum, a power of two or the truth") {
  using enum OrcaReservation;
  CHECK(orca_reserved_slots(max, 100, 300, 2048) == 2048);
  CHECK(orca_reserved_slots(pow2, 100, 300, 2048) == 612);  // 100 + 512
  CHECK(orca_reserved_slots(pow2, 100, 256, 2048) == 356);  // already a power of two
  CHECK(orca_reserved_slots(oracle, 100, 300, 2048) == 400);
  CHECK(orca_reserved_slots(pow2, 1500, 400, 2048) == 2012);  // 1500 + 512
  CHECK(orca_reserved_slots(pow2, 1800, 200, 2048) == 2048);  // never more than the longest
  // At most twice the truth for the output.
  for (TokenCount output = 1; output <= 1000; ++output) {
    CHECK(orca_reserved_slots(pow2, 1, output, 4096) - 1 < 2 * output);
  }
}

TEST_CASE("Orca's own parameter replaces the rule") {
  const MemoryBudget budget = orca_paper_budget(inputs_of_row(kTable1[0]), {.n_slots = 8192});
  CHECK(budget.total_blocks == 8192);
  CHECK(budget.max_concurrency == 4.0);
}

TEST_CASE("Orca fails without memory for weights or for one longest request") {
  BudgetInputs one = inputs_of_row(kTable1[1]);
  one.sharding.tensor = 1;
  const MemoryBudget weights = orca_paper_budget(one, {});
  REQUIRE(weights.failure);
  CHECK(weights.failure->stage == StartupStage::weights);
  const MemoryBudget length = orca_paper_budget(inputs_of_row(kTable1[0]), {.n_slots = 2000});
  REQUIRE(length.failure);
  CHECK(length.failure->stage == StartupStage::max_length_request);
  CHECK(length.failure->largest_feasible_max_model_len == 2000);
  const MemoryBudget pool =
      orca_paper_budget(inputs_of_row(kTable1[0]), {.kv_bytes = bytes_from_gib(20)});
  REQUIRE(pool.failure);
  CHECK(pool.failure->stage == StartupStage::kv_allocation);
  CHECK(pool.terms.sum() == pool.capacity_bytes);
}

TEST_CASE("defaults, names, warnings and impossible options of the Orca emulations") {
  CHECK(orca_paper_defaults(llama31_8b()).max_model_len == 2048);
  CHECK(parse_orca_reservation("pow2") == OrcaReservation::pow2);
  CHECK(name_of(OrcaReservation::oracle) == "oracle");
  CHECK_THROWS_AS(parse_orca_reservation("exact"), ConfigError);
  const BudgetInputs inputs = inputs_of_row(kTable1[0]);
  CHECK(orca_paper_budget_warnings(inputs, {}).size() == 1);
  CHECK(orca_paper_budget_warnings(inputs, {.reservation = OrcaReservation::oracle}).size() == 2);
  CHECK(orca_paper_budget_warnings(inputs, {.n_slots = 1}).empty());
  CHECK_THROWS_AS(orca_paper_budget(inputs, {.other_share = 1.0}), ConfigError);
}

}  // namespace headroom::orca_paper_budget_test
