#include "scheduler/batching/data_ranks.hpp"

#include <algorithm>
#include <optional>
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
                     const Options& options)
    : pools_(pools),
      options_(options),
      balancer_(ranks.size(), options.front_ends, options.seed),
      agreement_(options.rules),
      reported_(ranks.size()) {
  HEADROOM_CHECK(ranks.size() == pools.count(), "a scheduler for each pool");
  for (auto& rank : ranks) ranks_.push_back({.scheduler = std::move(rank), .queue = {}});
}

std::uint16_t DataRanks::choose_rank(TimeNs now_ns) {
  std::size_t rank = 0;
  switch (options_.rules.choice) {
    case RankChoice::published: rank = balancer_.choose(now_ns); break;
    case RankChoice::shares: rank = least_held(); break;
    case RankChoice::in_turn: rank = next_in_turn_++ % ranks_.size(); break;
    case RankChoice::fewest_requests: rank = with_fewest_requests(); break;
    case RankChoice::fewest_tokens: rank = with_fewest_tokens(); break;
  }
  return static_cast<std::uint16_t>(rank);
}

std::size_t DataRanks::with_fewest_requests() const {
  const auto requests = [](const Rank& rank) { return rank.queue.all(); };
  return static_cast<std::size_t>(std::ranges::min_element(ranks_, {}, requests) - ranks_.begin());
}

std::size_t DataRanks::with_fewest_tokens() const {
  return static_cast<std::size_t>(std::ranges::min_element(ranks_, {}, &Rank::prompts) -
                                  ranks_.begin());
}

// The fewest tokens among the ranks that hold less than an equal share of all requests with this
// one, or than the fullest rank; of equal ones the fullest (TensorRT-LLM 1.2:
// _torch/pyexecutor/scheduler/adp_router.py, DefaultADPRouter.route_requests).
std::size_t DataRanks::least_held() const {
  std::int64_t all = 1;
  std::int64_t most = 0;
  for (const Rank& rank : ranks_) {
    all += rank.queue.all();
    most = std::max(most, rank.queue.all());
  }
  const std::int64_t count = std::ssize(ranks_);
  most = std::max(most, (all + count - 1) / count);
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    const Rank& rank = ranks_[i];
    if (rank.queue.all() >= most) continue;
    if (!best || rank.prompts < ranks_[*best].prompts ||
        (rank.prompts == ranks_[*best].prompts && rank.queue.all() > ranks_[*best].queue.all())) {
      best = i;
    }
  }
  return best.value_or(0);
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
  places_[id] = {
      .rank = request.rank, .prompt = request.prompt_tokens, .runs = false, .first_plan = plans_};
  ++ranks_[request.rank].queue.waiting;
  ranks_[request.rank].prompts += request.prompt_tokens;
}

// A rank reports its queue at the end of each step. Who has come since that step was planned is not
// in it yet.
void DataRanks::tell_balancer(TimeNs now_ns) {
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    reported_[rank] = {ranks_[rank].seen, ranks_[rank].queue.running};
  }
  balancer_.report(now_ns, reported_);
}

PlanContext DataRanks::context_of(std::size_t rank, const PlanContext& whole) const {
  return {.now_ns = whole.now_ns,
          .decodes_planned = whole.decodes_planned,
          .requests = whole.requests,
          .kv = pools_.of(rank),
          .decodes = whole.rank_decodes[rank],
          .decodes_in_flight = whole.decodes_in_flight,
          .horizon = whole.horizon,
          .decodes_go_on = !options_.rules.prompts_pause_all};
}

bool DataRanks::holds_prompts_back(const PlanContext& context) {
  PromptAgreement::Ranks all{true, true, true};
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    const PlanContext own = context_of(i, context);
    all.all_have_prompts = all.all_have_prompts && ranks_[i].scheduler->can_run_prompts(own);
    all.all_have_decodes = all.all_have_decodes && own.decodes.size() > 0;
    all.all_have_seats = all.all_have_seats && own.decodes.size() < options_.seats;
  }
  return agreement_.holds_back(context.decodes_planned, all);
}

void DataRanks::plan(const PlanContext& context, BatchPlan& plan) {
  tell_balancer(context.now_ns);
  ++plans_;
  plan.steady_steps = context.horizon;
  if (options_.rules.prompts_pause_all) {
    plan_ranks(context, PlanPart::prompts, plan);
    plan.decodes_pause = !plan.chunks.empty();
    if (!plan.decodes_pause) plan_ranks(context, PlanPart::decodes, plan);
  } else {
    plan_ranks(context, PlanPart::whole, plan);
  }
  bool reports_change = false;
  bool has_waiting = false;
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    Rank& rank = ranks_[i];
    rank.seen = rank.queue.waiting;
    reports_change = reports_change || !(rank.queue == reported_[i]);
    has_waiting = has_waiting || rank.queue.waiting > 0;
  }
  if (!plan.decodes_pause) context.decodes.advance(1);
  pools_.add_up();
  // Reports must not depend on how many steps are taken at once: a change is told at the next step
  // end, and the plan after an arrival comes at the next one, whether it can run or not.
  if (reports_change) plan.steady_steps = 1;
  // Whether they could run may change with every block that a decode takes, and so the agreement.
  if (options_.rules.prompts_together && has_waiting) plan.steady_steps = 1;
  plan.arrivals_can_join = true;
  plan.prompts_alone = options_.rules.prompts_alone;
}

void DataRanks::plan_ranks(const PlanContext& context, PlanPart part, BatchPlan& plan) {
  const bool holds_back = options_.rules.prompts_together && holds_prompts_back(context);
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    part_.clear();
    PlanContext own = context_of(i, context);
    own.prompts_wait = holds_back;
    own.part = part;
    ranks_[i].scheduler->plan(own, part_);
    take_over(context, ranks_[i], plan);
  }
}

// What one rank's plan changes, in the plan of all.
void DataRanks::take_over(const PlanContext& context, Rank& rank, BatchPlan& plan) {
  RankQueue& queue = rank.queue;
  HEADROOM_CHECK((!part_.decodes_pause || options_.rules.prompts_pause_all) &&
                     part_.swapped.empty() && part_.failure == PlanFailure::none,
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
  for (const RequestId id : part_.rejected) {
    rank.prompts -= places_[id].prompt;
    --queue.waiting;
  }
  append(part_.verified, plan.verified);
  append(part_.preempted, plan.preempted);
  append(part_.chunks, plan.chunks);
  append(part_.rejected, plan.rejected);
  plan.steady_steps = std::min(plan.steady_steps, part_.steady_steps);
  plan.wake_at_ns = std::min(plan.wake_at_ns, part_.wake_at_ns);
}

bool DataRanks::on_leave(RequestId id) {
  const Place& place = places_[id];
  Rank& rank = ranks_[place.rank];
  rank.prompts -= place.prompt;
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
