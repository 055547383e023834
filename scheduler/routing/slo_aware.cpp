#include "scheduler/routing/slo_aware.hpp"

#include <algorithm>
#include <tuple>

#include "sim/kernel/check.hpp"

namespace headroom {
namespace {

constexpr double kScoreUnit = 0x1p30;  // of a whole promise
constexpr double kMostScore = 0x1p60;
// Decisions between two looks at the traffic, as many as replicas at least: a look costs as much as
// so many decisions. The newest one counts half.
constexpr std::int64_t kFewestDecisions = 64;
constexpr double kNewestShare = 0.5;
constexpr double kLeastDecoding = 0.05;    // of the time, however much is computed besides
constexpr double kMostPredictedNs = 9e17;  // 28 years: beyond every promise but none at all

TimeNs whole_ns(double ns) { return static_cast<TimeNs>(std::min(ns, kMostPredictedNs) + 0.5); }

std::int64_t whole_score(double score) {
  return static_cast<std::int64_t>(std::min(score, kMostScore) + 0.5);
}

}  // namespace

SloAwareRouter::SloAwareRouter(const RouterOptions& options)
    : options_(options.slo),
      predictions_(options.replicas),
      running_of_(options.replicas, 0),
      turns_(options.replicas, 0) {
  const std::vector<LatencyModel>& given = options.slo.models;
  HEADROOM_CHECK(given.empty() || given.size() == options.replicas,
                 "latency models of other replicas");
  for (std::size_t i = 0; i < options.replicas; ++i) {
    const LatencyModel model = given.empty() ? LatencyModel{} : given[i];
    const auto found = std::ranges::find(models_, model);
    model_of_.push_back(static_cast<std::uint32_t>(found - models_.begin()));
    if (found == models_.end()) models_.push_back(model);
  }
  std::vector<LatencyTargets> targets = options.slo.targets;
  if (targets.empty()) targets.emplace_back();
  std::vector<LatencyTargets> distinct;
  for (const LatencyTargets& one : targets) {
    const auto found = std::ranges::find(distinct, one);
    promise_of_class_.push_back(static_cast<std::uint32_t>(found - distinct.begin()));
    if (found == distinct.end()) distinct.push_back(one);
  }
  for (const LatencyTargets& one : distinct) add_promise(one, options);
}

// A promise that is not made has no weight. Without any, the score is the predicted TTFT.
void SloAwareRouter::add_promise(const LatencyTargets& targets, const RouterOptions& options) {
  Promise promise;
  promise.targets = targets;
  const bool has_ttft = targets.ttft_ns != kNever;
  const bool has_tpot = targets.tpot_ns != kNever;
  const auto share = [](double weight, TimeNs promised) {
    return weight * kScoreUnit / static_cast<double>(promised);
  };
  if (has_ttft) promise.ttft_weight = share(options.slo.ttft_weight, targets.ttft_ns);
  if (has_tpot) promise.tpot_weight = share(options.slo.tpot_weight, targets.tpot_ns);
  if (!has_ttft && !has_tpot) promise.ttft_weight = 1;
  for (std::uint32_t model = 0; model < models_.size(); ++model) {
    promise.tiers.push_back(
        {model, RankedReplicas(options.replicas), RankedReplicas(options.replicas)});
  }
  promises_.push_back(std::move(promise));
}

// docs/semantics.md 31: what waits is computed first, then this prompt, among a step of those that
// run; afterwards it decodes with all of them, in the time that the prompts of others leave.
SloAwareRouter::Prediction SloAwareRouter::predicted(std::uint32_t replica,
                                                     const ReplicaLoad& load) const {
  const LatencyModel& model = models_[model_of_[replica]];
  const double alone = model.step_ns + model.kv_token_ns * static_cast<double>(load.kv_tokens);
  const auto step = [&](std::int64_t sequences) {
    return alone + model.sequence_ns * static_cast<double>(sequences);
  };
  const double prompts = model.prompt_token_ns * static_cast<double>(load.waiting_tokens);
  const std::int64_t sequences = load.outstanding() + 1;
  const double prefills =
      model.prompt_token_ns * prompt_tokens_per_ns_ * static_cast<double>(sequences);
  const double decodes = std::max(kLeastDecoding, 1 - prefills);
  return {whole_ns(prompts + step(load.running)), whole_ns(step(sequences) / decodes)};
}

void SloAwareRouter::place(Promise& promise, std::uint32_t replica, bool is_up) {
  const Prediction& here = predictions_[replica];
  Tier& tier = promise.tiers[model_of_[replica]];
  const bool keeps = here.tpot_ns <= promise.targets.tpot_ns;
  RankedReplicas& now = keeps ? tier.keep_tpot : tier.break_tpot;
  (keeps ? tier.break_tpot : tier.keep_tpot).erase(replica);
  if (!is_up) return now.erase(replica);
  const double score = promise.ttft_weight * static_cast<double>(here.ttft_ns) +
                       promise.tpot_weight * static_cast<double>(here.tpot_ns);
  now.set(replica, {here.ttft_ns, whole_score(score), turns_[replica]});
}

void SloAwareRouter::on_load(std::uint32_t replica, std::span<const ReplicaLoad> loads) {
  const ReplicaLoad& load = loads[replica];
  running_ += load.running - running_of_[replica];
  running_of_[replica] = load.running;
  predictions_[replica] = predicted(replica, load);
  for (Promise& promise : promises_) place(promise, replica, load.up);
  anybody_.set(replica, loads.size(), load.up, load.outstanding());
}

// By Little's law a running sequence represents the same share of the traffic on every replica.
void SloAwareRouter::learn(const Arrival& arrival, std::span<const ReplicaLoad> loads) {
  window_.prompt_tokens += arrival.prompt_tokens;
  window_.running += running_;
  ++window_.decisions;
  const auto replicas = static_cast<std::uint32_t>(loads.size());
  if (window_.decisions < std::max<std::int64_t>(kFewestDecisions, replicas)) return;
  const TimeNs passed_ns = arrival.time_ns - window_.since_ns;
  if (passed_ns <= 0 || window_.running == 0) return;
  const double running =
      static_cast<double>(window_.running) / static_cast<double>(window_.decisions);
  const double now =
      static_cast<double>(window_.prompt_tokens) / static_cast<double>(passed_ns) / running;
  const double share = prompt_tokens_per_ns_ == 0 ? 1 : kNewestShare;
  prompt_tokens_per_ns_ += share * (now - prompt_tokens_per_ns_);
  window_ = {.since_ns = arrival.time_ns};
  for (std::uint32_t i = 0; i < replicas; ++i) {
    predictions_[i] = predicted(i, loads[i]);
    for (Promise& promise : promises_) place(promise, i, loads[i].up);
  }
}

std::optional<SloAwareRouter::Choice> SloAwareRouter::best(const Promise& promise, Kept kept,
                                                           TokenCount prompt_tokens) const {
  const bool keeps_ttft = kept == Kept::both || kept == Kept::only_ttft;
  const bool keeps_tpot = kept == Kept::both || kept == Kept::only_tpot;
  const auto side = keeps_ttft ? RankedReplicas::Side::up_to : RankedReplicas::Side::beyond;
  const bool promised = promise.targets.ttft_ns != kNever || promise.targets.tpot_ns != kNever;
  const bool packs = options_.packs && kept == Kept::both && promised;
  std::optional<Choice> choice;
  for (const Tier& tier : promise.tiers) {
    const double prompt_ns =
        models_[tier.model].prompt_token_ns * static_cast<double>(prompt_tokens);
    const TimeNs limit =
        promise.targets.ttft_ns == kNever ? kNever : promise.targets.ttft_ns - whole_ns(prompt_ns);
    const RankedReplicas& replicas = keeps_tpot ? tier.keep_tpot : tier.break_tpot;
    const auto found = packs ? replicas.greatest(side, limit) : replicas.least(side, limit);
    if (!found) continue;
    const RankedReplicas::Entry& entry = replicas.entry(*found);
    const Choice here{*found, entry.score + whole_score(promise.ttft_weight * prompt_ns),
                      entry.turn};
    const bool is_better = !choice || (packs ? here.score > choice->score
                                             : std::tie(here.score, here.turn) <
                                                   std::tie(choice->score, choice->turn));
    if (is_better) choice = here;
  }
  return choice;
}

std::uint32_t SloAwareRouter::route(const Arrival& arrival, std::span<const ReplicaLoad> loads) {
  learn(arrival, loads);
  const auto number = static_cast<std::size_t>(arrival.class_id);
  const std::size_t of_class = std::min(number, promise_of_class_.size() - 1);
  const Promise& promise = promises_[promise_of_class_[of_class]];
  std::optional<Choice> choice;
  for (const Kept kept : {Kept::both, Kept::only_ttft, Kept::only_tpot, Kept::none}) {
    choice = best(promise, kept, arrival.prompt_tokens);
    if (choice) break;
  }
  const std::uint32_t replica = choice ? choice->replica : anybody_.least();
  anybody_.choose(replica);
  turns_[replica] = ++turn_;
  for (Promise& one : promises_) place(one, replica, loads[replica].up);
  return replica;
}

}  // namespace headroom
