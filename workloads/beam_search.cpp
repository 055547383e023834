#include "workloads/beam_search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/kernel/check.hpp"

namespace headroom {
namespace {

// Apart from the ids that other workloads make.
constexpr std::uint64_t kBeamFamily = 0x4245414D53454152;  // "BEAMSEAR"

std::uint64_t made_id(std::uint64_t prompt, std::uint64_t count) {
  return mixed_id(mixed_id(kBeamFamily, prompt), count);
}

}  // namespace

BeamSearch::BeamSearch(std::unique_ptr<WorkloadSource> inner, std::int64_t beam_width,
                       std::uint64_t seed)
    : inner_(std::move(inner)),
      beam_width_(static_cast<std::size_t>(beam_width)),
      draws_(seed, "beams") {
  HEADROOM_CHECK(inner_ != nullptr && beam_width >= 1, "a search has one beam at least");
}

TimeNs BeamSearch::next_time() {
  const TimeNs next_ns = inner_->next_time();
  return due_.empty() ? next_ns : std::min(next_ns, due_.front().time_ns);
}

Arrival BeamSearch::take() {
  const bool goes_on = !due_.empty() && due_.front().time_ns < inner_->next_time();
  return goes_on ? take_beam() : take_prompt();
}

Arrival BeamSearch::take_prompt() {
  const Slot slot = new_slot();
  Search& search = searches_[slot];
  search.number = static_cast<std::uint64_t>(totals_.searches++);
  Arrival& request = search.request = inner_->take();
  search.rounds = request.output_tokens;
  if (request.max_tokens > 0) search.rounds = std::min(search.rounds, request.max_tokens);
  search.round = 1;
  search.in_system = 1;
  search.outcome = Outcome::finished;
  search.ids = 0;
  search.answer_id = request.output_segment;
  if (search.answer_id == 0) search.answer_id = made_id(search.number, search.ids++);

  Beam& prompt = search.beams.front();
  prompt.assign(request.prefix.begin(), request.prefix.end());
  std::int32_t rest = request.prompt_tokens;
  for (const PrefixSegment& piece : prompt) rest -= piece.tokens;
  if (rest > 0) prompt.push_back({made_id(search.number, search.ids++), rest});

  request.output_tokens = request.max_tokens = 1;
  request.output_segment = 0;  // the token has no KV before it is part of a prompt
  ++totals_.rounds;
  return request_of(slot, 0);
}

Arrival BeamSearch::take_beam() {
  Due& due = due_.front();
  const Arrival request = request_of(due.slot, due.taken);
  if (++due.taken == beam_width_) due_.pop_front();
  return request;
}

Arrival BeamSearch::request_of(Slot slot, std::size_t beam) {
  Arrival request = searches_[slot].request;
  request.prefix = searches_[slot].beams[beam];
  in_flight_.emplace(taken_++, slot);
  return request;
}

void BeamSearch::on_done(std::uint64_t index, Outcome outcome, TimeNs now_ns) {
  const auto found = in_flight_.find(index);
  HEADROOM_CHECK(found != in_flight_.end(), fmt::format("request {} leaves, unknown here", index));
  const Slot slot = found->second;
  in_flight_.erase(found);
  Search& search = searches_[slot];
  if (search.outcome == Outcome::finished) search.outcome = outcome;
  if (--search.in_system > 0) return;
  const bool last = search.round == search.rounds;
  if (search.outcome == Outcome::finished && !last) {
    if (now_ns < search.request.deadline_ns) return begin_round(slot, now_ns);
    search.outcome = Outcome::cancelled;
  }
  end(slot, now_ns);
}

void BeamSearch::begin_round(Slot slot, TimeNs now_ns) {
  Search& search = searches_[slot];
  branch(search);
  ++search.round;
  search.in_system = beam_width_;
  Arrival& request = search.request;
  request.time_ns = now_ns;
  ++request.prompt_tokens;
  request.first_token_deadline_ns = kNever;  // it is out
  HEADROOM_CHECK(due_.empty() || due_.back().time_ns <= now_ns, "requests leave in order of time");
  due_.push_back({.time_ns = now_ns, .slot = slot});
  ++totals_.rounds;
}

void BeamSearch::branch(Search& search) {
  has_child_.assign(beam_width_, false);
  for (std::size_t beam = 0; beam < beam_width_; ++beam) {
    const std::size_t parent = parent_of(search, beam);
    Beam& child = search.next[beam];
    child = search.beams[parent];
    if (search.round == 1) {
      // Never in a piece of the prompt, which may continue differently in another prompt.
      child.push_back({beam == 0 ? search.answer_id : made_id(search.number, search.ids++), 1});
    } else if (has_child_[parent]) {
      child.push_back({made_id(search.number, search.ids++), 1});
    } else {
      ++child.back().tokens;
    }
    has_child_[parent] = true;
  }
  std::swap(search.beams, search.next);
}

std::size_t BeamSearch::parent_of(const Search& search, std::size_t beam) const {
  if (beam == 0 || search.round == 1) return 0;
  const std::uint64_t place = static_cast<std::uint64_t>(search.round) * beam_width_ + beam;
  const std::uint64_t bits = draws_.of(search.number).bits(place);
  return static_cast<std::size_t>((Uint128{bits} * beam_width_) >> 64);
}

void BeamSearch::end(Slot slot, TimeNs now_ns) {
  const Search& search = searches_[slot];
  if (search.outcome != Outcome::finished) ++totals_.failed;
  free_.push_back(slot);
  inner_->on_done(search.number, search.outcome, now_ns);
}

BeamSearch::Slot BeamSearch::new_slot() {
  if (!free_.empty()) {
    const Slot slot = free_.back();
    free_.pop_back();
    return slot;
  }
  Search& search = searches_.emplace_back();
  search.beams.resize(beam_width_);
  search.next.resize(beam_width_);
  return searches_.size() - 1;
}

}  // namespace headroom
