#include "sim/serving/batch_scheduler.hpp"

namespace headroom {

BlockCount PlanContext::decode_need(RequestId id) const {
  if (id == kNoRequest || !kv.pool().grows_with_decode) return 0;
  const Request& request = requests[id];
  if (request.state != RequestState::decoding || request.micro_batch != micro_batch) return 0;
  const bool crosses = computed_by(request, decodes_planned) % kv.pool().block_tokens == 0;
  return crosses ? request.ids_per_block : 0;
}

void PlanContext::preempt(RequestId id, BatchPlan& plan, KvRelease how) const {
  const Request& request = requests[id];
  const PlannedMicroBatch rows = micro_batch_of(request);
  const TokenCount held = computed_by(request, rows.decodes_planned);
  if (request.state == RequestState::decoding) rows.decodes->leave(kv.row_of(request, held));
  if (adapters != nullptr && request.state != RequestState::ending) {
    adapters->leave(request.adapter);
  }
  const bool samples =
      request.state == RequestState::decoding || request.state == RequestState::ending;
  kv.release(id, request, held, how, samples ? rows.decodes_in_flight : 0);
  plan.preempted.push_back(id);
}

void PlanContext::swap_out(RequestId id, BatchPlan& plan) const {
  preempt(id, plan, KvRelease::dropped);
  plan.swapped.push_back(id);
}

bool PlanContext::try_resume(RequestId id, BlockCount keep_free, BatchPlan& plan) const {
  const Request& request = requests[id];
  if (!kv.try_grow({.id = id, .hold_tokens = request.known_tokens, .keep_free = keep_free})) {
    return false;
  }
  plan.chunks.push_back({.id = id,
                         .context_tokens = request.known_tokens - 1,
                         .tokens = 1,
                         .admits = true,
                         .samples = true,
                         .resumes = true});
  return true;
}

}  // namespace headroom
