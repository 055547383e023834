#include "sim/serving/remote_requests.hpp"

#include <algorithm>

#include "sim/kernel/check.hpp"
#include "sim/serving/kv_layout.hpp"

namespace headroom {

void RemoteRequests::begin(RequestId id, Request& request, RequestStory& story,
                           const KvOffer* prefilled) {
  if (id >= by_id_.size()) by_id_.resize(std::size_t{id} + 1);
  State& state = by_id_[id];
  state = {};
  state.max_tokens = request.max_tokens;
  if (role_ == ReplicaRole::prefill) {
    // What proxies ask of a prefill instance (vLLM, toy_proxy_server.py: max_tokens = 1). A client
    // who has its whole answer with that is done.
    const bool is_whole = prefill_token_counts_ && story.output_tokens == 1;
    state.hands_on = !is_whole;
    request.max_tokens = story.output_tokens = 1;
  }
  if (prefilled == nullptr) return;
  HEADROOM_CHECK(role_ == ReplicaRole::decode, "KV for a replica that fetches none");
  state.stage = Stage::waits_for_room;
  state.place = places_++;
  line_.emplace(state.place, id);
  story.first_scheduled_ns = prefilled->first_scheduled_ns;
  if (!prefill_token_counts_) return;
  state.carried = story.generated = 1;
  request.known_tokens = request.prompt_tokens + 1;
  story.first_token_ns = prefilled->prefilled_ns;
  story.last_token = prefilled->token;
}

void RemoteRequests::hold(RequestId id, const KvOffer& offer) {
  by_id_[id].stage = Stage::held;
  ++held_;
  told_.offers.push_back(offer);
}

void RemoteRequests::end_hold(RequestId id) {
  HEADROOM_CHECK(stage(id) == Stage::held, "KV that is not held for others");
  --held_;
}

// A seat must be free, as for every admission (vLLM, scheduler.py: the waiting loop), and the step
// that is being planned must not lack a block over it: who cannot be taken now cannot be taken
// later in the same run of steps either.
bool RemoteRequests::take_in(const RequestPool& requests, ResidentSums& sums, KvAllocator& kv) {
  bool took_any = false;
  while (!line_.empty() && sums.residents() < max_sequences_) {
    const RequestId id = line_.begin()->second;
    const Request& request = requests[id];
    State& state = by_id_[id];
    const TokenCount found = kv.cached_prefix(id, request);
    const BlockCount keep = sums.residents() > 0 ? keep_free_ : 0;
    // Nobody finds the blocks that are fetched before their KV is there (vLLM:
    // delay_cache_blocks): what is not known yet counts as lookahead.
    const KvGrowth growth{
        .id = id,
        .request = &request,
        .cached_tokens = found,
        .hold_tokens = request.known_tokens,
        .lookahead_tokens = request.known_tokens - found,
        .fit_tokens = request.known_tokens,
        .keep_free = std::max(keep, sums.decodes_beside(request).blocks_needed())};
    if (!kv.try_grow(growth)) break;
    line_.erase(line_.begin());
    state.stage = Stage::fetching;
    state.found = found;
    state.reserved = request.known_tokens;
    sums.hold(state.reserved);
    took_any = true;
    const std::int32_t size = kv.pool().block_tokens;
    told_.fetches.push_back(
        {request.index, blocks_needed(request.prompt_tokens, size) - found / size});
  }
  return took_any;
}

void RemoteRequests::arrive(RequestId id) {
  HEADROOM_CHECK(stage(id) == Stage::fetching, "KV that nobody waits for");
  by_id_[id].stage = Stage::arrived;
}

TokenCount RemoteRequests::admit(RequestId id, TokenCount context, ResidentSums& sums) {
  State& state = by_id_[id];
  if (state.stage != Stage::arrived) return context;
  state.stage = Stage::none;
  sums.let_go(state.reserved);
  return state.found;
}

bool RemoteRequests::leave_line(RequestId id) {
  const Stage now = stage(id);
  if (now == Stage::waits_for_room) line_.erase(by_id_[id].place);
  return now == Stage::waits_for_room || now == Stage::fetching;
}

void RemoteRequests::withdraw(RequestId id, const Request& request, ResidentSums& sums,
                              KvAllocator& kv) const {
  if (!holds_early(id)) return kv.release(id, request, 0, KvRelease::finished);
  sums.let_go(reserved(id));
  kv.release(id, request, reserved(id), KvRelease::dropped);
}

void RemoteRequests::on_engine_lost() {
  held_ = 0;
  exits_.clear();
  told_.fetches.clear();
}

}  // namespace headroom
