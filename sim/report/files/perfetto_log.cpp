#include "sim/report/files/perfetto_log.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/metrics/cost_meter.hpp"
#include "sim/metrics/kv_meter.hpp"
#include "sim/metrics/run_view.hpp"
#include "sim/report/json/names.hpp"

namespace headroom {
namespace {

// Exact: whole nanoseconds are thousandths of a microsecond.
std::string microseconds(TimeNs ns) { return fmt::format("{}.{:03}", ns / 1000, ns % 1000); }

int process_of(std::uint16_t replica) { return replica + 1; }

std::string_view kind_of(const StepShape& shape) {
  if (shape.chunk_rows == 0) return "decode";
  return shape.decode_rows == 0 ? "prefill" : "prefill and decode";
}

std::string step_arguments(const StepRun& run, const RunView& view) {
  const StepShape& shape = *run.shape;
  std::string text = fmt::format(
      "\"first_step\":{},\"steps\":{},\"decode_rows\":{},\"prefill_rows\":{},"
      "\"prefill_tokens\":{}",
      run.first_step, run.steps, shape.decode_rows, shape.chunk_rows, shape.chunk_tokens);
  CostMeter meter;
  meter.add(view);
  for (std::size_t i = 0; i < kCostTermCount; ++i) {
    const auto term = static_cast<CostTerm>(i);
    const TickSum ticks = meter.term(term);
    if (ticks == 0) continue;
    text += fmt::format(",\"{}_us\":{}", name_of(term), microseconds(floor_ns(ticks)));
  }
  return text;
}

bool is_instant(EngineEventKind kind) {
  switch (kind) {
    case EngineEventKind::preempted:
    case EngineEventKind::rejected:
    case EngineEventKind::cancelled:
    case EngineEventKind::oom:
    case EngineEventKind::engine_lost:
    case EngineEventKind::engine_restarted:
    case EngineEventKind::overloaded:
    case EngineEventKind::crashed:
    case EngineEventKind::requeued:
    case EngineEventKind::escalated: return true;
    case EngineEventKind::queued:
    case EngineEventKind::admitted:
    case EngineEventKind::placement_refused: return false;
  }
  return false;
}

}  // namespace

PerfettoLog::PerfettoLog(const std::string& path) : file_(path) {
  file_.write("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[");
}

PerfettoLog::Track& PerfettoLog::track(std::uint16_t replica) {
  Track& found = tracks_[replica];
  if (!found.is_named) {
    found.is_named = true;
    const int process = process_of(replica);
    write(fmt::format(R"("ph":"M","pid":{},"name":"process_name","args":{{"name":"replica {}"}})",
                      process, replica));
    write(fmt::format(R"("ph":"M","pid":{},"tid":1,"name":"thread_name","args":{{"name":"steps"}})",
                      process));
  }
  return found;
}

void PerfettoLog::write(const std::string& event) {
  file_.write(any_ ? ",\n{" : "\n{");
  file_.write(event);
  file_.write("}");
  any_ = true;
}

void PerfettoLog::write_population(std::uint16_t replica, TimeNs time_ns, std::int64_t running,
                                   std::int64_t waiting) {
  Track& last = tracks_[replica];
  if (time_ns > 0 && running == last.running && waiting == last.waiting) return;
  last.running = running;
  last.waiting = waiting;
  write(fmt::format(
      R"("ph":"C","pid":{},"name":"requests","ts":{},"args":{{"running":{},"waiting":{}}})",
      process_of(replica), microseconds(time_ns), running, waiting));
}

void PerfettoLog::write_kv(std::uint16_t replica, TimeNs time_ns, const ReplicaState& state) {
  const KvSplit kv = split_of(state);
  write(fmt::format(R"("ph":"C","pid":{},"name":"KV tokens","ts":{},"args":{{"used":{},)"
                    R"("reserved":{},"internal":{},"cached":{}}})",
                    process_of(replica), microseconds(time_ns), kv.used, kv.reserved, kv.internal,
                    kv.cached));
}

// The report counts the queue at the run's end: what changed it since the beginning is taken off,
// and then told at its time.
void PerfettoLog::on_steps(const StepRun& run) {
  Track& at = track(run.replica);
  const RunView view = view_of(run);
  const TimeNs begin_ns = floor_ns(run.begin);
  const TimeNs end_ns = floor_ns(view.end);
  write(fmt::format(R"("ph":"X","pid":{},"tid":1,"name":"{}","ts":{},"dur":{},"args":{{{}}})",
                    process_of(run.replica), kind_of(*run.shape), microseconds(begin_ns),
                    microseconds(end_ns - begin_ns), step_arguments(run, view)));

  std::vector<Change> changes;
  changes.swap(at.changes);
  std::int64_t waiting = run.state->waiting;
  for (const Change& change : changes) {
    if (change.time_ns > begin_ns) waiting -= change.requests;
  }
  std::int64_t before = at.waiting;
  for (const Change& change : changes) {
    if (change.time_ns >= begin_ns) break;
    before += change.requests;
    write_population(run.replica, change.time_ns, at.running, before);
  }
  write_population(run.replica, begin_ns, run.state->running, waiting);
  for (const Change& change : changes) {
    if (change.time_ns <= begin_ns) continue;
    waiting += change.requests;
    write_population(run.replica, change.time_ns, run.state->running, waiting);
  }
  write_kv(run.replica, begin_ns, *run.state);
  if (run.steps > 1) {
    const TimeNs last_ns = floor_ns(run.begin + ticks_of(run, run.steps - 1));
    write_kv(run.replica, last_ns, state_in_step(view, run.steps - 1));
  }
}

void PerfettoLog::on_idle(std::uint16_t replica, TickSum instant, const ReplicaState& state) {
  Track& at = track(replica);
  at.changes.clear();  // all are in the state
  write_population(replica, floor_ns(instant), state.running, state.waiting);
  write_kv(replica, floor_ns(instant), state);
}

void PerfettoLog::on_event(const EngineEvent& event) {
  Track& at = track(event.replica);
  if (event.kind == EngineEventKind::queued || event.kind == EngineEventKind::requeued ||
      event.kind == EngineEventKind::escalated) {
    at.changes.push_back({event.time_ns, 1});
  } else if (event.kind == EngineEventKind::cancelled && event.was_waiting) {
    at.changes.push_back({event.time_ns, -1});
  } else if (event.kind == EngineEventKind::preempted) {
    paused_[event.request].push_back({event.time_ns, -1});
  } else if (event.kind == EngineEventKind::admitted) {
    const auto pauses = paused_.find(event.request);
    if (pauses != paused_.end()) pauses->second.back().to_ns = event.time_ns;
  }
  if (!is_instant(event.kind)) return;
  const bool of_memory =
      event.kind == EngineEventKind::oom || event.kind == EngineEventKind::rejected;
  const std::string name = of_memory
                               ? fmt::format("{}: {}", name_of(event.kind), name_of(event.oom))
                               : std::string(name_of(event.kind));
  std::string arguments = fmt::format("\"tokens\":{}", event.tokens);
  if (event.request != UINT64_MAX) arguments += fmt::format(",\"request\":{}", event.request);
  write(fmt::format(R"("ph":"i","s":"p","pid":{},"tid":1,"name":"{}","ts":{},"args":{{{}}})",
                    process_of(event.replica), name, microseconds(event.time_ns), arguments));
}

void PerfettoLog::on_request(const RequestRecord& record) {
  if (record.finish_ns < 0) {
    unfinished_.push_back(record);  // its slices end with the run
  } else {
    write_request(record, record.finish_ns);
  }
}

void PerfettoLog::write_edge(const RequestRecord& record, std::string_view phase,
                             std::string_view name, TimeNs time_ns, std::string_view arguments) {
  write(fmt::format(R"("ph":"{}","cat":"request","id":{},"pid":{},"tid":1,"name":"{}","ts":{}{})",
                    phase, record.index, process_of(record.replica), name, microseconds(time_ns),
                    arguments));
}

// From one instant of the request to the next one, with the times in which it was preempted; to the
// end where the next one was not reached.
void PerfettoLog::write_phase(const RequestRecord& record, std::string_view name, TimeNs from_ns,
                              TimeNs next_ns, TimeNs end_ns) {
  if (from_ns < 0) return;
  const TimeNs to_ns = next_ns < 0 ? end_ns : next_ns;
  write_edge(record, "b", name, from_ns);
  const auto pauses = paused_.find(record.index);
  if (pauses != paused_.end()) {
    for (const Pause& pause : pauses->second) {
      if (pause.from_ns < from_ns || pause.from_ns >= to_ns) continue;
      write_edge(record, "b", "preempted", pause.from_ns);
      write_edge(record, "e", "preempted", pause.to_ns < 0 ? to_ns : std::min(pause.to_ns, to_ns));
    }
  }
  write_edge(record, "e", name, to_ns);
}

void PerfettoLog::write_request(const RequestRecord& record, TimeNs end_ns) {
  static_cast<void>(track(record.replica));
  const std::string name = fmt::format("request {}", record.index);
  write_edge(record, "b", name, record.arrival_ns,
             fmt::format(R"(,"args":{{"prompt_tokens":{},"output_tokens":{},"preemptions":{},)"
                         R"("outcome":"{}"}})",
                         record.prompt_tokens, record.output_tokens, record.preemptions,
                         name_of(record.outcome)));
  write_phase(record, "queued", record.queued_ns, record.first_scheduled_ns, end_ns);
  write_phase(record, "prefill", record.first_scheduled_ns, record.first_token_ns, end_ns);
  write_phase(record, "decode", record.first_token_ns, record.finish_ns, end_ns);
  write_edge(record, "e", name, end_ns);
  paused_.erase(record.index);
}

void PerfettoLog::finish(TimeNs end_ns) {
  for (const RequestRecord& record : unfinished_) write_request(record, end_ns);
  file_.write("\n]}\n");
  file_.publish();
}

}  // namespace headroom
