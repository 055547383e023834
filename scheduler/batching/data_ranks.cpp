#include "scheduler/batching/data_ranks.hpp"

#include <algorithm>
#include <utility>

#include "sim/kernel/check.hpp"

namespace headroom {
namespace {

template <typename T>
void append(const std::vector<T>& part, std::vector<T>& whole) {
  whole.insert(whole.end(), part.begin(), part.end());
}

}  // namespace

DataRanks::DataRanks(std::vector<std::unique_ptr<BatchScheduler>> ranks, RankPools& pools,
                     std::size_t front_ends, std::uint64_t seed)
    : pools_(pools), balancer_(ranks.size(), front_ends, seed), reported_(ranks.size()) {
  HEADROOM_CHECK(ranks.size() == pools.count(), "a scheduler for each pool");
  for (auto& rank : ranks) ranks_.push_back({.scheduler = std::move(rank), .queue = {}});
}

std::uint16_t DataRanks::choose_rank(TimeNs now_ns) {
  return static_cast<std::uint16_t>(balancer_.choose(now_ns));
}

void DataRanks::enqueue(RequestId id, const Request& request) {
  join(id, request);
  ranks_[request.rank].scheduler->enqueue(id, request);
}

void DataRanks::enqueue_arrived(RequestId id, const Request& request) {
  join(id, request);
  ranks_[request.rank].scheduler->enqueue_arrived(id, request);
}

void DataRanks::join(RequestId id, const Request& request) {
  if (id >= places_.size()) places_.resize(std::size_t{id} + 1);
  places_[id] = {.rank = request.rank, .runs = false, .first_plan = plans_};
  ++ranks_[request.rank].queue.waiting;
}

// A rank reports its queue at the end of each step. Who has come since that step was planned is not
// in it yet.
void DataRanks::tell_balancer(TimeNs now_ns) {
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    reported_[rank] = {ranks_[rank].seen, ranks_[rank].queue.running};
  }
  balancer_.report(now_ns, reported_);
}

void DataRanks::plan(const PlanContext& context, BatchPlan& plan) {
  tell_balancer(context.now_ns);
  ++plans_;
  plan.steady_steps = context.horizon;
  bool reports_change = false;
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    Rank& rank = ranks_[i];
    part_.clear();
    const PlanContext own{.now_ns = context.now_ns,
                          .decodes_planned = context.decodes_planned,
                          .requests = context.requests,
                          .kv = pools_.of(i),
                          .decodes = context.rank_decodes[i],
                          .decodes_in_flight = context.decodes_in_flight,
                          .horizon = context.horizon};
    rank.scheduler->plan(own, part_);
    take_over(context, rank.queue, plan);
    rank.seen = rank.queue.waiting;
    reports_change = reports_change || !(rank.queue == reported_[i]);
  }
  context.decodes.advance(1);
  pools_.add_up();
  // Reports must not depend on how many steps are taken at once: a change is told at the next step
  // end, and the plan after an arrival comes at the next one, whether it can run or not.
  if (reports_change) plan.steady_steps = 1;
  plan.arrivals_can_join = true;
}

// What one rank's plan changes, in the plan of all.
void DataRanks::take_over(const PlanContext& context, RankQueue& queue, BatchPlan& plan) {
  HEADROOM_CHECK(!part_.decodes_pause && part_.verified.empty() && part_.swapped.empty() &&
                     part_.failure == PlanFailure::none,
                 "a plan that data ranks do not make");
  for (const RequestId id : part_.preempted) {
    const Request& request = context.requests[id];
    if (request.state == RequestState::decoding) {
      const TokenCount held = computed_by(request, context.decodes_planned);
      context.decodes.leave(context.kv.row_of(request, held));
    }
    places_[id].runs = false;
    --queue.running;
    ++queue.waiting;
  }
  for (const Chunk& chunk : part_.chunks) {
    if (!chunk.admits) continue;
    places_[chunk.id].runs = true;
    ++queue.running;
    --queue.waiting;
  }
  queue.waiting -= static_cast<std::int64_t>(part_.rejected.size());
  append(part_.preempted, plan.preempted);
  append(part_.chunks, plan.chunks);
  append(part_.rejected, plan.rejected);
  plan.steady_steps = std::min(plan.steady_steps, part_.steady_steps);
  plan.wake_at_ns = std::min(plan.wake_at_ns, part_.wake_at_ns);
}

bool DataRanks::on_leave(RequestId id) {
  const Place& place = places_[id];
  Rank& rank = ranks_[place.rank];
  if (place.runs) {
    --rank.queue.running;
  } else {
    --rank.queue.waiting;
    if (place.first_plan < plans_) --rank.seen;
  }
  return rank.scheduler->on_leave(id);
}

void DataRanks::on_engine_lost() {
  for (Rank& rank : ranks_) {
    rank.scheduler->on_engine_lost();
    rank.queue.running = 0;
  }
}

}  // namespace headroom
