#include "tests/oracle/ranked_production.hpp"

#include <utility>

#include "scheduler/kv/paged.hpp"
#include "tests/support/randomly_cut.hpp"

namespace headroom::oracle {

test::PolicySetup ranked_setup(const RankedProduction& ranked, Way way) {
  std::vector<std::unique_ptr<KvAllocator>> pools;
  std::vector<std::unique_ptr<BatchScheduler>> ranks;
  for (std::size_t i = 0; i < ranked.ranks; ++i) {
    pools.push_back(std::make_unique<PagedKv>(
        PagedKvOptions{.blocks = ranked.kv_blocks,
                       .block_tokens = static_cast<std::int32_t>(ranked.block_tokens),
                       .enable_prefix_caching = false}));
    ranks.push_back(ranked.make(*pools.back()));
  }
  auto kv = std::make_unique<RankPools>(std::move(pools));
  test::PolicySetup setup;
  setup.scheduler = std::make_unique<DataRanks>(std::move(ranks), *kv, ranked.options);
  if (way == Way::random_cuts) {
    setup.scheduler = std::make_unique<test::RandomlyCut>(std::move(setup.scheduler), 3);
  }
  setup.kv = std::move(kv);
  setup.limits.max_request_tokens = ranked.kv_blocks * ranked.block_tokens;
  setup.options.single_step = way == Way::single_steps;
  return setup;
}

std::vector<RequestResult> results_of(test::PolicySetup setup,
                                      const std::vector<Arrival>& arrivals) {
  std::vector<RequestResult> results;
  for (const RequestRecord& r : test::run_policy(std::move(setup), arrivals).requests) {
    results.push_back({.outcome = r.outcome,
                       .queued_ns = r.queued_ns,
                       .first_scheduled_ns = r.first_scheduled_ns,
                       .first_token_ns = r.first_token_ns,
                       .finish_ns = r.finish_ns,
                       .output_tokens = r.output_tokens,
                       .preemptions = r.preemptions});
  }
  return results;
}

Arrival arrival_at(TimeNs time_ns, std::int32_t prompt, std::int32_t output) {
  Arrival arrival;
  arrival.time_ns = time_ns;
  arrival.prompt_tokens = prompt;
  arrival.output_tokens = arrival.max_tokens = output;
  return arrival;
}

}  // namespace headroom::oracle
