#include "scheduler/batching/vllm_v0.hpp"

namespace headroom {

void VllmV0Scheduler::enqueue(RequestId id, const Request&) { batch_.enqueue(id); }

void VllmV0Scheduler::plan(const PlanContext& context, BatchPlan& plan) {
  if (chunked_prefill_) {
    batch_.plan_decode_first(context, plan);
  } else {
    batch_.plan_prefill_first(context, plan);
  }
}

bool VllmV0Scheduler::on_leave(RequestId id) {
  batch_.on_leave(id);
  return true;
}

void VllmV0Scheduler::on_engine_lost() { batch_.on_engine_lost(); }

}  // namespace headroom
