#include "workloads/parallel_samples.hpp"

#include <fmt/format.h>

#include <utility>

#include "sim/kernel/check.hpp"

namespace headroom {
namespace {

// Apart from the ids that other workloads make (mixed_id of session and turn, hashes of traces).
constexpr std::uint64_t kSamplesFamily = 0x53414D504C455321;

}  // namespace

ParallelSamples::ParallelSamples(std::unique_ptr<WorkloadSource> inner, std::int64_t samples,
                                 bool one_piece)
    : inner_(std::move(inner)),
      samples_(static_cast<std::uint64_t>(samples)),
      one_piece_(one_piece) {
  HEADROOM_CHECK(inner_ != nullptr && samples >= 1, "each prompt is answered once at least");
}

TimeNs ParallelSamples::next_time() {
  if (taken_ % samples_ == 0) return inner_->next_time();
  return prompts_[open_.at(taken_ / samples_)].arrival.time_ns;
}

Arrival ParallelSamples::take() {
  const bool first = taken_ % samples_ == 0;
  if (first) take_prompt();
  Arrival child = prompts_[open_.at(taken_ / samples_)].arrival;
  if (!first) child.output_segment = 0;
  if (samples_ > 1) child.shared_prompt = 1 + taken_ / samples_;
  ++taken_;
  return child;
}

void ParallelSamples::take_prompt() {
  Slot slot = prompts_.size();
  if (free_.empty()) {
    prompts_.emplace_back();
  } else {
    slot = free_.back();
    free_.pop_back();
  }
  Prompt& prompt = prompts_[slot];
  prompt.arrival = inner_->take();
  prompt.in_system = static_cast<std::int64_t>(samples_);
  prompt.outcome = Outcome::finished;
  const std::uint64_t number = taken_ / samples_;
  open_.emplace(number, slot);
  if (samples_ == 1) return;
  if (one_piece_) {
    prompt.arrival.prefix = {};
    prompt.arrival.output_segment = 0;
  }
  const auto given = prompt.arrival.prefix;
  prompt.pieces.assign(given.begin(), given.end());
  std::int32_t rest = prompt.arrival.prompt_tokens;
  for (const PrefixSegment& piece : given) rest -= piece.tokens;
  if (rest > 0) prompt.pieces.push_back({mixed_id(kSamplesFamily, number), rest});
  prompt.arrival.prefix = prompt.pieces;
}

void ParallelSamples::on_done(std::uint64_t index, Outcome outcome, TimeNs now_ns) {
  const std::uint64_t number = index / samples_;
  const auto found = open_.find(number);
  HEADROOM_CHECK(found != open_.end(), fmt::format("request {} leaves, unknown here", index));
  const Slot slot = found->second;
  Prompt& prompt = prompts_[slot];
  if (prompt.outcome == Outcome::finished) prompt.outcome = outcome;
  if (--prompt.in_system > 0) return;
  const Outcome all = prompt.outcome;
  open_.erase(found);
  free_.push_back(slot);
  inner_->on_done(number, all, now_ns);
}

}  // namespace headroom
