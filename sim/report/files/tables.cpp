// requests.csv, timeline.csv and events.jsonl: one row per request, sample or event.

#include <fmt/compile.h>
#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>
#include <string_view>

#include "sim/report/files/output_file.hpp"
#include "sim/report/files/result_files.hpp"
#include "sim/report/json/names.hpp"
#include "sim/report/json/result_json.hpp"
#include "sim/report/text/transfer_report.hpp"

namespace headroom {
namespace {

constexpr std::size_t kMaxCellBytes = 21;  // 64 bits and a comma
constexpr std::size_t kMaxRowBytes = 14 * kMaxCellBytes;

char* cell(char* at, std::int64_t value) { return fmt::format_to(at, FMT_COMPILE("{},"), value); }

// Instants that were not reached stay empty.
char* instant_cell(char* at, TimeNs ns) {
  if (ns >= 0) return cell(at, ns);
  *at = ',';
  return at + 1;
}

// Of a request that was turned away at the fleet's door, empty.
char* replica_cell(char* at, std::uint16_t replica) {
  return instant_cell(at, replica == kNoReplica ? -1 : replica);
}

char* last_cell(char* at, std::string_view text) {
  at = std::copy(text.begin(), text.end(), at);
  *at = '\n';
  return at + 1;
}

char* request_row(char* at, const RequestRecord& record) {
  at = cell(at, static_cast<std::int64_t>(record.index));
  at = cell(at, record.class_id);
  at = replica_cell(at, record.replica);
  at = instant_cell(at, record.arrival_ns);
  at = instant_cell(at, record.queued_ns);
  at = instant_cell(at, record.first_scheduled_ns);
  at = instant_cell(at, record.first_token_ns);
  at = instant_cell(at, record.finish_ns);
  at = cell(at, record.prompt_tokens);
  at = cell(at, record.output_tokens);
  at = cell(at, record.max_tokens);
  at = cell(at, record.preemptions);
  return last_cell(at, name_of(record.outcome));
}

char* timeline_row(char* at, const TimelineRow& row) {
  at = cell(at, row.time_ns);
  at = cell(at, row.replica);
  at = cell(at, row.running);
  at = cell(at, row.waiting);
  at = cell(at, row.kv.capacity);
  at = cell(at, row.kv.used);
  at = cell(at, row.kv.reserved);
  at = cell(at, row.kv.internal);
  at = cell(at, row.kv.external);
  at = cell(at, row.kv.cached);
  return last_cell(at, row.oom ? "oom" : "interval");
}

void write_event(OutputFile& file, const LoggedEvent& event) {
  std::string line =
      fmt::format("{{\"time_ns\":{},\"kind\":\"{}\"", event.time_ns, name_of(event.kind));
  const bool out_of_memory = event.kind == EngineEventKind::oom ||
                             event.kind == EngineEventKind::rejected ||
                             event.kind == EngineEventKind::placement_refused;
  if (out_of_memory) line += fmt::format(",\"oom\":\"{}\"", name_of(event.oom));
  if (event.replica != kNoReplica) line += fmt::format(",\"replica\":{}", event.replica);
  if (event.request != UINT64_MAX) line += fmt::format(",\"request\":{}", event.request);
  line += fmt::format(",\"tokens\":{}", event.tokens);
  if (event.until_ns >= 0) line += fmt::format(",\"until_ns\":{}", event.until_ns);
  if (event.running >= 0) {
    line += fmt::format(",\"running\":{},\"waiting\":{},\"free_blocks\":{}", event.running,
                        event.waiting, event.free_blocks);
  }
  file.write(line + "}\n");
}

std::string instant_text(TimeNs ns) { return ns < 0 ? "" : fmt::format("{}", ns); }

}  // namespace

void write_requests_csv(const RunResult& result, const std::string& path) {
  OutputFile file(path);
  file.write(
      "index,class,replica,arrival_ns,queued_ns,first_scheduled_ns,first_token_ns,finish_ns,"
      "prompt_tokens,output_tokens,max_tokens,preemptions,outcome\n");
  std::span<const RequestRecord> records;
  if (result.recorder) records = result.recorder->records();
  for (const RequestRecord& record : records) {
    file.write_row(kMaxRowBytes, [&](char* at) { return request_row(at, record); });
  }
  file.close();
}

void write_timeline_csv(const RunResult& result, const std::string& path) {
  OutputFile file(path);
  file.write(
      "time_ns,replica,running_requests,waiting_requests,kv_capacity_tokens,kv_used_tokens,"
      "kv_reserved_tokens,kv_internal_tokens,kv_external_tokens,kv_cached_tokens,cause\n");
  if (result.recorder) {
    const Timeline& timeline = result.recorder->timeline();
    for (std::size_t replica = 0; replica < timeline.replicas(); ++replica) {
      for (const TimelineRow& row : timeline.rows(static_cast<std::uint16_t>(replica))) {
        file.write_row(kMaxRowBytes, [&](char* at) { return timeline_row(at, row); });
      }
    }
  }
  file.close();
}

void write_events_jsonl(const RunResult& result, const std::string& path) {
  OutputFile file(path);
  if (result.recorder) {
    for (const LoggedEvent& event : result.recorder->events().events()) write_event(file, event);
  } else {
    file.write("{\"time_ns\":0,\"kind\":\"oom\",\"oom\":\"startup\",\"replica\":0}\n");
  }
  file.close();
}

void write_transfers_csv(const RunResult& result, const std::string& path) {
  OutputFile file(path);
  file.write("index,prefill_replica,decode_replica,prefilled_ns,asked_ns,begin_ns,end_ns,blocks\n");
  for (const TransferRecord& t : result.totals.transfer_records) {
    const std::string to =
        t.decode_replica == kNoReplica ? "" : fmt::format("{}", t.decode_replica);
    file.write(fmt::format("{},{},{},{},{},{},{},{}\n", t.index, t.prefill_replica, to,
                           t.prefilled_ns, instant_text(t.asked_ns), instant_text(t.begin_ns),
                           instant_text(t.end_ns), t.blocks));
  }
  file.close();
}

void write_results(const RunResult& result, const RunVerdict& verdict, const std::string& version,
                   const ResultDirectory& directory) {
  if (!result.resolved.scenario.output.streaming) {
    write_requests_csv(result, directory.path("requests.csv"));
  }
  if (result.totals.transfers) {
    write_transfers_csv(result, directory.path("transfers.csv"));
  }
  write_timeline_csv(result, directory.path("timeline.csv"));
  write_events_jsonl(result, directory.path("events.jsonl"));
  OutputFile resolved(directory.path("resolved.json"));
  resolved.write(resolved_json(result, version));
  resolved.close();
  OutputFile summary(directory.path("summary.json"));
  summary.write(summary_json(result, version, &verdict));
  summary.close();
}

}  // namespace headroom
