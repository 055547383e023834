#include "tests/laws/law_schedulers.hpp"

#include <algorithm>
#include <utility>

#include "scheduler/batching/vllm.hpp"

namespace headroom::laws {
namespace {

class LosingWakeUps final : public BatchScheduler {
 public:
  explicit LosingWakeUps(const SchedulerOptions& options) : inner_(options) {}

  void enqueue(RequestId id, const Request& request) override {
    ++present_;
    inner_.enqueue(id, request);
  }
  void plan(const PlanContext& context, BatchPlan& plan) override {
    if (running_ == 0 && present_ > 0 && ++wake_ups_ % 10 == 0) return;
    inner_.plan(context, plan);
    for (const Chunk& chunk : plan.chunks) running_ += chunk.admits ? 1 : 0;
  }
  [[nodiscard]] bool on_leave(RequestId id) override {
    --running_;
    --present_;
    return inner_.on_leave(id);
  }
  void on_engine_lost() override { inner_.on_engine_lost(); }

 private:
  VllmScheduler inner_;
  std::int64_t present_ = 0;
  std::int64_t running_ = 0;
  std::uint64_t wake_ups_ = 0;
};

}  // namespace

bool OneSlot::later(const Waiting& a, const Waiting& b) {
  return a.key != b.key ? a.key > b.key : a.index > b.index;
}

void OneSlot::enqueue(RequestId id, const Request& request) {
  std::int64_t key = 0;
  switch (order_) {
    case Order::first_come: break;
    case Order::last_come: key = -static_cast<std::int64_t>(request.index); break;
    case Order::shortest_first: key = request.prompt_tokens; break;
    case Order::longest_first: key = -request.prompt_tokens; break;
  }
  waiting_.push_back({key, request.index, id});
  std::push_heap(waiting_.begin(), waiting_.end(), later);
}

void OneSlot::plan(const PlanContext& context, BatchPlan& plan) {
  context.take_decodes();
  if (busy_ || waiting_.empty()) return;
  const RequestId id = waiting_.front().id;
  const std::int32_t tokens = context.requests[id].prompt_tokens;
  if (!context.kv.try_grow({.id = id, .hold_tokens = tokens, .fit_tokens = tokens})) return;
  std::pop_heap(waiting_.begin(), waiting_.end(), later);
  waiting_.pop_back();
  plan.chunks.push_back({.id = id, .tokens = tokens, .admits = true, .samples = true});
  busy_ = true;
}

bool OneSlot::on_leave(RequestId) {
  busy_ = false;
  return true;
}

SchedulerMaker one_slot(Order order) {
  return [order](const SchedulerOptions&) { return std::make_unique<OneSlot>(order); };
}

SchedulerMaker losing_wake_ups() {
  return [](const SchedulerOptions& options) { return std::make_unique<LosingWakeUps>(options); };
}

}  // namespace headroom::laws
