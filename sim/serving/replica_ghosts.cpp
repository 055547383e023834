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
  sums_.become_ghost(computed_by(request, time_.applied_decodes()), final_tokens_of(id));
  request.state = RequestState::ghost;
  ghost_ids_.push_back(id);
  if (parts_.options.responds_at_end) return;
  record(id, Outcome::finished, floor_ns(time_.clock()));
  stories_[id].recorded = true;
}

void Replica::retire_ghosts() {
  std::sort(ghost_ids_.begin(), ghost_ids_.end(), [this](RequestId a, RequestId b) {
    return requests_[a].admission < requests_[b].admission;
  });
  for (const RequestId id : ghost_ids_) {
    const TokenCount held = computed_by(requests_[id], time_.applied_decodes());
    sums_.end_decoding(requests_[id], held);
    parts_.kv->release(id, requests_[id], held, KvRelease::finished);
    if (!stories_[id].recorded) {
      stories_[id].first_token_ns = floor_ns(time_.clock());
      record(id, Outcome::finished, floor_ns(time_.clock()));
    }
    remove(id);
  }
  sums_.retire_ghosts();
  ghost_ids_.clear();
}

}  // namespace headroom
