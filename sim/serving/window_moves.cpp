#include "sim/serving/window_moves.hpp"

#include <algorithm>
#include <cstdint>

namespace headroom {

void WindowMoves::stop_for(RequestId id, TokenCount held, TokenCount next, ReplicaCore& core) {
  const SequenceBlocks& sequence = core.kv.sequence();
  TokenCount change = sequence.next_change(held);
  if (core.kv.moves_windows()) change = std::min(change, sequence.next_move(next));
  if (change == INT64_MAX) return;
  const Request& request = core.requests[id];
  const StepIndex depth = core.time.depth();
  const StepIndex decode = request.anchor_decode + change - request.computed_tokens;
  // Rows whose end is not known stay in the plans for so long.
  if (decode > core.stories[id].last_decode + depth - 2) return;
  core.time.stops().push({.decode = std::max(decode + 1 - depth, request.anchor_decode),
                          .admission = request.admission,
                          .id = id,
                          .action = StopAction::windows_change});
}

void WindowMoves::change(RequestId id, ReplicaCore& core) {
  Request& request = core.requests[id];
  if (request.state != RequestState::decoding) return;
  const TokenCount held = core.held(id);
  core.sums.end_decoding(request, held);
  request.ids_per_block = core.kv.sequence().ids_per_block(held);
  core.sums.begin_decoding(request, held);
  if (core.kv.moves_windows()) moving_.push_back(core.stay(id));
  stop_for(id, held, held + 1, core);
}

// Of those that have not left since.
void WindowMoves::apply(ReplicaCore& core) {
  for (const KvHold& stay : moving_) {
    const Request& request = core.requests[stay.id];
    const bool decodes = request.state == RequestState::decoding;
    if (core.stay(stay.id) == stay && decodes) {
      core.kv.windows()->move(stay.id, request, core.held(stay.id) + 1);
    }
  }
  moving_.clear();
}

}  // namespace headroom
