#include <algorithm>

#include "scheduler/batching/sglang.hpp"
#include "sim/kernel/named_value.hpp"
#include "sim/serving/kv_layout.hpp"

namespace headroom {

namespace {

// Data ranks (managers/data_parallel_controller.py, LoadBalanceMethod).
constexpr NamedValue<RankChoice> kRankChoices[] = {{"round_robin", RankChoice::in_turn},
                                                   {"total_requests", RankChoice::fewest_requests},
                                                   {"total_tokens", RankChoice::fewest_tokens}};

std::vector<OwnRow> sglang_rows() {
  using S = SglangScheduling;
  static const std::string kOrderNames = choices_in<SglangOrder>(kSglangOrders);
  static const std::string kRankNames = choices_in<RankChoice>(kRankChoices);
  return own_rows<S>({
      {.name = "scheduler_recv_interval",
       .field = &S::scheduler_recv_interval,
       .unit = "steps",
       .bounds = {.low = 1, .high = 1e6},
       .doc = "decode steps between two looks at new requests; 1 = before every step"},
      {.name = "schedule_policy",
       .field = &S::schedule_policy,
       .choices = kOrderNames,
       .doc = "order of the queue"},
      {.name = "schedule_conservativeness",
       .field = &S::schedule_conservativeness,
       .bounds = {.low = 0, .high = 100, .low_open = true},
       .doc = "factor on the output that an admission expects from running requests"},
      {.name = "enable_mixed_chunk",
       .field = &S::enable_mixed_chunk,
       .doc = "run decodes together with prefill chunks instead of pausing them"},
      {.name = "load_balance_method",
       .field = &S::load_balance_method,
       .choices = kRankNames,
       .doc = "data ranks: which one gets a request"},
  });
}

// Chunks are whole pages of the pool.
std::unique_ptr<BatchScheduler> make_sglang(SchedulerOptions options, const KvAllocator& kv) {
  const std::int32_t page = kv.pool().block_tokens;
  std::int64_t& chunk = options.own.edit<SglangScheduling>().chunked_prefill_size;
  chunk = blocks_needed(std::max<std::int64_t>(0, chunk), page) * page;
  return std::make_unique<SglangScheduler>(options);
}

}  // namespace

const BatchPolicy& sglang_policy() {
  static const BatchPolicy kPolicy{
      .name = "sglang",
      .doc = "SGLang: separate prefill batches, admission by estimated output, retraction",
      .traits = {.plans_ahead = true,
                 .has_data_ranks = true,
                 .drafts = true,
                 .keeps_prompt_logprobs = true,
                 .merges_copies = true},
      .allocators = {"paged"},
      .takes = {"speculative_config/method"},
      .options = sglang_rows,
      .finds_prefixes = [](const OptionBag& own,
                           bool) { return !own.get<SglangScheduling>().disable_radix_cache; },
      .runs_past_max_tokens =
          [](const OptionBag& own) { return !own.get<SglangScheduling>().rules.skips_last_step; },
      .prompt_tokens =
          [](const OptionBag& own) {
            return std::max<std::int64_t>(0, own.get<SglangScheduling>().chunked_prefill_size);
          },
      .rank_rules =
          [](const OptionBag& own) {
            const std::string& method = own.get<SglangScheduling>().load_balance_method;
            return RankRules{.choice = value_named<RankChoice>(method, kRankChoices),
                             .prompts_alone = !own.get<SglangScheduling>().enable_mixed_chunk};
          },
      .make = [](const SchedulerOptions& options,
                 const KvAllocator& kv) { return make_sglang(options, kv); }};
  return kPolicy;
}

}  // namespace headroom
