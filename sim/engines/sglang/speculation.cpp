#include "sim/engines/sglang/speculation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "scheduler/batching/sglang.hpp"
#include "sim/engines/sglang/engine.hpp"
#include "sim/kernel/lower_case.hpp"

namespace headroom {
namespace {

constexpr SglangRelease kTokenPairs{0, 5, 3};    // radix keys of two tokens; ranks pause together
constexpr SglangRelease kFewerSteps{0, 5, 9};    // 3 steps and no tree for all but Llama, Grok
constexpr SglangRelease kSecondWorker{0, 5, 4};  // SGLANG_ENABLE_SPEC_V2
constexpr SglangRelease kSecondByDefault{0, 5, 11};
constexpr SglangRelease kSecondAlways{0, 5, 13};
constexpr SglangRelease kOverlapsAlways{0, 5, 14};  // but for --disable-overlap-schedule
constexpr SglangRelease kShortestOutput{0, 5, 17};  // is retracted first, as without drafts
constexpr SglangRelease kMixesChunks{0, 5, 19};

const std::string kDraftSteps = "/engine/speculative_config/num_speculative_tokens";
const std::string kDraftTopk = "/engine/speculative_eagle_topk";
const std::string kTokensOfRound = "/engine/speculative_num_draft_tokens";

bool names_one_of(const ModelSpec& model, std::initializer_list<std::string_view> parts) {
  const std::string name = lower_case(model.architecture + " " + model.id);
  return std::ranges::any_of(
      parts, [&](std::string_view part) { return name.find(part) != std::string::npos; });
}

// LlamaForCausalLM and Grok, not Llama 4.
bool drafts_trees(const ModelSpec& model) {
  if (names_one_of(model, {"grok"})) return true;
  if (!model.architecture.empty()) return model.architecture == "LlamaForCausalLM";
  return names_one_of(model, {"llama-2", "llama-3", "deepseek-r1-distill-llama"});
}

bool is_eagle(std::string_view method) {
  return method == "eagle" || method == "eagle3" || method == "mtp";
}
bool drafts_one_by_one(std::string_view method) {
  return is_eagle(method) || method == "draft_model";
}

// The worker whose rounds are planned before the one ahead of them has ended, and whose slots are
// kept (speculative/eagle_worker_v2.py).
bool runs_second_worker(SglangRelease release, const SglangOptions& own, std::string_view method,
                        std::int64_t topk) {
  if (release >= kSecondAlways) return true;
  if (release < kSecondWorker || topk > 1 || !drafts_one_by_one(method)) return false;
  const bool by_default = release >= kSecondByDefault && !own.disable_overlap_schedule;
  return own.enable_spec_v2.value_or(by_default);
}

bool overlaps_rounds(SglangRelease release, const SglangOptions& own, std::string_view method,
                     std::int64_t topk) {
  if (own.disable_overlap_schedule || method == "ngram") return false;  // which waits for the host
  if (release >= kOverlapsAlways) return true;
  if (method == "dflash" || !own.enable_spec_v2.value_or(true)) return false;
  return runs_second_worker(release, own, method, topk);
}

// Published mean accepted lengths of SGLang and InferenceX: NEXTN of DeepSeek V3 2.44 with 3
// drafts, of GLM-5.2 2.99, of Qwen3.5 3.39 (SPEED-Bench, coding); trees of EAGLE-2 3.76 with 8
// steps, of EAGLE-3 4.68 with 5 and 5.39 with 8 (MT-bench, Llama 3.1 8B, pull request 4247).
std::optional<DraftRounds::Rates> published_rates(std::string_view method, std::int64_t topk) {
  if (method == "mtp") return DraftRounds::Rates{.first = 0.85, .decay = 0.08};
  if (topk == 1) return std::nullopt;
  if (method == "eagle3") return DraftRounds::Rates{.first = 0.94, .decay = 0.03};
  if (method == "eagle") return DraftRounds::Rates{.first = 0.755, .decay = 0};
  return std::nullopt;
}

// All three, with what follows from those that are given.
SglangDraftShape fill_shape(EngineResolver& r, SglangRelease release) {
  SpeculativeSection& s = r.options.speculative;
  auto& own = r.own<SglangOptions>();
  SglangDraftShape usual = sglang_draft_shape(release, r.system.model, s.method);
  const bool tree = drafts_one_by_one(s.method);
  if (!tree && own.speculative_eagle_topk) {
    r.given.refuse_unused(kDraftTopk, fmt::format(" with {}", s.method));
  }
  if (!tree && !s.num_speculative_tokens && own.speculative_num_draft_tokens) {
    usual.steps = *own.speculative_num_draft_tokens - 1;
  }
  if (!s.acceptance_rates.empty()) {
    usual = {.steps = std::ssize(s.acceptance_rates), .topk = 1, .tokens = 0};
  }
  if (s.num_speculative_tokens) usual = {.steps = *s.num_speculative_tokens, .tokens = 0};
  const std::string rule = fmt::format("default of {}", s.method);
  r.fill(kDraftSteps, s.num_speculative_tokens, usual.steps, rule);
  r.fill(kDraftTopk, own.speculative_eagle_topk, usual.topk, rule);
  SglangDraftShape shape{.steps = *s.num_speculative_tokens, .topk = *own.speculative_eagle_topk};
  if (shape.topk == 1) {
    shape.tokens = shape.steps + 1;
    if (own.speculative_num_draft_tokens.value_or(shape.tokens) != shape.tokens) {
      r.warn(fmt::format("speculative_num_draft_tokens {} becomes {}, as without a tree",
                         *own.speculative_num_draft_tokens, shape.tokens));
      own.speculative_num_draft_tokens.reset();
    }
    r.fill(kTokensOfRound, own.speculative_num_draft_tokens, shape.tokens,
           "one more than the drafts");
    return shape;
  }
  if (!own.speculative_num_draft_tokens && usual.tokens == 0) {
    r.given.refuse_missing(kTokensOfRound, "tokens of a tree that are verified");
  }
  r.fill(kTokensOfRound, own.speculative_num_draft_tokens, usual.tokens, rule);
  shape.tokens = *own.speculative_num_draft_tokens;
  const std::int64_t nodes = 1 + shape.topk + (shape.steps - 1) * shape.topk * shape.topk;
  if (shape.tokens > nodes) {
    r.given.refuse_value(kTokensOfRound, fmt::to_string(shape.tokens),
                         fmt::format("a tree of {} steps with topk {} has {} tokens", shape.steps,
                                     shape.topk, nodes));
  }
  return shape;
}

// mem_cache/allocation_sizing.py, get_alloc_len_per_decode.
std::int64_t slots_of_round(const SglangDraftShape& shape, std::int64_t page) {
  std::int64_t branch = shape.steps;
  if (page > 1 && shape.topk > 1) branch = (page - 1 + shape.steps + page - 1) / page * page;
  return std::max(branch * shape.topk, shape.tokens);
}

void settle_scheduling(EngineResolver& r, SglangRelease release) {
  auto& scheduling = r.own<SglangScheduling>();
  scheduling.retracts_latest = release < kShortestOutput;
  const std::string& method = r.options.speculative.method;
  const bool mixes = release >= kMixesChunks && (is_eagle(method) || method == "dflash");
  if (scheduling.enable_mixed_chunk && !mixes) {
    scheduling.enable_mixed_chunk = false;
    r.note_rule("/engine/enable_mixed_chunk", "off with speculative decoding");
    r.warn("enable_mixed_chunk: SGLang turns it off with speculative decoding");
  }
  const std::string radix = "/engine/disable_radix_cache";
  const bool keeps_two = r.own<SglangOptions>().mamba_scheduler_strategy.starts_with("extra");
  if (has_states(r.system.model) && !keeps_two && !r.given.is_given(radix)) {
    scheduling.disable_radix_cache = true;
    r.note_rule(radix, "off with drafts for recurrent layers");
    r.warn(
        "SGLang turns the radix cache off with drafts for recurrent layers; with "
        "mamba_scheduler_strategy extra_buffer it stays");
  }
}

}  // namespace

SglangDraftShape sglang_draft_shape(SglangRelease release, const ModelSpec& model,
                                    std::string_view method) {
  constexpr SglangDraftShape kDraftTree{.steps = 5, .topk = 4, .tokens = 8};
  constexpr SglangDraftShape kDraftChain{.steps = 3, .topk = 1, .tokens = 4};
  if (method == "ngram") return {.steps = 11, .topk = 1, .tokens = 12};
  if (method == "dflash") return {.steps = 15, .topk = 1, .tokens = 16};
  if (method == "draft_model") return kDraftChain;
  if (drafts_trees(model) || release < kTokenPairs) return kDraftTree;
  const bool chain =
      release >= kFewerSteps || names_one_of(model, {"deepseek", "gptoss", "gpt-oss", "bailing"});
  return chain ? kDraftChain : kDraftTree;
}

SglangSpeculation sglang_speculation(std::string_view method) {
  if (method == "none") return SglangSpeculation::none;
  if (method == "ngram") return SglangSpeculation::ngram;
  return method == "draft_model" ? SglangSpeculation::standalone : SglangSpeculation::eagle;
}

void resolve_sglang_speculation(EngineResolver& r, SglangRelease release) {
  const SglangDraftShape shape = fill_shape(r, release);
  const std::string& method = r.options.speculative.method;
  auto& own = r.own<SglangOptions>();
  const std::int64_t ranks = r.system.sharding.data;
  if (ranks > 1 && !is_eagle(method)) {
    r.given.refuse("/engine/speculative_config/method",
                   fmt::format("SGLang does not run {} with attention by data ranks", method));
  }
  r.fill("/engine/max_running_requests", own.max_running_requests,
         std::max<std::int64_t>(1, kSglangRequestsWithDrafts / ranks),
         ranks > 1 ? "48 with speculative decoding, shared by the data ranks"
                   : "48 with speculative decoding");
  settle_scheduling(r, release);
  if (own.enable_spec_v2 && release >= kOverlapsAlways) {
    r.warn("enable_spec_v2 has no effect since SGLang 0.5.14");
  }
  const std::int64_t slots = slots_of_round(shape, own.page_size);
  const bool second = runs_second_worker(release, own, method, shape.topk);
  DraftRounds& rounds = r.system.rounds;
  rounds.verified_tokens = static_cast<std::int32_t>(shape.tokens);
  rounds.slots_ahead = static_cast<std::int32_t>(second ? 2 * slots : slots);
  rounds.branches = static_cast<std::int32_t>(shape.topk);
  rounds.drafts_behind_prompts = false;
  rounds.hides_host = overlaps_rounds(release, own, method, shape.topk);
  rounds.pairs_tokens = is_eagle(method) && release >= kTokenPairs;
  rounds.pauses_ranks = release >= kTokenPairs;
  rounds.preset = published_rates(method, shape.topk);
}

}  // namespace headroom
