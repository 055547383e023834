#include "scheduler/routing/prefix_index.hpp"

#include <algorithm>

#include "sim/kernel/check.hpp"

namespace headroom {
namespace {

std::uint64_t place_key(std::uint32_t replica, std::uint64_t key) { return mixed_id(key, replica); }

}  // namespace

std::vector<PrefixStep> prefix_steps(std::span<const PrefixSegment> prefix) {
  std::vector<PrefixStep> steps;
  steps.reserve(prefix.size());
  std::uint64_t before = 0;
  TokenCount tokens = 0;
  for (const PrefixSegment& segment : prefix) {
    const std::uint64_t key = mixed_id(before, segment.id);
    steps.push_back({key, segment.tokens, tokens});
    // What follows matches only behind a segment of the same length.
    before = mixed_id(key, static_cast<std::uint64_t>(segment.tokens));
    tokens += segment.tokens;
  }
  return steps;
}

PrefixIndex::PrefixIndex(std::size_t replicas, TokenCount tokens)
    : limit_(tokens), replicas_(replicas) {
  HEADROOM_CHECK(tokens >= 1, "an index that remembers nothing");
}

std::uint32_t PrefixIndex::piece_of(std::uint32_t replica, std::uint64_t key) const {
  const auto found = places_.find(place_key(replica, key));
  return found == places_.end() ? kNone : found->second;
}

std::uint32_t PrefixIndex::new_piece(std::uint32_t replica, std::uint64_t key) {
  auto number = static_cast<std::uint32_t>(pieces_.size());
  if (free_.empty()) {
    pieces_.emplace_back();
  } else {
    number = free_.back();
    free_.pop_back();
  }
  pieces_[number] = {.key = key, .replica = replica};
  places_[place_key(replica, key)] = number;
  return number;
}

// In front of both lists.
void PrefixIndex::link(std::uint32_t number) {
  Piece& piece = pieces_[number];
  const auto [here, is_first] = newest_.try_emplace(piece.key, number);
  piece.newer_here = kNone;
  piece.older_here = is_first ? kNone : here->second;
  if (!is_first) pieces_[here->second].newer_here = number;
  here->second = number;
  OfReplica& own = replicas_[piece.replica];
  piece.newer_of_replica = kNone;
  piece.older_of_replica = own.newest;
  if (own.newest != kNone) pieces_[own.newest].newer_of_replica = number;
  own.newest = number;
  if (own.oldest == kNone) own.oldest = number;
}

void PrefixIndex::unlink(std::uint32_t number) {
  const Piece& piece = pieces_[number];
  if (piece.older_here != kNone) pieces_[piece.older_here].newer_here = piece.newer_here;
  if (piece.newer_here != kNone) {
    pieces_[piece.newer_here].older_here = piece.older_here;
  } else if (piece.older_here != kNone) {
    newest_[piece.key] = piece.older_here;
  } else {
    newest_.erase(piece.key);
  }
  OfReplica& own = replicas_[piece.replica];
  (piece.newer_of_replica != kNone ? pieces_[piece.newer_of_replica].older_of_replica
                                   : own.newest) = piece.older_of_replica;
  (piece.older_of_replica != kNone ? pieces_[piece.older_of_replica].newer_of_replica
                                   : own.oldest) = piece.newer_of_replica;
}

void PrefixIndex::drop(std::uint32_t number) {
  const Piece& piece = pieces_[number];
  unlink(number);
  replicas_[piece.replica].tokens -= piece.tokens;
  places_.erase(place_key(piece.replica, piece.key));
  free_.push_back(number);
}

// From the end to the beginning: what a prompt begins with is always more recent than what follows
// it, and outlives it.
void PrefixIndex::insert(std::uint32_t replica, std::span<const PrefixStep> steps) {
  OfReplica& own = replicas_[replica];
  for (std::size_t i = steps.size(); i-- > 0;) {
    std::uint32_t number = piece_of(replica, steps[i].key);
    if (number == kNone) {
      number = new_piece(replica, steps[i].key);
    } else {
      unlink(number);
    }
    link(number);
    Piece& piece = pieces_[number];
    const std::int32_t longer = std::max(piece.tokens, steps[i].tokens);
    own.tokens += longer - piece.tokens;
    piece.tokens = longer;
  }
  while (own.tokens > limit_) drop(own.oldest);
}

void PrefixIndex::forget(std::uint32_t replica) {
  while (replicas_[replica].oldest != kNone) drop(replicas_[replica].oldest);
}

std::vector<PrefixMatch> PrefixIndex::find(std::span<const PrefixStep> steps,
                                           std::size_t most) const {
  std::size_t known = 0;
  while (known < steps.size() && newest_.contains(steps[known].key)) ++known;
  std::vector<PrefixMatch> matches;
  for (std::size_t i = known; i-- > 0 && matches.size() < most;) {
    for (std::uint32_t at = newest_.at(steps[i].key); at != kNone && matches.size() < most;
         at = pieces_[at].older_here) {
      const Piece& piece = pieces_[at];
      const bool seen =
          std::ranges::find(matches, piece.replica, &PrefixMatch::replica) != matches.end();
      if (seen) continue;
      matches.push_back({piece.replica, steps[i].before + std::min(piece.tokens, steps[i].tokens)});
    }
  }
  return matches;
}

// If the end of a replica's own prompt is in the index, so is its beginning.
TokenCount PrefixIndex::overlap(std::uint32_t replica, std::span<const PrefixStep> steps) const {
  const auto end = std::partition_point(steps.begin(), steps.end(), [&](const PrefixStep& step) {
    return piece_of(replica, step.key) != kNone;
  });
  if (end == steps.begin()) return 0;
  const PrefixStep& last = *std::prev(end);
  return last.before + std::min(pieces_[piece_of(replica, last.key)].tokens, last.tokens);
}

}  // namespace headroom
