#include "sim/serving/replica_reports.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "sim/kernel/check.hpp"

namespace headroom {

ReplicaReports::ReplicaReports(const ReplicaCore& core, MetricsSink& sink)
    : core_(core), sink_(sink), tally_(sink, core.options.responds_at_end) {
  if (core.options.api_server.processes == 0) return;
  HEADROOM_CHECK(!core.options.responds_at_end, "an API server of an engine without streams");
  api_.emplace(core.options.api_server);
}

void ReplicaReports::event(EngineEventKind kind, TimeNs now_ns, RequestId id, TokenCount tokens,
                           OomKind oom, const MemoryShortage* shortage) {
  EngineEvent event;
  event.shortage = shortage;
  event.kind = kind;
  event.oom = oom;
  event.time_ns = now_ns;
  event.replica = core_.number;
  event.request = id == kNoRequest ? UINT64_MAX : core_.requests[id].index;
  event.tokens = tokens;
  if (kind == EngineEventKind::oom || kind == EngineEventKind::placement_refused) {
    const ReplicaState snapshot = core_.state();
    event.state = &snapshot;
    sink_.on_event(event);
    return;
  }
  sink_.on_event(event);
}

// Rows of chunks are in the plan; who else decodes takes one token, or as many as the plan
// verifies.
void ReplicaReports::plan(const BatchPlan& plan, TimeNs now_ns) {
  std::vector<PlannedRow> rows;
  std::vector<bool> has_row(core_.stories.size());
  const auto add = [&](RequestId id, TokenCount context, TokenCount tokens, bool admitted) {
    has_row[id] = true;
    if (tokens > 0) rows.push_back({core_.requests[id].index, context, tokens, admitted});
  };
  for (const Chunk& chunk : plan.chunks) {
    add(chunk.id, chunk.context_tokens, chunk.tokens, chunk.admits);
  }
  const StepIndex planned = core_.time.planned_decodes();
  for (const VerifiedRow& row : plan.verified) {
    add(row.id, computed_by(core_.requests[row.id], planned), row.tokens, false);
  }
  const bool runs = !plan.decodes_pause && (!rows.empty() || core_.sums.decodes().size() > 0);
  for (RequestId id = 0; runs && id < core_.stories.size(); ++id) {
    const Request& request = core_.requests[id];
    const bool decodes =
        request.state == RequestState::decoding || request.state == RequestState::ghost;
    if (!core_.stories[id].here || !decodes || has_row[id]) continue;
    if (request.micro_batch != core_.time.micro_batch()) continue;
    add(id, computed_by(request, planned), 1, false);
  }
  std::ranges::sort(rows, {}, &PlannedRow::request);
  std::vector<std::uint64_t> preempted;
  for (const RequestId id : plan.preempted) preempted.push_back(core_.requests[id].index);
  const ReplicaState now = core_.state();
  sink_.on_plan({.replica = core_.number,
                 .time_ns = now_ns,
                 .step = core_.time.planned() + 1,
                 .rows = rows,
                 .preempted = preempted,
                 .state = &now});
}

void ReplicaReports::no_progress(TimeNs now_ns) {
  TokenCount wanted = 0;
  RequestId head = kNoRequest;
  for (RequestId id = 0; id < core_.stories.size(); ++id) {
    if (!core_.stories[id].here || core_.requests[id].state != RequestState::waiting) continue;
    if (head != kNoRequest && core_.requests[head].index < core_.requests[id].index) continue;
    head = id;
    wanted = core_.requests[id].known_tokens;
  }
  event(EngineEventKind::oom, now_ns, head, wanted, OomKind::thrash);
}

void ReplicaReports::turn_away(const Request& request, const Refusal& refusal,
                               const ApiServer::Patience& patience, TimeNs now_ns) {
  if (refusal.outcome == Outcome::rejected) {
    sink_.on_event({.kind = refusal.event,
                    .oom = refusal.oom,
                    .time_ns = now_ns,
                    .replica = core_.number,
                    .request = request.index,
                    .tokens = TokenCount{request.prompt_tokens} + request.max_tokens});
  }
  RequestRecord record;
  record.queued_ns = refusal.queued_ns;
  record.arrival_ns = request.arrival_ns;
  record.finish_ns = now_ns;
  record.index = request.index;
  record.prompt_tokens = request.prompt_tokens;
  record.max_tokens = request.max_tokens;
  record.replica = core_.number;
  record.class_id = static_cast<std::uint8_t>(request.class_id);
  record.outcome = refusal.outcome;
  leave(record, patience);
}

void ReplicaReports::record(RequestId id, Outcome outcome, TimeNs finish_ns) {
  const Request& request = core_.requests[id];
  const RequestStory& story = core_.stories[id];
  const std::int32_t generated = core_.generated(id);
  tally_.settle(generated - core_.remote.carried(id));
  HEADROOM_CHECK(
      outcome != Outcome::finished ||
          (generated == story.output_tokens && request.arrival_ns <= story.first_scheduled_ns &&
           story.first_scheduled_ns <= story.first_token_ns &&
           (api_ || story.first_token_ns <= finish_ns)),
      fmt::format("request {} finished at {} with {} of {} tokens", request.index, finish_ns,
                  generated, story.output_tokens));
  // Whatever came of it, nobody was there to read it.
  const Outcome seen =
      outcome == Outcome::finished && story.cancelled ? Outcome::cancelled : outcome;
  const RequestRecord record{
      .arrival_ns = request.arrival_ns,
      .queued_ns = story.queued_ns,
      .first_scheduled_ns = story.first_scheduled_ns,
      .first_token_ns = story.first_token_ns,
      .finish_ns = finish_ns,
      .index = request.index,
      .prompt_tokens = request.prompt_tokens,
      .output_tokens = generated,
      .max_tokens = core_.remote.max_tokens(id, request),
      .preemptions = static_cast<std::uint16_t>(std::min(request.preemptions, 65535)),
      .replica = core_.number,
      .class_id = static_cast<std::uint8_t>(request.class_id),
      .outcome = seen};
  if (api_) [[unlikely]] {
    return leave(record, api_->patience_of(id));
  }
  tally_.depart(record);
}

void ReplicaReports::leave(const RequestRecord& record, const ApiServer::Patience& patience) {
  if (core_.features.any(ReplicaFeatures::api_server) && record.outcome != Outcome::unfinished) {
    return api_->answer(record, patience,
                        std::max(core_.time.clock(), ticks_from_ns(record.finish_ns)));
  }
  tally_.depart(record);
}

void ReplicaReports::collect_answers(TimeNs now_ns) {
  while (const std::optional<RequestRecord> record = api_->take_answer(now_ns)) {
    tally_.depart(*record);
  }
}

void ReplicaReports::stop(TimeNs now_ns) {
  if (api_) {
    for (const RequestRecord& record : api_->stop(core_.number, now_ns)) tally_.depart(record);
  }
  tally_.check_settled();
}

void ReplicaReports::overdue(TimeNs now_ns, TimeNs overdue_ns) {
  if (!tally_.tells_first_tokens()) return;
  for (RequestId id = 0; id < core_.stories.size(); ++id) {
    const RequestStory& story = core_.stories[id];
    const bool waits = story.here && !story.recorded && !story.cancelled &&
                       (story.first_token_ns < 0 || core_.options.responds_at_end);
    if (!waits) continue;
    const TimeNs waited_ns = now_ns - core_.requests[id].arrival_ns;
    if (waited_ns > overdue_ns) tally_.on_overdue(waited_ns);
  }
}

}  // namespace headroom
