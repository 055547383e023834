#include "scheduler/batching/rank_rules.hpp"

#include <catch2/catch.hpp>
#include <vector>

#include "sim/kernel/random.hpp"

namespace headroom::rank_rules_test {
namespace {

using Ranks = PromptAgreement::Ranks;

constexpr Ranks kNoPrompts{
    .all_have_prompts = false, .all_have_decodes = true, .all_have_seats = true};
constexpr Ranks kPrompts{
    .all_have_prompts = true, .all_have_decodes = true, .all_have_seats = true};
constexpr Ranks kIdleRank{
    .all_have_prompts = false, .all_have_decodes = false, .all_have_seats = true};

// The engine's counters, plan by plan.
struct NaiveAgreement {
  RankRules rules;
  std::int64_t waiting = 0;
  std::int64_t batching = 0;

  bool holds_back(const Ranks& ranks) {
    if (ranks.all_have_seats && ranks.all_have_prompts) {
      waiting = 0;
      if (!ranks.all_have_decodes) return false;
      if (batching < rules.batching_plans) {
        ++batching;
        return true;
      }
      batching = 0;
      return false;
    }
    ++waiting;
    if (waiting < rules.timeout_plans && ranks.all_have_decodes) return true;
    waiting = 0;
    return false;
  }
};

}  // namespace

TEST_CASE("prompts wait until each rank has one, for so many plans at most", "[ranks]") {
  PromptAgreement agreement({.prompts_together = true, .timeout_plans = 3});
  CHECK(agreement.holds_back(0, kNoPrompts));
  CHECK(agreement.holds_back(1, kNoPrompts));
  CHECK_FALSE(agreement.holds_back(2, kNoPrompts));  // the third
  CHECK(agreement.holds_back(3, kNoPrompts));
  CHECK_FALSE(agreement.holds_back(4, kPrompts));
  CHECK(agreement.holds_back(5, kNoPrompts));  // counted anew
  CHECK(agreement.holds_back(6, kNoPrompts));
  CHECK_FALSE(agreement.holds_back(7, kNoPrompts));
  CHECK_FALSE(agreement.holds_back(8, kIdleRank));  // nothing to do meanwhile
}

TEST_CASE("prompts of all ranks wait for more of them", "[ranks]") {
  PromptAgreement agreement({.prompts_together = true, .timeout_plans = 50, .batching_plans = 2});
  CHECK(agreement.holds_back(0, kPrompts));
  CHECK(agreement.holds_back(1, kPrompts));
  CHECK_FALSE(agreement.holds_back(2, kPrompts));
  CHECK(agreement.holds_back(3, kPrompts));
}

TEST_CASE("an agreement that is asked once for a run of equal plans counts them all", "[ranks]") {
  RandomStream random(7, "test/ranks");
  for (int round = 0; round < 300; ++round) {
    const RankRules rules{.prompts_together = true,
                          .timeout_plans = random.uniform_int(1, 9),
                          .batching_plans = random.uniform_int(0, 3)};
    PromptAgreement agreement(rules);
    NaiveAgreement naive{rules};
    StepIndex plans = 0;
    while (plans < 200) {
      const bool has_prompts = random.uniform_int(0, 2) == 0;
      const Ranks ranks{.all_have_prompts = has_prompts,
                        .all_have_decodes = random.uniform_int(0, 3) > 0,
                        .all_have_seats = random.uniform_int(0, 3) > 0};
      // Plans repeat only where no prompt waits, so that whether it is held back does not matter.
      const std::int64_t repeated = has_prompts ? 1 : random.uniform_int(1, 30);
      const bool expected = naive.holds_back(ranks);
      for (std::int64_t i = 1; i < repeated; ++i) (void)naive.holds_back(ranks);
      REQUIRE(agreement.holds_back(plans, ranks) == expected);
      plans += repeated;
    }
  }
}

}  // namespace headroom::rank_rules_test
