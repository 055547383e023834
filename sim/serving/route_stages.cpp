#include "sim/serving/route_stages.hpp"

#include <algorithm>
#include <utility>

#include "sim/kernel/check.hpp"
#include "sim/serving/route_router.hpp"
#include "sim/serving/scaled_tokens.hpp"

namespace headroom {
namespace {

constexpr std::uint64_t kEscalations = 0xE5CA1A;  // apart from other numbers made of the seed

// At least one token. What is too long for a record is too long for every engine as well.
std::int32_t tokens_of(Int128 tokens) {
  return static_cast<std::int32_t>(std::clamp<Int128>(tokens, 1, INT32_MAX));
}

// Declared room beyond the output grows as answers do: it cuts what it cut before, and no more.
void scale_output(Arrival& here, const TokenFactors& factors) {
  const bool is_declared = here.max_tokens > 0;
  if (is_declared) here.output_tokens = std::min(here.output_tokens, here.max_tokens);
  const std::int32_t room = here.max_tokens - here.output_tokens;
  const std::int32_t thought = std::min(here.thinking_tokens, here.output_tokens);
  here.output_tokens =
      tokens_of(scaled_output(here.output_tokens, thought, factors.output, factors.thinking));
  here.thinking_tokens =
      thought == 0 ? 0 : std::min(tokens_of(factors.thinking.product(thought)), here.output_tokens);
  if (!is_declared) return;
  here.max_tokens = tokens_of(Int128{here.output_tokens} + factors.output.product(room));
}

}  // namespace

RouteStages::RouteStages(RouteStagesParts parts, std::size_t replicas, MetricsSink& sink)
    : parts_(std::move(parts)), sink_(sink), is_judged_(replicas), counts_(parts_.routes.size()) {
  HEADROOM_CHECK(parts_.router != nullptr, "routes without a router");
  for (const RouteStage& route : parts_.routes) {
    if (!route.escalation) continue;
    const Escalation& escalation = *route.escalation;
    HEADROOM_CHECK(escalation.to < parts_.routes.size() && escalation.judge_ns >= 0 &&
                       escalation.share > 0 && escalation.share <= 1,
                   "an escalation without a target, without a request, or into the past");
    for (const std::uint32_t replica : route.replicas) is_judged_.at(replica) = 1;
  }
}

// --- requests -----------------------------------------------------------------------------------

const Arrival& RouteStages::begin(const Arrival& arrival, std::uint64_t index) {
  Staged& request = requests_[index];
  request.traffic = arrival;
  request.route = parts_.router->route_of(arrival.class_id, index);
  enter(request, index, 0);
  return request.here;
}

std::uint32_t RouteStages::replica_for(const Arrival& here, std::uint64_t index,
                                       std::span<const ReplicaLoad> loads) {
  return parts_.router->route_within(requests_.at(index).route, here, index, loads);
}

// The draw depends on nothing but seed, route and number.
bool RouteStages::draws_escalation(std::size_t route, std::uint64_t index) const {
  const std::uint64_t salt = mixed_id(mixed_id(parts_.seed, kEscalations), route);
  const auto threshold =
      Uint128{static_cast<std::uint64_t>(parts_.routes[route].escalation->share * 0x1p53 + 0.5)}
      << 11;
  return Uint128{mixed_id(salt, index)} < threshold;
}

// `answer_tokens` of the traffic, of the route before, stand behind the prompt.
void RouteStages::enter(Staged& request, std::uint64_t index, TokenCount answer_tokens) {
  const RouteStage& stage = parts_.routes[request.route];
  ++counts_[request.route].arrived;
  Arrival& here = request.here;
  here = request.traffic;
  scale_prompt(request, answer_tokens);
  scale_output(here, stage.tokens);
  // No history contains an answer that was not kept, or one to a longer prompt.
  if (answer_tokens > 0) here.output_segment = 0;
  request.is_judged = false;
  request.escalates = stage.escalation && draws_escalation(request.route, index);
  if (!stage.escalation) return;
  if (request.escalates) here.output_segment = 0;
  // The client sees nothing before the verdict.
  here.deadline_ns = std::min(here.deadline_ns, here.first_token_deadline_ns);
  here.first_token_deadline_ns = kNever;
}

void RouteStages::scale_prompt(Staged& request, TokenCount answer_tokens) const {
  const DecimalFactor& factor = parts_.routes[request.route].tokens.input;
  Arrival& here = request.here;
  const Int128 tokens = factor.product(here.prompt_tokens + answer_tokens);
  here.prompt_tokens = tokens_of(tokens);
  if (factor.is_one()) return;
  request.prefix.clear();
  ScaledPrefix chain(factor, request.prefix);
  if (tokens <= INT32_MAX) {
    for (const PrefixSegment& segment : here.prefix) chain.add(segment);
  }
  here.prefix = request.prefix;
  if (here.output_segment != 0) here.output_segment = chain.id_behind(here.output_segment);
}

// --- verdicts -----------------------------------------------------------------------------------

bool RouteStages::has_left(std::uint64_t index, TimeNs now_ns) {
  const Staged& request = requests_.at(index);
  if (!request.is_judged) return true;
  const TimeNs judged_ns = now_ns + parts_.routes[request.route].escalation->judge_ns;
  const TimeNs patient_ns = std::max(now_ns, request.here.deadline_ns);
  verdicts_.push({std::min(judged_ns, patient_ns), answers_++, index, judged_ns <= patient_ns});
  return false;
}

RouteStages::Verdict RouteStages::take_verdict() {
  const Due due = verdicts_.top();
  verdicts_.pop();
  Staged& request = requests_.at(due.index);
  if (due.is_patient && request.escalates) {
    escalate(request, due.index);
    return {due.index, &request.here};
  }
  RequestRecord record = request.answer;
  record.finish_ns = due.time_ns;
  record.outcome = due.is_patient ? Outcome::finished : Outcome::cancelled;
  if (due.is_patient) record.first_token_ns = due.time_ns;
  pass_on(request, record);
  return {due.index, nullptr, record.outcome};
}

void RouteStages::escalate(Staged& request, std::uint64_t index) {
  const Escalation& escalation = *parts_.routes[request.route].escalation;
  RouteCounts& counts = counts_[request.route];
  ++counts.escalated;
  counts.wasted_tokens += request.answer.output_tokens;
  counts.wasted_input_tokens += request.answer.prompt_tokens;
  if (request.is_first) {
    request.queued_ns = request.answer.queued_ns;
    request.first_scheduled_ns = request.answer.first_scheduled_ns;
  }
  request.preemptions += request.answer.preemptions;
  request.is_first = false;
  // The same text is as many tokens more or less as a prompt is. Thinking is no part of it.
  const std::int32_t thought = std::min(request.here.thinking_tokens, request.answer.output_tokens);
  const Int128 answer = escalation.with_answer ? parts_.routes[request.route].tokens.input.quotient(
                                                     request.answer.output_tokens - thought)
                                               : 0;
  request.traffic.shared_prompt = 0;  // it is sent on its own
  request.route = escalation.to;
  ++counts_[request.route].from_routes;
  enter(request, index, static_cast<TokenCount>(answer));
}

void RouteStages::stop() {
  for (; !verdicts_.empty(); verdicts_.pop()) {
    const Staged& request = requests_.at(verdicts_.top().index);
    RequestRecord record = request.answer;
    record.finish_ns = -1;
    record.outcome = Outcome::unfinished;
    pass_on(request, record);
  }
}

// --- what clients see ---------------------------------------------------------------------------

void RouteStages::on_request(const RequestRecord& record) {
  const auto found = requests_.find(record.index);
  if (found == requests_.end()) return sink_.on_request(record);  // turned away before all routes
  Staged& request = found->second;
  if (record.outcome == Outcome::finished && parts_.routes[request.route].escalation) {
    request.is_judged = true;
    request.answer = record;
    request.answer.first_token_ns = -1;
    return;
  }
  RequestRecord seen = record;
  if (parts_.routes[request.route].escalation) seen.first_token_ns = -1;
  pass_on(request, seen);
}

void RouteStages::pass_on(const Staged& request, RequestRecord record) {
  RouteCounts& counts = counts_[request.route];
  ++counts.left[static_cast<std::size_t>(record.outcome)];
  if (record.outcome == Outcome::finished) counts.kept_tokens += record.output_tokens;
  if (!request.is_first) {
    record.queued_ns = request.queued_ns;
    record.first_scheduled_ns = request.first_scheduled_ns;
    const std::int32_t preemptions = record.preemptions + request.preemptions;
    record.preemptions = static_cast<std::uint16_t>(std::min(preemptions, 65535));
  }
  sink_.on_request(record);
}

// Tokens that are not streamed to a client have no gaps.
void RouteStages::on_steps(const StepRun& run) {
  if (is_judged_[run.replica] == 0) return sink_.on_steps(run);
  StepRun seen = run;
  seen.gaps_per_step = 0;
  seen.gaps = {};
  seen.other_gaps = {};
  sink_.on_steps(seen);
}

// The fleet has had it all the time.
void RouteStages::on_event(const EngineEvent& event) {
  if (event.kind == EngineEventKind::queued && !requests_.at(event.request).is_first) {
    EngineEvent again = event;
    again.kind = EngineEventKind::escalated;
    return sink_.on_event(again);
  }
  sink_.on_event(event);
}

}  // namespace headroom
