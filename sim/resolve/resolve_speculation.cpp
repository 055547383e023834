// Speculative decoding: what a method implies (ENGINES.md 5), and what it turns off.

#include <fmt/format.h>

#include <array>

#include "hardware/llm/drafter_model.hpp"
#include "hardware/llm/parameters.hpp"
#include "sim/resolve/resolver.hpp"

namespace headroom {
namespace {

// Typical values of ENGINES.md 5, middle of the range; all of them are estimates, as acceptance
// depends on the text. `decay`: lost from one position to the next.
struct DrafterPreset {
  std::string_view method;
  std::int64_t drafts = 1;  // what vLLM's documentation starts with
  double first_rate = 0;
  double decay = 0;
};
constexpr std::array kPresets = {
    DrafterPreset{"ngram", 5, 0.35, 0},         // 0.2 to 0.5
    DrafterPreset{"eagle", 3, 0.675, 0},        // EAGLE-1/2: 0.6 to 0.75
    DrafterPreset{"eagle3", 3, 0.775, 0.075},   // 0.7 to 0.85, 5 to 10 points less per position
    DrafterPreset{"mtp", 1, 0.875, 0},          // DeepSeek-V3: 0.85 to 0.90
    DrafterPreset{"dflash", 15, 0.8, 0.03},     // 2.7 of 8 (Hikari07jp/DSpark-Qwen3.6-27B-AEON)
    DrafterPreset{"draft_model", 5, 0.675, 0},  // as EAGLE-1/2
};

const DrafterPreset& preset_of(std::string_view method) {
  for (const DrafterPreset& preset : kPresets) {
    if (preset.method == method) return preset;
  }
  return kPresets.front();
}

// Used if neither a share nor a draft model is given.
constexpr double kDraftModelShare = 0.1;

}  // namespace

bool drafter_has_kv(const SpeculativeSection& section) {
  return section.is_on() && section.method != "ngram";
}

std::vector<double> acceptance_rates(const SpeculativeSection& section) {
  if (!section.is_on()) return {};
  if (!section.acceptance_rates.empty()) return section.acceptance_rates;
  const auto drafts = static_cast<std::size_t>(section.num_speculative_tokens.value_or(1));
  return std::vector<double>(drafts, section.acceptance_rate.value_or(0));
}

void Resolver::resolve_speculation() {
  EngineSection& e = r_.scenario.engine;
  SpeculativeSection& s = e.speculative;
  if (!s.is_on()) return;
  const std::string at = "/engine/speculative_config/";
  if (serves_by_priority(r_)) {
    r_.scenario.refuse("/engine/scheduling_policy", "only fcfs is modelled with drafts",
                       ErrorKind::unsupported);
  }
  const DrafterPreset& preset = preset_of(s.method);
  const bool listed = !s.acceptance_rates.empty();
  if (listed && s.acceptance_rate) {
    r_.scenario.refuse(at + "acceptance_rate", "set this or acceptance_rates, not both");
  }
  engine_.fill(at + "num_speculative_tokens", s.num_speculative_tokens,
               listed ? static_cast<std::int64_t>(s.acceptance_rates.size()) : preset.drafts,
               listed ? "one per value of acceptance_rates" : "preset");
  const auto drafts = static_cast<std::size_t>(*s.num_speculative_tokens);
  if (listed && s.acceptance_rates.size() != drafts) {
    r_.scenario.refuse(at + "acceptance_rates",
                       fmt::format("{} rates for {} drafts", s.acceptance_rates.size(), drafts));
  }
  if (!listed && !s.acceptance_rate) {
    const DraftRounds::Rates rates =
        r_.rounds.preset.value_or(DraftRounds::Rates{preset.first_rate, preset.decay});
    for (std::size_t j = 0; j < drafts; ++j) {
      const double rate = rates.first - rates.decay * static_cast<double>(j);
      s.acceptance_rates.push_back(rate > 0 ? rate : 0);
    }
    engine_.note_rule(at + "acceptance_rates", fmt::format("preset of {}, an estimate", s.method));
    r_.warnings.push_back(
        fmt::format("speculative decoding: the acceptance rates of {} are an estimate; measure "
                    "yours and set acceptance_rates",
                    s.method));
  }
  resolve_drafter();
  if (s.method == "draft_model" && r_.scheduler->traits.draft_model_takes_budget &&
      r_.max_num_batched_tokens <= r_.max_num_seqs) {
    r_.scenario.refuse(
        "/engine/max_num_batched_tokens",
        fmt::format(
            "a draft model needs one token for each of max_num_seqs = {}, which leaves none of {}",
            r_.max_num_seqs, r_.max_num_batched_tokens));
  }
  // Engines have both (vLLM since 0.14); the model of it is synchronous.
  constexpr std::string_view kSynchronous = "off: steps with drafts are modelled only one by one";
  if (r_.engine->turn_async_off != nullptr) r_.engine->turn_async_off(engine_, kSynchronous);
  r_.async_scheduling = false;
}

void Resolver::resolve_drafter() {
  SpeculativeSection& s = r_.scenario.engine.speculative;
  const std::string pointer = "/engine/speculative_config/draft_step_share";
  if (s.method == "ngram") {
    engine_.fill(pointer, s.draft_step_share, 0.0, "an n-gram drafter runs on the host");
    return;
  }
  find_drafter();
  if (s.model) {
    const double share = static_cast<double>(checkpoint_bytes(*r_.drafter)) /
                         static_cast<double>(checkpoint_bytes(r_.model));
    if (share > 1) {
      r_.scenario.refuse("/engine/speculative_config/model", "larger than the model it drafts for");
    }
    engine_.fill(pointer, s.draft_step_share, share, fmt::format("weights of {}", r_.drafter->id));
  } else if (s.method == "dflash") {
    const double share = static_cast<double>(checkpoint_bytes(*r_.drafter)) /
                         static_cast<double>(checkpoint_bytes(r_.model));
    engine_.fill(pointer, s.draft_step_share, share, "weights of the drafter");
  } else if (s.method == "draft_model") {
    engine_.fill(pointer, s.draft_step_share, kDraftModelShare, "preset, an estimate");
  } else {
    engine_.fill(pointer, s.draft_step_share, 1.0 / static_cast<double>(r_.model.layers()),
                 fmt::format("one layer of {}", r_.model.layers()));
  }
  const bool budgeted = r_.engine->traits.budgets_drafter;
  if (budgeted && r_.drafter) {
    r_.warnings.push_back(fmt::format(
        "speculative decoding: the memory budget includes weights and KV of {}{}, but not its "
        "activations and graphs",
        r_.drafter->id,
        s.method == "draft_model" ? ""
        : s.method == "dflash"    ? ", layers like those of published ones (an estimate)"
                                  : ", one layer like the model's last one (an estimate)"));
    return;
  }
  r_.drafter.reset();
  r_.warnings.push_back(fmt::format(
      "speculative decoding: the memory budget does not include the drafter's weights and KV{}",
      budgeted ? ": set its model" : ""));
}

void Resolver::find_drafter() {
  const SpeculativeSection& s = r_.scenario.engine.speculative;
  if (s.method != "draft_model") {
    r_.drafter = engine_.lookup("/engine/speculative_config/method", [&] {
      if (s.method == "mtp") return mtp_module(r_.model);
      if (s.method == "dflash") return dflash_head(r_.model);
      return s.method == "eagle3" ? eagle3_head(r_.model) : eagle_head(r_.model);
    });
    if (s.method == "mtp" && r_.model.unloaded_params == 0) {
      r_.warnings.push_back(
          fmt::format("speculative decoding: {} is not known to ship a prediction module; the "
                      "engine may refuse mtp",
                      r_.model.id));
    }
  } else if (s.model) {
    r_.drafter = engine_.lookup("/engine/speculative_config/model", [&] {
      ModelSpec draft = catalog_.model(*s.model, {});
      check_sharding(draft, drafter_sharding(r_.sharding));
      return draft;
    });
  }
}

}  // namespace headroom
