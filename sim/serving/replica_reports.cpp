// The part of Replica that tells others: the sink of events, records and the state of the engine,
// the fleet of its load.

#include <fmt/format.h>

#include <algorithm>

#include "sim/kernel/check.hpp"
#include "sim/kernel/likely.hpp"
#include "sim/serving/replica.hpp"

namespace headroom {

ReplicaState Replica::state() const {
  ReplicaState now;
  core_.read_state(now);
  return now;
}

std::optional<std::int32_t> Replica::tokens_of(RequestId id, std::uint64_t index) const {
  if (id >= core_.stories.size()) return std::nullopt;
  const RequestStory& story = core_.stories[id];
  if (!story.here || story.recorded || core_.requests[id].index != index) return std::nullopt;
  return options_.responds_at_end ? 0 : core_.generated(id);
}

ReplicaLoad Replica::load(TimeNs now_ns) const {
  ReplicaLoad load;
  load.running = core_.sums.running();
  load.waiting = core_.sums.waiting() + (api_ ? static_cast<std::int64_t>(api_->held()) : 0);
  load.waiting_tokens = core_.sums.waiting_tokens();
  load.outstanding_tokens = shown_.generated_tokens();
  load.kv_tokens = shown_.kv_tokens();
  load.kv_capacity = core_.kv.pool().total_blocks * core_.kv.pool().block_tokens;
  load.up = !outage_.lasts_at(now_ns);
  return load;
}

void Replica::tell_overdue(TimeNs now_ns, TimeNs overdue_ns) {
  if (!tally_.tells_first_tokens()) return;
  for (RequestId id = 0; id < core_.stories.size(); ++id) {
    const RequestStory& story = core_.stories[id];
    const bool waits = story.here && !story.recorded && !story.cancelled &&
                       (story.first_token_ns < 0 || options_.responds_at_end);
    if (!waits) continue;
    const TimeNs waited_ns = now_ns - core_.requests[id].arrival_ns;
    if (waited_ns > overdue_ns) tally_.on_overdue(waited_ns);
  }
}

void Replica::report_event(EngineEventKind kind, TimeNs now_ns, RequestId id, TokenCount tokens,
                           OomKind oom, const MemoryShortage* shortage) {
  EngineEvent event;
  event.shortage = shortage;
  event.kind = kind;
  event.oom = oom;
  event.time_ns = now_ns;
  event.replica = number_;
  event.request = id == kNoRequest ? UINT64_MAX : core_.requests[id].index;
  event.tokens = tokens;
  if (kind == EngineEventKind::oom || kind == EngineEventKind::placement_refused) {
    const ReplicaState snapshot = state();
    event.state = &snapshot;
    sink_.on_event(event);
    return;
  }
  sink_.on_event(event);
}

// Behind apply_chunks(), before the step enters the pipeline. Rows of chunks are in the plan; who
// else decodes takes one token, or as many as the plan verifies.
void Replica::report_plan(TimeNs now_ns) {
  std::vector<PlannedRow> rows;
  std::vector<bool> has_row(core_.stories.size());
  const auto add = [&](RequestId id, TokenCount context, TokenCount tokens, bool admitted) {
    has_row[id] = true;
    if (tokens > 0) rows.push_back({core_.requests[id].index, context, tokens, admitted});
  };
  for (const Chunk& chunk : plan_.chunks) {
    add(chunk.id, chunk.context_tokens, chunk.tokens, chunk.admits);
  }
  const StepIndex planned = core_.time.planned_decodes();
  for (const VerifiedRow& row : plan_.verified) {
    add(row.id, computed_by(core_.requests[row.id], planned), row.tokens, false);
  }
  const bool runs = !plan_.decodes_pause && (!rows.empty() || core_.sums.decodes().size() > 0);
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
  for (const RequestId id : plan_.preempted) preempted.push_back(core_.requests[id].index);
  const ReplicaState now = state();
  sink_.on_plan({.replica = number_,
                 .time_ns = now_ns,
                 .step = core_.time.planned() + 1,
                 .rows = rows,
                 .preempted = preempted,
                 .state = &now});
}

void Replica::report_no_progress(TimeNs now_ns) {
  TokenCount wanted = 0;
  RequestId head = kNoRequest;
  for (RequestId id = 0; id < core_.stories.size(); ++id) {
    if (!core_.stories[id].here || core_.requests[id].state != RequestState::waiting) continue;
    if (head != kNoRequest && core_.requests[head].index < core_.requests[id].index) continue;
    head = id;
    wanted = core_.requests[id].known_tokens;
  }
  report_event(EngineEventKind::oom, now_ns, head, wanted, OomKind::thrash);
}

void Replica::turn_away(const Request& request, const Refusal& refusal,
                        const ApiServer::Patience& patience, TimeNs now_ns) {
  if (refusal.outcome == Outcome::rejected) {
    sink_.on_event({.kind = refusal.event,
                    .oom = rules_.fits_context(request) ? OomKind::rejected_too_long
                                                        : OomKind::context_length_exceeded,
                    .time_ns = now_ns,
                    .replica = number_,
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
  record.replica = number_;
  record.class_id = static_cast<std::uint8_t>(request.class_id);
  record.outcome = refusal.outcome;
  leave(record, patience);
}

void Replica::record(RequestId id, Outcome outcome, TimeNs finish_ns) {
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
      .replica = number_,
      .class_id = static_cast<std::uint8_t>(request.class_id),
      .outcome = seen};
  if (api_) [[unlikely]] {
    return leave(record, api_->patience_of(id));
  }
  tally_.depart(record);
}

void Replica::stop(TimeNs now_ns) {
  // The step in flight was planned, its blocks are taken.
  if (run_short_of_stop(now_ns)) sync(core_.time.completed());
  std::vector<RequestId> left;
  for (RequestId id = 0; id < core_.stories.size(); ++id) {
    if (core_.stories[id].here && !core_.stories[id].recorded) left.push_back(id);
  }
  std::sort(left.begin(), left.end(), [this](RequestId a, RequestId b) {
    return core_.requests[a].index < core_.requests[b].index;
  });
  for (const RequestId id : left) {
    if (core_.stories[id].first_token_ns > now_ns) core_.stories[id].first_token_ns = -1;
    record(id, Outcome::unfinished, -1);
  }
  if (api_) {
    for (const RequestRecord& record : api_->stop(number_, now_ns)) tally_.depart(record);
  }
  tally_.check_settled();
}

}  // namespace headroom
