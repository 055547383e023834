#include "sim/serving/fleet.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/kernel/check.hpp"
#include "sim/kernel/likely.hpp"
#include "sim/serving/route_stages.hpp"

namespace headroom {
namespace {

bool has_entry_work(const ReplicaParts& part) { return part.options.entry.any(); }

FleetSources sources_of(const std::vector<ReplicaParts>& parts, const FleetParts& fleet) {
  const auto replicas = static_cast<std::uint32_t>(parts.size());
  const bool served = !parts.empty() && parts.front().options.api_server.processes > 0;
  const auto one_if = [](bool is_there) { return is_there ? 1U : 0U; };
  return {{SourceKind::replica, replicas},
          {SourceKind::workload, 1},
          {SourceKind::api_server, served ? replicas : 0},
          {SourceKind::entries, one_if(std::ranges::any_of(parts, has_entry_work))},
          {SourceKind::handovers, one_if(fleet.disaggregation.has_value())},
          {SourceKind::verdicts, one_if(fleet.stages.has_value())},
          {SourceKind::faults, one_if(fleet.faults != nullptr), true},
          {SourceKind::lifecycle, one_if(fleet.lifecycle != nullptr), true}};
}

std::optional<EntryQueues> make_entries(const std::vector<ReplicaParts>& parts) {
  if (std::ranges::none_of(parts, has_entry_work)) return std::nullopt;
  std::vector<EntryWork> work;
  work.reserve(parts.size());
  for (const ReplicaParts& part : parts) work.push_back(part.options.entry);
  return EntryQueues(work);
}

std::unique_ptr<RouteStages> make_stages(std::optional<RouteStagesParts>& parts,
                                         std::size_t replicas, MetricsSink& sink) {
  if (!parts) return nullptr;
  return std::make_unique<RouteStages>(std::move(*parts), replicas, sink);
}

}  // namespace

Fleet::Fleet(const FleetOptions& options, std::vector<ReplicaParts> parts, FleetParts fleet_parts,
             WorkloadSource& workload, MetricsSink& sink)
    : options_(options),
      parts_(std::move(fleet_parts)),
      workload_(workload),
      stages_(make_stages(parts_.stages, parts.size(), sink)),
      sink_(stages_ ? stages_->sink() : sink),
      sources_(sources_of(parts, parts_)),
      events_(sources_.count()),
      loads_(parts.size()),
      noted_loads_(parts.size()),
      prompt_tokens_(parts.size()),
      pending_(parts.size()),
      entries_(make_entries(parts)) {
  HEADROOM_CHECK(!parts.empty(), "a fleet has a replica");
  HEADROOM_CHECK(std::ranges::all_of(parts,
                                     [&parts](const ReplicaParts& part) {
                                       return (part.options.api_server.processes > 0) ==
                                              (parts.front().options.api_server.processes > 0);
                                     }),
                 "some replicas have an API server and some have none");
  HEADROOM_CHECK((options.full_check_interval & (options.full_check_interval - 1)) == 0,
                 "the interval of full checks is a power of two");
  std::vector<ReplicaRole> roles;
  for (ReplicaParts& part : parts) {
    roles.push_back(part.options.role);
    const auto number = static_cast<std::uint16_t>(replicas_.size());
    replicas_.push_back(std::make_unique<Replica>(number, std::move(part), sink_));
  }
  loads_are_looked_at_ = replicas_.size() > 1 || parts_.admission || parts_.lifecycle;
  has_daemons_ = parts_.faults || parts_.lifecycle;
  if (parts_.disaggregation) {
    HEADROOM_CHECK(!stages_, "roles with routes");
    apart_ = std::make_unique<Disaggregation>(std::move(*parts_.disaggregation), roles);
  }
  has_listeners_ = replicas_.front()->api_server() != nullptr || apart_ || parts_.lifecycle;
}

Fleet::~Fleet() = default;

void Fleet::begin() {
  run_position() = {0, 0, options_.seed};
  begin_places();
  for (std::uint32_t i = 0; i < replicas_.size(); ++i) {
    noted_loads_[i] = replicas_[i]->load(0);
    show_load(i, noted_loads_[i]);
  }
  schedule_arrival(0);
  schedule_daemons();
}

StopReason Fleet::run(const RunLimits& limits) {
  begin();
  RunPosition& position = run_position();
  RunWatch watch;
  StopReason reason = StopReason::drained;
  while (true) {
    const Event event = take_next();
    if (event.time_ns == kNever) break;
    if (rarely(has_daemons_) && sources_[event.source].daemon && only_daemons_wait()) break;
    if (event.time_ns > limits.until_ns) [[unlikely]] {
      reason = StopReason::until;
      break;
    }
    if (totals_.events >= watch.look_at) [[unlikely]] {
      if (const auto found = look(limits, watch)) {
        reason = *found;
        break;
      }
    }
    if (rarely(has_daemons_) && is_over()) break;
    HEADROOM_CHECK(event.time_ns >= totals_.end_ns, "time runs backwards");
    position.now_ns = totals_.end_ns = event.time_ns;
    position.event = ++totals_.events;
    handle(event.time_ns, event.priority, event.source);
  }
  // Nothing will ever happen again, yet requests wait: the silent hang of ENGINES.md 3.1.
  if (reason == StopReason::drained && totals_.arrived > departed_)
    reason = StopReason::no_progress;
  stop_at(reason == StopReason::until ? limits.until_ns : totals_.end_ns, reason);
  return reason;
}

// What need not be asked at every event: whether the run has to end, and whether the sums still are
// those of the requests, one replica at a time.
std::optional<StopReason> Fleet::look(const RunLimits& limits, RunWatch& watch) {
  const std::uint64_t events = totals_.events;
  const std::uint64_t since_check = events & (options_.full_check_interval - 1);
  if (since_check == 0 && events > 0) check_one();
  if (limits.interrupted != nullptr && limits.interrupted->load(std::memory_order_relaxed)) {
    return StopReason::interrupted;
  }
  if (events >= limits.max_events) return StopReason::max_events;
  if (events - watch.progress_at >= limits.no_progress_events) {
    if (tokens_out() == watch.tokens) return StopReason::no_progress;
    watch.tokens = tokens_out();
    watch.progress_at = events;
  }
  watch.look_at = std::min({limits.max_events, watch.progress_at + limits.no_progress_events,
                            events - since_check + options_.full_check_interval});
  return std::nullopt;
}

// The next event, taken out of the queue.
Event Fleet::take_next() {
  if (ahead_.time_ns == kNever) return events_.pop();
  const Event event = ahead_;
  ahead_.time_ns = kNever;
  return event;
}

// Of a source that is no replica.
void Fleet::handle_other(TimeNs now_ns, Priority priority, std::uint32_t source) {
  const auto [kind, number, daemon] = sources_[source];
  switch (kind) {
    case SourceKind::replica: return;  // by handle()
    case SourceKind::workload:
      return priority == Priority::arrival ? arrive(now_ns) : give_up(now_ns);
    case SourceKind::entries: return admit_held(now_ns);
    case SourceKind::handovers: return move_handovers(now_ns);
    case SourceKind::verdicts: return give_verdict(now_ns);
    case SourceKind::faults: return fail(now_ns);
    case SourceKind::lifecycle: return scale(now_ns);
    case SourceKind::api_server: break;
  }
  if (priority == Priority::arrival) {
    pending_[number].ready_ns = kNever;
    admit_sent(number, now_ns);
  } else {
    pending_[number].answer_ns = kNever;
  }
  account(number, now_ns);
  reschedule(number);
}

void Fleet::handle(TimeNs now_ns, Priority priority, std::uint32_t source) {
  // The workload is the first source behind the replicas.
  if (priority == Priority::arrival && source == replicas_.size()) return arrive(now_ns);
  if (source >= replicas_.size()) [[unlikely]] {
    return handle_other(now_ns, priority, source);
  }
  Replica& replica = *replicas_[source];
  if (priority == Priority::step_end) {
    pending_[source].stop_ns = kNever;
    replica.on_step_end(now_ns);
    // Otherwise nothing visible to others changes until the next plan.
    const bool told = has_news(replica);
    if (told) account(source, now_ns);
    // Most step ends need a plan in their own nanosecond. If nothing else happens in it, the plan
    // is next in order anyway and need not be queued.
    const TimeNs others_ns = events_.next_ns();
    if (rarely(replica.next_plan_ns() != now_ns) || rarely(others_ns == now_ns)) {
      if (!told && loads_are_looked_at_) account(source, now_ns);
      return reschedule(source);
    }
    replica.on_plan(now_ns);
    const bool seen = has_news(replica) || loads_are_looked_at_;
    if (!seen && run_ahead(replica, source, others_ns)) return;
  } else {
    pending_[source].plan_ns = kNever;
    replica.on_plan(now_ns);
  }
  if (has_news(replica) || loads_are_looked_at_) account(source, now_ns);
  reschedule(source);
}

// Where the next step end of a replica that has nothing in the queue comes before whatever else
// does, at `others_ns`, it need not go through there: so it is with two of three at low load.
bool Fleet::run_ahead(const Replica& replica, std::uint32_t number, TimeNs others_ns) {
  const bool is_next = replica.next_stop_ns() < others_ns && replica.next_plan_ns() == kNever &&
                       pending_[number].plan_ns == kNever;
  if (is_next) ahead_ = {replica.next_stop_ns(), Priority::step_end, number};
  return is_next;
}

void Fleet::arrive(TimeNs now_ns) {
  const Arrival arrival = workload_.take();
  HEADROOM_CHECK(
      arrival.time_ns <= now_ns && arrival.prompt_tokens >= 1 && arrival.output_tokens >= 1,
      fmt::format("arrival at {} with {} + {} tokens", arrival.time_ns, arrival.prompt_tokens,
                  arrival.output_tokens));
  const std::uint64_t index = totals_.arrived++;
  next_arrival_ns_ = kNever;  // taken
  if (rarely(parts_.admission != nullptr) && !parts_.admission->admits(arrival, door(now_ns))) {
    return turn_away(arrival, index, now_ns);
  }
  if (stages_) [[unlikely]] {
    return send(stages_->begin(arrival, index), index, now_ns);
  }
  send(arrival, index, now_ns);
}

void Fleet::send(const Arrival& arrival, std::uint64_t index, TimeNs now_ns) {
  if (keeps_arrivals()) [[unlikely]] {
    in_flight_.insert_or_assign(index, arrival);
  }
  const std::uint32_t number = first_replica(arrival, index, now_ns);
  if (number == kNoReplica) [[unlikely]] {
    return turn_away(arrival, index, now_ns);
  }
  prompt_tokens_[number] += arrival.prompt_tokens;
  if (replicas_[number]->api_server() != nullptr) [[unlikely]] {
    replicas_[number]->send(arrival, index, now_ns);
    admit_sent(number, now_ns);
  } else if (entries_ && hold_back(arrival, index, number, now_ns)) {
    if (loads_are_looked_at_) note_load(number, now_ns);
    return schedule_arrival(now_ns);  // the replica knows nothing of it yet
  } else {
    await(arrival, index, number, replicas_[number]->submit(arrival, index, now_ns));
  }
  schedule_arrival(now_ns);
  account(number, now_ns);
  reschedule(number);
}

void Fleet::admit_sent(std::uint32_t number, TimeNs now_ns) {
  while (const std::optional<Admission> sent = replicas_[number]->admit_sent(now_ns)) {
    await(sent->arrival, sent->index, number, sent->id);
  }
}

// Tells the workload who left; it may answer with requests that arrive at once.
void Fleet::account(std::uint32_t number, TimeNs now_ns) {
  Replica& replica = *replicas_[number];
  if (replica.api_server() != nullptr) [[unlikely]] {
    replica.collect_answers(now_ns);
  }
  if (!replica.departures().empty()) {
    for (const Departure& departure : replica.departures()) {
      prompt_tokens_[number] -= departure.prompt_tokens;
      if (stages_) [[unlikely]] {
        settle(departure, now_ns);
      } else {
        depart(departure.index, departure.outcome, now_ns);
      }
    }
    replica.departures().clear();
    schedule_arrival(now_ns);
    schedule_deadline();
  }
  if (apart_) [[unlikely]] {
    collect_handovers(number, now_ns);
  }
  check_totals(replica, number);
  if (loads_are_looked_at_) note_load(number, now_ns);
  if (apart_) [[unlikely]] {
    lose_handovers(number, now_ns);
  }
  if (parts_.lifecycle) [[unlikely]] {
    obey(now_ns);
  }
}

void Fleet::depart(std::uint64_t index, Outcome outcome, TimeNs now_ns) {
  ++departed_;
  if (apart_) [[unlikely]] {
    if (const auto over = apart_->end(index)) release_kv(*over, now_ns);
  }
  if (keeps_arrivals()) [[unlikely]] {
    in_flight_.erase(index);
  }
  if (rarely(options_.follows_requests)) places_.erase(index);
  if (stages_) [[unlikely]] {
    stages_->forget(index);
  }
  workload_.on_done(index, outcome, now_ns);
}

void Fleet::schedule_arrival(TimeNs now_ns) {
  const TimeNs next = workload_.next_time();
  if (next == next_arrival_ns_) return;
  HEADROOM_CHECK(next >= now_ns, "a workload in the past");
  schedule_anew(Priority::arrival, sources_.of(SourceKind::workload), next, next_arrival_ns_);
}

// `id` kNoRequest: it was rejected.
void Fleet::await(const Arrival& arrival, std::uint64_t index, std::uint32_t number, RequestId id) {
  if (id == kNoRequest) return;
  if (rarely(options_.follows_requests)) places_.insert_or_assign(index, Place{number, id});
  // Of one that begins anew: who waited for a first token until then had one, from a replica
  // before.
  const bool awaits_first = arrival.first_token_deadline_ns >= totals_.end_ns;
  if (arrival.first_token_deadline_ns != kNever && awaits_first) {
    deadlines_.push({arrival.first_token_deadline_ns, index, id, number, true});
  }
  if (arrival.deadline_ns != kNever) {
    deadlines_.push({arrival.deadline_ns, index, id, number, false});
  }
  schedule_deadline();
}

void Fleet::give_up(TimeNs now_ns) {
  next_deadline_ns_ = kNever;  // taken
  const Deadline deadline = deadlines_.top();
  deadlines_.pop();
  Replica& replica = *replicas_[deadline.replica];
  if (replica.awaits(deadline.id, deadline.index, deadline.first_token, now_ns)) {
    replica.cancel(deadline.id, now_ns);
    account(deadline.replica, now_ns);
    reschedule(deadline.replica);
  }
  schedule_deadline();
}

void Fleet::schedule_first_deadline() {
  while (!deadlines_.empty()) {
    const Deadline& next = deadlines_.top();
    const Replica& replica = *replicas_[next.replica];
    if (replica.awaits(next.id, next.index, next.first_token, next.time_ns)) break;
    deadlines_.pop();
  }
  const TimeNs next_ns = deadlines_.empty() ? kNever : deadlines_.top().time_ns;
  reschedule(Priority::cancel, sources_.of(SourceKind::workload), next_ns, next_deadline_ns_);
}

void Fleet::reschedule(std::uint32_t number) {
  const Replica& replica = *replicas_[number];
  reschedule(Priority::step_end, number, replica.next_stop_ns(), pending_[number].stop_ns);
  reschedule(Priority::plan, number, replica.next_plan_ns(), pending_[number].plan_ns);
  const ApiServer* api = replica.api_server();
  if (api == nullptr) return;
  Pending& pending = pending_[number];
  const std::uint32_t server = sources_.of(SourceKind::api_server, number);
  reschedule(Priority::step_end, server, api->next_answer_ns(), pending.answer_ns);
  reschedule(Priority::arrival, server, api->next_ready_ns(), pending.ready_ns);
}

void Fleet::schedule_anew(Priority priority, std::uint32_t source, TimeNs wanted, TimeNs& pending) {
  pending = wanted;
  if (wanted == kNever) {
    events_.cancel(priority, source);
  } else {
    events_.schedule(wanted, priority, source);
  }
}

// Nothing is lost: every arrived request has left with an outcome or is still here (VERIFICATION
// V0.1). A streamed row that stays as a ghost has left, but keeps its slot.
void Fleet::check_totals(const Replica& replica, std::uint32_t number) {
  std::int64_t here = replica.present();
  if (const ApiServer* api = replica.api_server()) here += static_cast<std::int64_t>(api->held());
  here_ += here - pending_[number].here;
  pending_[number].here = here;
  HEADROOM_CHECK(totals_.arrived == departed_ + static_cast<std::uint64_t>(here_ + in_transit_),
                 fmt::format("{} arrived, {} left, {} here", totals_.arrived, departed_, here_));
}

void Fleet::check_one() {
  const std::uint64_t turn = totals_.events / options_.full_check_interval;
  replicas_[turn % replicas_.size()]->check_all();
}

void Fleet::stop_at(TimeNs now_ns, StopReason reason) {
  if (apart_) settle_handovers();
  if (entries_) settle_entries();
  totals_.end_ns = now_ns;
  if (parts_.lifecycle) totals_.lifecycle = parts_.lifecycle->totals(now_ns);
  if (apart_) {
    totals_.transfers = apart_->counts;
    totals_.transfer_records = apart_->take_records();
  }
  for (const auto& replica : replicas_) {
    replica->check_all();
    // In a fleet, only replicas that hold requests.
    const bool stuck = replicas_.size() == 1 || replica->live() > 0;
    if (reason == StopReason::no_progress && stuck) replica->report_no_progress(now_ns);
    replica->stop(now_ns);
    totals_.cost_evaluations += replica->priced_plans();
    totals_.replicas.push_back(replica->counts());
    if (const AdapterCounts* counts = replica->adapter_counts()) {
      if (!totals_.adapters) totals_.adapters.emplace();
      *totals_.adapters += *counts;
    }
    if (const ApiServer* api = replica->api_server()) {
      if (!totals_.api_server) totals_.api_server.emplace();
      *totals_.api_server += api->use();
    }
    const KvTierCounts* counts = replica->tier_counts();
    if (counts == nullptr) continue;
    if (!totals_.tier) totals_.tier.emplace();
    *totals_.tier += *counts;
  }
  if (!stages_) return;
  stages_->stop();
  totals_.routes = stages_->counts();
}

std::uint64_t Fleet::tokens_out() const {
  std::uint64_t tokens = 0;
  for (const auto& replica : replicas_) tokens += replica->tokens_out();
  return tokens;
}

}  // namespace headroom
