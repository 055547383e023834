#pragma once
// What a batch policy is and can do, in one value. Each policy's source ends with its own; the
// table of all is in policies.cpp. A new policy is one file pair and one row there.

#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "scheduler/batching/rank_rules.hpp"
#include "sim/options/origins.hpp"
#include "sim/options/rows.hpp"
#include "sim/serving/batch_scheduler.hpp"
#include "sim/serving/options.hpp"

namespace headroom {

struct BatchTraits {
  // A step takes at most max_num_batched_tokens: prompts are cut or held back for it.
  bool has_token_budget = false;
  bool seats_within_budget = false;  // needs max_num_batched_tokens >= max_num_seqs
  // All tokens that a request may ever need are taken when it is admitted, from any allocator.
  bool sets_aside = false;
  bool whole_batches = false;    // of `generate`: rows stay until the last one ends, clients wait
  bool plans_ahead = false;      // has rules for tokens in flight (asynchronous scheduling)
  bool has_stages = false;       // runs over the stages of a pipeline
  bool stages_in_turn = false;   // of these: a batch leaves the last one before the next begins
  bool seats_per_stage = false;  // max_num_seqs counts those of one micro-batch
  bool has_data_ranks = false;
  bool drafts = false;               // verifies drafts of speculative decoding
  bool drafts_need_room = false;     // the longest request leaves room for them
  bool drafter_drops_match = false;  // a drafter with KV of its own computes the last block again
  // A draft model computes the token that the model adds: one of the budget for each seat.
  bool draft_model_takes_budget = false;
  bool serves_lora = false;          // keeps a step within the adapter slots
  bool hands_over = false;           // takes requests whose KV has come from another replica
  bool swaps = false;                // may copy a preempted request's KV to the host
  bool writes_tier_through = false;  // a second tier gets blocks when they are full, and keeps them
  bool follows_groups = false;       // allocates the blocks of different layer groups separately
  bool forks_samples = false;  // n answers to a prompt share its blocks without a prefix cache
  bool keeps_prompt_logprobs = false;  // for requests that want them
  bool merges_copies = false;          // only one block of each content is kept
  // The defaults that belong to the policy whatever the engine; empty: it does not read the option.
  std::optional<bool> enable_chunked_prefill = {};
  std::optional<bool> enable_prefix_caching = {};
  std::optional<double> watermark = {};
};

struct BatchPolicy {
  std::string_view name = {};  // as scenarios spell it: engine.scheduler
  std::string_view doc = {};
  BatchTraits traits = {};
  // Names of the allocators that it can run on, the usual one first.
  std::vector<std::string_view> allocators = {};
  // Options of /engine that others read, too, and its own ones.
  std::vector<std::string_view> takes = {};
  std::vector<OwnRow> (*options)() = nullptr;
  // Whether requests look for cached prefixes. `asked`: engine.enable_prefix_caching.
  bool (*finds_prefixes)(const OptionBag& own, bool asked) = nullptr;
  // How much of a block may be shared. Null: whole blocks only.
  BlockSharing (*block_sharing)(const OptionBag& own) = nullptr;
  // Whether, with tokens in flight, a row takes part in one step more than its last token needs
  // also where max_tokens tells how many that are. Null: no.
  bool (*runs_past_max_tokens)(const OptionBag& own) = nullptr;
  // Host memory per rank for requests that are preempted, in GiB; empty: they are computed again.
  // Null: never.
  std::optional<double> (*swap_space_gib)(const OptionBag& own) = nullptr;
  // Output that is set aside at admission. Null: what the client declared.
  OutputReservation (*reservation)(const OptionBag& own) = nullptr;
  // Whether an admission counts max_tokens although blocks are taken as a request grows. Null: no.
  bool (*promises_completion)(const OptionBag& own) = nullptr;
  // Longest chunk of a prompt that its own options allow; 0: no limit. Null: no limit.
  std::int64_t (*longest_chunk)(const OptionBag& own) = nullptr;
  // Prompt tokens of a step that its own options allow; 0: no limit. Null: no limit.
  std::int64_t (*prompt_tokens)(const OptionBag& own) = nullptr;
  // Whether requests are served by their priority. Null: no.
  bool (*by_priority)(const OptionBag& own) = nullptr;
  // Whether clients see tokens as they are made. Null: yes.
  bool (*streams)(const OptionBag& own) = nullptr;
  // How data ranks work together. Null: as in RankRules.
  RankRules (*rank_rules)(const OptionBag& own) = nullptr;
  // What cannot stand together; may put options in order. Null: nothing.
  void (*settle)(const Origins& given, OptionBag& own, std::int64_t max_num_seqs) = nullptr;
  // The policy keeps `kv`, the allocator of the same replica, and copies the rest.
  std::unique_ptr<BatchScheduler> (*make)(const SchedulerOptions& options,
                                          const KvAllocator& kv) = nullptr;
};

}  // namespace headroom
