// The part of Replica that is about ghosts: rows of a batch that outlive their requests
// (docs/semantics.md 2 and 9).

#include <algorithm>

#include "sim/kernel/check.hpp"
#include "sim/serving/replica.hpp"

namespace headroom {

void Replica::become_ghost(RequestId id) {
  Request& request = requests_[id];
  HEADROOM_CHECK(request.state == RequestState::decoding,
                 "only a decoding row can stay as a ghost");
  final_tokens_ -= final_tokens_of(id);
  ghost_tokens_ += computed_by(request, applied_decodes_);
  request.state = RequestState::ghost;
  ++ghosts_;
  ghost_ids_.push_back(id);
  if (parts_.options.responds_at_end) return;
  record(id, Outcome::finished, floor_ns(clock_));
  progress_[id].recorded = true;
}

void Replica::retire_ghosts() {
  std::sort(ghost_ids_.begin(), ghost_ids_.end(), [this](RequestId a, RequestId b) {
    return requests_[a].admission < requests_[b].admission;
  });
  for (const RequestId id : ghost_ids_) {
    const TokenCount held = computed_by(requests_[id], applied_decodes_);
    decodes_.leave(parts_.kv->row_of(requests_[id], held));
    parts_.kv->release(id, requests_[id], held, KvRelease::finished);
    if (!progress_[id].recorded) {
      progress_[id].first_token_ns = floor_ns(clock_);
      record(id, Outcome::finished, floor_ns(clock_));
    }
    remove(id);
  }
  residents_ -= ghosts_;
  ghosts_ = 0;
  ghost_tokens_ = 0;
  ghost_ids_.clear();
}

}  // namespace headroom
