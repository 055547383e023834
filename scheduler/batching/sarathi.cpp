#include "scheduler/batching/sarathi.hpp"

namespace headroom {

void SarathiScheduler::enqueue(RequestId id, const Request&) { batch_.enqueue(id); }

void SarathiScheduler::plan(const PlanContext& context, BatchPlan& plan) {
  batch_.plan_decode_first(context, plan);
}

bool SarathiScheduler::on_leave(RequestId id) {
  batch_.on_leave(id);
  return true;
}

void SarathiScheduler::on_engine_lost() { batch_.on_engine_lost(); }

}  // namespace headroom
