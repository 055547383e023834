#include "workloads/traces/detect.hpp"

#include <fmt/format.h>

#include <array>
#include <filesystem>

#include "sim/kernel/errors.hpp"
#include "workloads/traces/aibrix.hpp"
#include "workloads/traces/aiperf.hpp"
#include "workloads/traces/apex.hpp"
#include "workloads/traces/azure.hpp"
#include "workloads/traces/bailian.hpp"
#include "workloads/traces/blis.hpp"
#include "workloads/traces/burstgpt.hpp"
#include "workloads/traces/guidellm.hpp"
#include "workloads/traces/headroom_csv.hpp"
#include "workloads/traces/json_line.hpp"
#include "workloads/traces/llmservingsim.hpp"
#include "workloads/traces/mooncake.hpp"
#include "workloads/traces/ragpulse.hpp"
#include "workloads/traces/sharegpt.hpp"
#include "workloads/traces/splitwise.hpp"
#include "workloads/traces/table.hpp"
#include "workloads/traces/tracelab.hpp"
#include "workloads/traces/tracelab_csv.hpp"
#include "workloads/traces/vidur.hpp"
#include "workloads/traces/vllm_bench.hpp"
#include "workloads/traces/vllm_custom.hpp"
#include "workloads/traces/weka.hpp"

namespace headroom {
namespace {

constexpr std::array kFormats = {
    TraceFormat{.name = "azure",
                .begins_with = "TIMESTAMP,ContextTokens,GeneratedTokens",
                .recognises = is_azure,
                .open = open_as<AzureReader>},
    TraceFormat{.name = "headroom",
                .begins_with = "arrival_ns,prompt_tokens,output_tokens",
                .recognises = is_headroom_csv,
                .open = open_as<HeadroomCsvReader>,
                .column_in_ns = "arrival_ns",
                .ends_with_line_break = true},
    TraceFormat{.name = "burstgpt",
                .begins_with = "Timestamp,[Session ID,Elapsed time,]Model,Request tokens,...",
                .recognises = is_burstgpt,
                .open = open_as<BurstGptReader>},
    TraceFormat{.name = "vidur",
                .begins_with = "[arrived_at,]num_prefill_tokens,num_decode_tokens",
                .recognises = is_vidur,
                .open = open_as<VidurReader>},
    TraceFormat{.name = "splitwise",
                .begins_with = "request_id,request_type,application_id,arrival_timestamp,...",
                .recognises = is_splitwise,
                .open = open_as<SplitwiseReader>},
    TraceFormat{.name = "tracelab_csv",
                .begins_with = "id,input_len,output_len,arrival_time,round_idx,...",
                .recognises = is_tracelab_csv,
                .open = open_as<TraceLabCsvReader>},
    TraceFormat{.name = "blis",
                .begins_with = "request_id,client_id,... with arrival_time_us",
                .recognises = is_blis,
                .open = open_as<BlisReader>},
    TraceFormat{.name = "guidellm",
                .begins_with = R"({.. "benchmarks": [{"type_": "generative_benchmark", ..}]})",
                .recognises = is_guidellm,
                .open = open_as<GuideLlmReader>},
    TraceFormat{.name = "vllm_bench",
                .begins_with = R"({.. "completed": .., "total_input_tokens": .., ..})",
                .recognises = is_vllm_bench,
                .open = open_as<VllmBenchReader>},
    TraceFormat{.name = "aiperf",
                .begins_with = R"({"metadata": {"request_start_ns": .., ..}, "metrics": {..}})",
                .recognises = is_aiperf,
                .open = open_as<AiPerfReader>},
    TraceFormat{
        .name = "weka",
        .begins_with = R"({"id": .., "block_size": 64, "hash_id_scope": .., "requests": [..]})",
        .recognises = is_weka,
        .open = open_as<WekaReader>},
    TraceFormat{
        .name = "tracelab",
        .begins_with = R"({"session_id": .., "input_tokens_total": .., "prefix_tokens": ..})",
        .recognises = is_tracelab,
        .open = open_as<TraceLabReader>},
    TraceFormat{
        .name = "sharegpt",
        .begins_with = R"([{"conversations": [{"from": .., "value": ..}, ..]}], or messages)",
        .recognises = is_sharegpt,
        .open = open_as<ShareGptReader>},
    TraceFormat{.name = "bailian",
                .begins_with = R"({"chat_id": 159, "parent_chat_id": 55, "timestamp": ...})",
                .recognises = is_bailian,
                .open = open_as<BailianReader>},
    TraceFormat{.name = "ragpulse",
                .begins_with = R"({"timestamp": "82", ..., "hash_ids": {"sys_prompt": [...]}})",
                .recognises = is_ragpulse,
                .open = open_as<RagPulseReader>},
    TraceFormat{.name = "llmservingsim",
                .begins_with = R"({"input_toks": 128, ...} or {..., "sub_requests": [...]})",
                .recognises = is_llmservingsim,
                .open = open_as<LlmServingSimReader>,
                .column_in_ns = "arrival_time_ns"},
    TraceFormat{.name = "apex",
                .begins_with = R"({"ContextTokens": 304, ..., "StartTimeOffset": 3772092432})",
                .recognises = is_apex,
                .open = open_as<ApexReader>,
                .column_in_ns = "StartTimeOffset"},
    TraceFormat{.name = "aibrix",
                .begins_with = R"({"timestamp": 3827, "requests": [{"Prompt Length": 297}]})",
                .recognises = is_aibrix,
                .open = open_as<AibrixReader>},
    TraceFormat{.name = "mooncake",
                .begins_with = R"({"timestamp": 0, "input_length": 6758, "hash_ids": [0, 1]})",
                .recognises = is_mooncake,
                .open = open_as<MooncakeReader>},
    TraceFormat{.name = "vllm_custom",
                .begins_with = R"({"prompt": .., "output_tokens": 120})",
                .recognises = is_vllm_custom,
                .open = open_as<VllmCustomReader>},
};

constexpr TraceFormat kTable{.name = "table",
                             .begins_with = "names of columns, as in time,prompt_tokens,output",
                             .recognises = is_table,
                             .open = open_as<TableReader>};

// At most 80 characters, and printable: it may be anything.
std::string shown_ascii(std::string_view line) {
  constexpr std::size_t kShown = 80;
  std::string text;
  for (const char c : line.substr(0, kShown)) {
    const bool printable = c >= ' ' && c <= '~';
    text += printable ? c : '?';
  }
  return line.size() > kShown ? text + "..." : text;
}

// Files that are known not to be traces.
void refuse_others(const FileStart& start, const LineReader& lines) {
  if (start.bytes.empty()) throw DataError(fmt::format("{}: is empty", lines.path()));
  if (start.first_line.starts_with("version https://git-lfs.github.com/spec/v1")) {
    throw DataError(
        fmt::format("{}: is a git-lfs pointer, not the trace: run git lfs pull", lines.path()));
  }
  if (start.bytes.starts_with("\xff\xfe") || start.bytes.starts_with("\xfe\xff")) {
    throw DataError(
        fmt::format("{}: is UTF-16 text, expected UTF-8: save it as UTF-8", lines.path()));
  }
  const auto has = [&](std::string_view key) { return json_mentions(start, key); };
  if (has("request_latency") && has("input_config")) {
    throw DataError(
        fmt::format("{}: is AIPerf's summary of a run, not its requests: use profile_export.jsonl",
                    lines.path()));
  }
  if (has("experiments") && has("requests") && has("response_timestamps")) {
    throw DataError(
        fmt::format("{}: is a GenAI-Perf profile, which has no token counts: measure with its "
                    "successor AIPerf and use profile_export.jsonl",
                    lines.path()));
  }
}

[[noreturn]] void refuse_unknown(const FileStart& start, const LineReader& lines) {
  std::string known;
  for (const TraceFormat& format : kFormats) {
    known += fmt::format("{}: {}; ", format.name, format.begins_with);
  }
  known += fmt::format("{}: {}, or any with --columns time=NAME:s,in=NAME,out=NAME", kTable.name,
                       kTable.begins_with);
  throw DataError(fmt::format("{}:{}: unknown trace format; it begins with '{}'. Known formats: {}",
                              lines.path(), lines.line_number() + 1, shown_ascii(start.first_line),
                              known));
}

const TraceFormat& format_of(LineReader& lines) {
  const FileStart start = lines.start();
  for (const TraceFormat& format : kFormats) {
    if (!start.bytes.empty() && format.recognises(start)) return format;
  }
  refuse_others(start, lines);
  if (kTable.recognises(start)) return kTable;
  refuse_unknown(start, lines);
}

std::unique_ptr<TraceReader> open_table(LineReader& lines, std::string_view columns) {
  return std::make_unique<TableReader>(lines, parse_columns(columns));
}

// Most rows of a trace are about this long; a guess that costs nothing when it is wrong.
constexpr std::int64_t kTypicalRowBytes = 36;

Trace read_rows(TraceFile& file, const TraceOptions& options, bool whole_file, bool& again) {
  TraceBuilder rows(options, file.clock(), whole_file);
  const InputFile::State& state = file.lines().file_state();
  if (options.limit == INT64_MAX && !file.lines().is_compressed()) {
    rows.reserve(std::min<std::int64_t>(state.bytes / kTypicalRowBytes + 1, 1'000'000));
  }
  TraceRecord record;
  TimeUnitCheck times;
  while (file.next(record)) {
    times.add(record.time_ns);
    if (rows.add(record)) continue;
    throw DataError(fmt::format(
        "{}: {} prompt tokens, {} output tokens; zero tokens are not allowed ({} rows "
        "read)",
        file.lines().place(), record.prompt_tokens, record.output_tokens, rows.rows_read()));
  }
  again = rows.must_read_again();
  Trace trace = rows.finish();
  trace.session_turns = file.session_turns();
  // Published files of other formats end without a line break: `trace check` alone says it of them.
  trace.warning =
      file.format().ends_with_line_break ? file.warning(times) : file.understood_as(times);
  if (const std::string gap = odd_gap(trace); !gap.empty()) {
    trace.warning += (trace.warning.empty() ? "" : "; ") + gap;
  }
  return trace;
}

}  // namespace

std::span<const TraceFormat> trace_formats() { return kFormats; }

TraceFile::TraceFile(const std::string& path, SessionInput input, std::string_view columns)
    : lines_(path),
      format_(columns.empty() ? format_of(lines_) : kTable),
      is_csv_(lines_.start().bytes.find_first_of("{[") != 0),
      reader_(columns.empty() ? format_.open(lines_, input) : open_table(lines_, columns)) {
  if (input == SessionInput::detect || reader_->session_turns() != nullptr) return;
  throw DataError(fmt::format(
      "{}: session_input is '{}', expected auto: format {} defines what later turns contain", path,
      input == SessionInput::whole ? "whole" : "added", format_.name));
}

SessionTurns TraceFile::session_turns() const {
  const SessionTurns* turns = reader_->session_turns();
  return turns == nullptr ? SessionTurns() : *turns;
}

std::string TraceFile::understood_as(const TimeUnitCheck& times) const {
  std::string text = reader_->note();
  if (clock() != TraceClock::absolute) return text;
  return text.empty() ? times.doubt(format_.column_in_ns) : text + times.odd_span();
}

std::string TraceFile::warning(const TimeUnitCheck& times) const {
  std::string text = understood_as(times);
  // A cut JSON file is malformed.
  if (is_csv_ && lines_.ends_open()) {
    if (!text.empty()) text += "; ";
    text += fmt::format(
        "line {} ends without a line break: if the file was truncated there, its last value is too "
        "short",
        lines_.line_number());
  }
  return text;
}

Trace read_trace(const std::string& path, const TraceOptions& options) {
  TraceFile file(path, options.session_input, options.columns);
  // A pipe cannot be read twice.
  bool whole_file = !file.lines().file_state().is_regular;
  bool again = false;
  Trace trace = read_rows(file, options, whole_file, again);
  if (again) {
    TraceFile second(path, options.session_input, options.columns);
    whole_file = true;
    trace = read_rows(second, options, whole_file, again);
  }
  if (trace.rows.empty()) {
    throw DataError(fmt::format(
        "{}: no request left ({} rows read, {} dropped for zero tokens, {} outside the window)",
        path, trace.rows_read, trace.rows_dropped.total(), trace.rows_outside));
  }
  trace.name = std::filesystem::path(path).filename().string();
  trace.format = file.format().name;
  trace.path = path;
  trace.file_state = file.lines().file_state();
  if (!trace.file_state.is_regular) trace.pipe_sha256 = file.lines().pipe_sha256();
  return trace;
}

}  // namespace headroom
