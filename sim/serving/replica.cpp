#include "sim/serving/replica.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/kernel/check.hpp"
#include "sim/kernel/likely.hpp"

namespace headroom {

Replica::Replica(std::uint16_t number, ReplicaParts parts, MetricsSink& sink)
    : core_(number, std::move(parts.options), *parts.kv, std::move(parts.adapters)),
      scheduler_(std::move(parts.scheduler)),
      kv_(std::move(parts.kv)),
      memory_(std::move(parts.memory)),
      rules_(parts.limits, core_.options.reservation),
      drafted_(core_.options.acceptance, core_.options.verified_tokens),
      reports_(core_, sink),
      exits_(core_, *scheduler_, reports_),
      ends_(core_, reports_, exits_, drafted_, windows_),
      plans_({core_, *scheduler_, reports_, exits_, drafted_, windows_, memory_},
             StepPricing(std::move(parts.cost), std::move(parts.slow_costs),
                         core_.options.cold_step_ticks),
             KvTransfers(std::move(parts.tier), core_.options.move_ticks_per_token)),
      outage_({core_, reports_, exits_, ends_, plans_, windows_, memory_}) {
  add_features(sink.wants_plans());
  core_.check_features();
  stops_for_first_tokens_ = core_.features.any(Features::api_server | Features::role);
  reports_.idle();
}

void Replica::add_features(bool told_plans) {
  ReplicaFeatures& features = core_.features;
  features.add(Features::api_server, reports_.api() != nullptr);
  features.add(Features::role, core_.remote.has_role());
  features.add(Features::drafts, drafted_.drafts() > 0);
  features.add(Features::adapters, core_.adapters.has_value());
  features.add(Features::windows, !core_.kv.sequence().uniform());
  features.add(Features::whole_answers, core_.options.responds_at_end);
  features.add(Features::growth, memory_.grows());
  features.add(Features::logprobs, memory_.counts_logprobs());
  features.add(Features::told_plans, told_plans);
  features.add(Features::ranks, core_.kv.ranks() != nullptr);
  features.add(Features::micro_batches, core_.time.has_micro_batches());
}

// --- arrivals -----------------------------------------------------------------------------------

RequestId Replica::submit(const Arrival& arrival, std::uint64_t index, TimeNs now_ns,
                          TimeNs queued_ns, const KvOffer* prefilled) {
  const RequestId id = core_.requests.add();
  Request& request = core_.requests[id];
  rules_.fill(request, arrival, index);
  if (rarely(arrival.first_token_deadline_ns != kNever)) stops_for_first_tokens_ = true;
  HEADROOM_CHECK(request.adapter == 0 || core_.adapters, "a request with an adapter without LoRA");
  if (turns_away(now_ns)) {
    reports_.turn_away(request, {.outcome = outage_.outcome(), .queued_ns = queued_ns},
                       ApiServer::patience_of(arrival), now_ns);
    core_.requests.remove(id);
    return kNoRequest;
  }
  const bool servable = rules_.can_ever_serve(request);
  if (!servable || rules_.is_full(core_.sums.residents() + core_.sums.waiting())) [[unlikely]] {
    reports_.turn_away(request,
                       {.event = servable ? EngineEventKind::overloaded : EngineEventKind::rejected,
                        .oom = rules_.fits_context(request) ? OomKind::rejected_too_long
                                                            : OomKind::context_length_exceeded,
                        .queued_ns = queued_ns},
                       ApiServer::patience_of(arrival), now_ns);
    core_.requests.remove(id);
    return kNoRequest;
  }

  if (core_.features.any(Features::ranks)) [[unlikely]] {
    request.rank = scheduler_->choose_rank(now_ns);
  }
  RequestStory& story = core_.begin_story(id);
  story.output_tokens = output_of(request, arrival);
  story.queued_ns = queued_ns < 0 ? now_ns : queued_ns;
  if (core_.features.any(Features::api_server | Features::role)) [[unlikely]] {
    if (ApiServer* api = reports_.api()) api->queued(id, arrival);
    if (core_.remote.has_role()) core_.remote.begin(id, request, story, prefilled);
  }
  core_.enter_queue(id);
  if (mostly(prefilled == nullptr)) scheduler_->enqueue(id, request);
  reports_.event(
      {.kind = mostly(queued_ns < 0) ? EngineEventKind::queued : EngineEventKind::requeued,
       .time_ns = now_ns,
       .replica = core_.number,
       .request = index,
       .tokens = request.prompt_tokens});
  // The scheduler's word is about its own queue.
  if (core_.time.idle() || plans_.arrivals_can_join() || prefilled != nullptr) wake(now_ns);
  return id;
}

// There is something new to plan with.
void Replica::wake(TimeNs now_ns) {
  if (core_.time.next_plan_ns() <= now_ns || outage_.lasts_at(now_ns)) return;
  if (core_.time.idle()) {
    core_.time.plan_at(now_ns);
  } else {
    plans_.cut_at(now_ns);
  }
}

void Replica::send(const Arrival& arrival, std::uint64_t index, TimeNs now_ns) {
  ends_.run_before(now_ns);
  reports_.api()->send(arrival, index, core_.number, now_ns);
}

std::optional<Admission> Replica::admit_sent(TimeNs now_ns) {
  const std::optional<ApiServer::Ready> ready = reports_.api()->take_ready(now_ns);
  if (!ready) return std::nullopt;
  ends_.run_before(now_ns);
  return Admission{ready->arrival, ready->index, submit(ready->arrival, ready->index, now_ns)};
}

// --- clients that give up -----------------------------------------------------------------------

void Replica::cancel(RequestId id, TimeNs now_ns) {
  RequestStory& story = core_.stories[id];
  story.cancelled = true;
  const bool waits = core_.requests[id].state == RequestState::waiting;
  const bool in_flight =
      !waits || story.counted_to > core_.time.completed() || core_.remote.holds_early(id);
  if (in_flight && !core_.options.cancels_running) return;
  if (!core_.time.idle()) plans_.cut_at(now_ns);
  if (in_flight && !core_.time.idle() && core_.time.next_plan_ns() != now_ns) {
    return exits_.withdraw_then(id);
  }
  exits_.withdraw(id, now_ns);
  if (core_.time.idle() && !outage_.lasts_at(now_ns)) core_.time.plan_at(now_ns);
}

// --- prompts computed on one replica and decoded on another -------------------------------------

TokenCount Replica::cached_tokens(const Arrival& arrival) const {
  Request request;
  request.index = UINT64_MAX;  // of nobody who is here
  request.prompt_tokens = request.known_tokens = arrival.prompt_tokens;
  request.prefix = arrival.prefix;
  request.output_segment = arrival.output_segment;
  request.prompt_logprobs = arrival.prompt_logprobs;
  return core_.kv.cached_prefix(kNoRequest, request);
}

void Replica::receive_kv(RequestId id, TimeNs now_ns) {
  core_.remote.arrive(id);
  scheduler_->enqueue_arrived(id, core_.requests[id]);
  wake(now_ns);
}

void Replica::release_kv(const KvHold& hold, TimeNs now_ns) {
  core_.remote.leave_when_planning({.request = hold, .is_given_back = true});
  wake(now_ns);
}

void Replica::lose_kv(RequestId id, Outcome outcome, bool hand_back, TimeNs now_ns) {
  core_.remote.leave_when_planning({core_.stay(id), false, outcome, hand_back});
  wake(now_ns);
}

// --- time passes --------------------------------------------------------------------------------

void Replica::on_step_end(TimeNs now_ns) {
  if (core_.features.any(Features::micro_batches)) [[unlikely]] {
    core_.choose(core_.time.segments().front().micro_batch);
  }
  ends_.run_to(core_.time.next_stop_step());
  HEADROOM_CHECK(floor_ns(core_.time.clock()) == now_ns,
                 fmt::format("step end at {}", floor_ns(core_.time.clock())));
  if (core_.gaps.awaits_last_tokens()) [[unlikely]] {
    core_.gaps.note_last_tokens(core_.stories, core_.requests, core_.time.completed(),
                                reports_.latest_tokens());
  }
  ends_.process_stops();
  if (exits_.has_cancelled()) [[unlikely]] {
    exits_.withdraw_cancelled(now_ns);
  }
  if (core_.time.completed() >= core_.time.plan_due()) {
    core_.time.plan_instead_of_stop(now_ns);
  } else {
    core_.time.schedule_next_stop(stops_for_first_tokens_);
  }
  reports_.show_if_stale();
}

void Replica::on_plan(TimeNs now_ns) {
  outage_.try_end(now_ns);
  ends_.sync(core_.time.completed());
  core_.time.begin_planning(now_ns);
  const bool runs =
      !core_.features.any(Features::role | Features::growth) || act_before_plans(now_ns);
  while (mostly(runs) && core_.time.has_room() && plan_once(now_ns)) {
  }
  core_.time.end_planning();
  // An engine that outgrows its memory is found dead at the first planning instant after that.
  if (core_.features.any(Features::growth) && !core_.time.idle()) {
    const TimeNs fails_ns = memory_.fails_ns();
    if (fails_ns < kNever) core_.time.plan_again_by(fails_ns);
  }
  core_.time.schedule_next_stop(stops_for_first_tokens_);
  reports_.show_if_stale();
  if (!core_.time.idle()) return;
  reports_.idle();
  // Whoever was preempted last of all has left blocks to those that wait with theirs.
  const BatchPlan& plan = plans_.latest();
  if (core_.features.any(Features::role) && !plan.preempted.empty() && !outage_.lasts_at(now_ns)) {
    core_.time.plan_at(now_ns);
  }
  if (core_.time.next_plan_ns() == kNever) core_.time.plan_at(plan.wake_at_ns);
}

// False: the engine died of what has grown since it started.
bool Replica::act_before_plans(TimeNs now_ns) {
  exits_.leave_for_others(now_ns);
  if (now_ns < memory_.fails_ns()) return true;
  plans_.forget_latest();
  const MemoryShortage shortage = memory_.growth_shortage(now_ns);
  outage_.lose_engine(now_ns, shortage.kind, &shortage);
  return false;
}

// False: there is nothing to run, or the engine died over it.
bool Replica::plan_once(TimeNs now_ns) {
  const StepPlans::Planned planned = plans_.plan(now_ns);
  if (mostly(planned == StepPlans::Planned::step)) return true;
  if (planned == StepPlans::Planned::batch_dies) {
    outage_.fail_running(now_ns);
  } else if (planned == StepPlans::Planned::engine_dies) {
    const std::optional<MemoryShortage>& shortage = plans_.shortage();
    outage_.lose_engine(now_ns, shortage ? shortage->kind : OomKind::runtime_device,
                        shortage ? &*shortage : nullptr);
  }
  return false;
}

void Replica::stop(TimeNs now_ns) {
  // The step in flight was planned, its blocks are taken.
  if (ends_.run_short_of_stop(now_ns)) ends_.sync(core_.time.completed());
  std::vector<RequestId> left;
  for (RequestId id = 0; id < core_.stories.size(); ++id) {
    if (core_.stories[id].here && !core_.stories[id].recorded) left.push_back(id);
  }
  std::ranges::sort(left, {}, [this](RequestId id) { return core_.requests[id].index; });
  for (const RequestId id : left) {
    if (core_.stories[id].first_token_ns > now_ns) core_.stories[id].first_token_ns = -1;
    reports_.record(id, Outcome::unfinished, -1);
  }
  reports_.stop(now_ns);
}

void Replica::use_cost(std::int32_t number, TimeNs now_ns) {
  plans_.use_cost(number);
  if (!core_.time.idle()) plans_.cut_at(now_ns);
}

// --- what others see ----------------------------------------------------------------------------

ReplicaLoad Replica::load(TimeNs now_ns) const {
  const ApiServer* api = reports_.api();
  ReplicaLoad load;
  load.running = core_.sums.running();
  load.waiting = core_.sums.waiting();
  load.waiting_tokens = core_.sums.waiting_tokens();
  if (api != nullptr) {
    load.waiting += static_cast<std::int64_t>(api->held());
    load.waiting_tokens += api->held_tokens();
  }
  load.outstanding_tokens = reports_.shown().generated_tokens();
  load.kv_tokens = reports_.shown().kv_tokens();
  load.kv_capacity = core_.kv.pool().total_blocks * core_.kv.pool().block_tokens;
  load.up = !outage_.lasts_at(now_ns);
  return load;
}

}  // namespace headroom
