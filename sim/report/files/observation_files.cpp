#include "sim/report/files/observation_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <string_view>

#include "hardware/engine_version.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/kernel/folders.hpp"
#include "sim/kernel/visible_text.hpp"
#include "sim/report/json/json_text.hpp"
#include "sim/report/json/metrics_json.hpp"
#include "workloads/traces/headroom_csv_writer.hpp"

namespace headroom {
namespace {

namespace fs = std::filesystem;

constexpr int kObservationFormat = 1;
constexpr const char* kModelFile = "model.json";

double real_ms(TimeNs ns) { return static_cast<double>(ns) / kNsPerMsReal; }
double real_s(TimeNs ns) { return static_cast<double>(ns) / kNsPerSecondReal; }

std::string_view word_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::finished: return "finished";
    case Outcome::rejected: return "refused";
    case Outcome::cancelled: return "timed_out";
    case Outcome::unfinished: return "cut_off";
    default: return "broken_off";
  }
}

Json counts_json(const Observation& seen) {
  return {{"sent", seen.requests.size()},
          {"finished", seen.count(Outcome::finished)},
          {"refused", seen.count(Outcome::rejected)},
          {"timed_out", seen.count(Outcome::cancelled)},
          {"broken_off", seen.count(Outcome::lost_to_fault)},
          {"cut_off", seen.count(Outcome::unfinished)}};
}

// Extremes of what is a level, growth of what only counts up; null: not published.
Json load_json(const std::vector<LoadSample>& load) {
  Json json = {{"samples", load.size()}};
  const auto largest = [&](std::optional<double> LoadSample::*field) {
    std::optional<double> most;
    for (const LoadSample& sample : load) {
      if (sample.*field) most = std::max(most.value_or(0), *(sample.*field));
    }
    return optional_json(most);
  };
  const auto grown = [&](std::optional<double> LoadSample::*field) {
    std::optional<double> growth;
    if (!load.empty() && load.front().*field && load.back().*field) {
      growth = *(load.back().*field) - *(load.front().*field);
    }
    return optional_json(growth);
  };
  json["most_running"] = largest(&LoadSample::running);
  json["most_waiting"] = largest(&LoadSample::waiting);
  json["most_kv_share"] = largest(&LoadSample::kv_share);
  json["preemptions"] = grown(&LoadSample::preemptions);
  json["prefix_hit_tokens"] = grown(&LoadSample::prefix_hits);
  json["prefix_query_tokens"] = grown(&LoadSample::prefix_queries);
  return json;
}

Json warmup_json(const Observation& seen) {
  Json rows = Json::array();
  for (const ObservedRequest& request : seen.warmup) {
    rows.push_back({{"prompt_tokens", request.prompt_tokens},
                    {"output_tokens", request.output_tokens},
                    {"e2el_ms", real_ms(request.last_token_ns - request.sent_ns)}});
  }
  return rows;
}

Json observed_json(const Observation& seen, const ObservedQuestion& question,
                   const std::string& version) {
  const CompletionRule& rule = seen.server.rule;
  Json json = {
      {"headroom_observation", kObservationFormat},
      {"headroom_version", version},
      {"started_utc", seen.started_utc},
      {"url", seen.url},
      {"served_model", rule.model},
      {"server_version", seen.server.version},
      {"engine_by_metrics", seen.engine},
      {"end", name_of(seen.end)},
      {"duration_s", real_s(seen.duration_ns)},
      {"limits", {{"requests", question.most_requests}, {"seconds", question.most_seconds}}},
      {"prompts",
       {{"form", rule.prompt.form == PromptForm::token_ids ? "token_ids" : "words"},
        {"seed", seen.prompt_seed},
        {"added_tokens", rule.prompt.added_tokens},
        {"tokens_per_word", rule.prompt.tokens_per_word},
        {"ignore_eos", rule.ignores_eos},
        {"counted_by_server", seen.server.counts_tokens}}},
      {"requests", counts_json(seen)},
      {"metrics", metrics_json(seen.metrics(), true)},
      {"load", load_json(seen.load)},
      {"notes", seen.notes()},
      {"warmup", warmup_json(seen)}};
  json["concurrency"] = optional_json(question.users);
  json["scenario"] = question.scenario;
  if (!question.model_file.empty()) json["scenario"]["model"] = kModelFile;
  return json;
}

std::string class_name(const ObservedQuestion& question, const ObservedRequest& request) {
  const auto id = static_cast<std::size_t>(request.sent.class_id);
  return question.classes.size() > 1 && id < question.classes.size() ? question.classes[id] : "";
}

std::string requests_csv(const Observation& seen, const ObservedQuestion& question) {
  std::string text =
      "index,class,due_s,sent_s,prompt_tokens,output_tokens,chunks,ttft_ms,tpot_ms,mean_itl_ms,"
      "longest_itl_ms,e2el_ms,outcome,problem\n";
  auto out = std::back_inserter(text);
  std::size_t index = 0;
  for (const ObservedRequest& r : seen.requests) {
    fmt::format_to(out, "{},{},{:.6f},{:.6f},{},{},{},", index++,
                   csv_field(class_name(question, r)), real_s(r.sent.time_ns), real_s(r.sent_ns),
                   r.prompt_tokens, r.output_tokens, r.chunks);
    const double decode_ms = real_ms(r.last_token_ns - r.first_token_ns);
    if (r.chunks > 0) fmt::format_to(out, "{:.3f}", real_ms(r.first_token_ns - r.sent_ns));
    text += ',';
    if (r.output_tokens > 1) fmt::format_to(out, "{:.4f}", decode_ms / (r.output_tokens - 1));
    text += ',';
    if (r.chunks > 1) {
      fmt::format_to(out, "{:.4f},{:.3f}", decode_ms / static_cast<double>(r.chunks - 1),
                     real_ms(r.longest_gap_ns));
    } else {
      text += ',';
    }
    text += ',';
    if (r.chunks > 0) fmt::format_to(out, "{:.3f}", real_ms(r.last_token_ns - r.sent_ns));
    fmt::format_to(out, ",{},{}\n", word_of(r.outcome), csv_field(visible_text(r.problem)));
  }
  return text;
}

std::string load_csv(const Observation& seen) {
  std::string text =
      "time_s,running,waiting,kv_share,preemptions,prefix_hit_tokens,prefix_query_tokens\n";
  auto out = std::back_inserter(text);
  for (const LoadSample& sample : seen.load) {
    fmt::format_to(out, "{:.3f}", real_s(sample.time_ns));
    for (const std::optional<double>& value :
         {sample.running, sample.waiting, sample.kv_share, sample.preemptions, sample.prefix_hits,
          sample.prefix_queries}) {
      text += ',';
      if (value) fmt::format_to(out, "{:.6g}", *value);
    }
    text += '\n';
  }
  return text;
}

// Of requests that were refused the server had no load. Answers' texts are not known, so later
// prompts do not contain them.
std::vector<TraceRecord> trace_records(const Observation& seen, const ObservedQuestion& question,
                                       std::vector<std::string>& names) {
  std::vector<TraceRecord> records;
  names.reserve(seen.requests.size());
  for (const ObservedRequest& request : seen.requests) {
    if (request.outcome == Outcome::rejected) continue;
    const bool finished = request.outcome == Outcome::finished;
    TraceRecord& record = records.emplace_back();
    record.time_ns = request.sent_ns;
    record.prompt_tokens = request.prompt_tokens;
    record.output_tokens = finished ? request.output_tokens : request.sent.output_tokens;
    record.max_tokens = request.sent.output_tokens;
    record.priority = request.sent.priority;
    record.class_name = names.emplace_back(class_name(question, request));
    record.prefix = request.pieces;
    if (!finished) continue;
    record.measured_ttft_ns = request.first_token_ns - request.sent_ns;
    record.measured_e2el_ns = request.last_token_ns - request.sent_ns;
  }
  return records;
}

// Prompts can come out shorter than the pieces that they were to begin with.
void cut_prefix(TraceRecord& record) {
  std::int32_t left = record.prompt_tokens;
  for (PrefixSegment& piece : record.prefix) {
    piece.tokens = std::min(piece.tokens, left);
    left -= piece.tokens;
  }
  std::erase_if(record.prefix, [](const PrefixSegment& piece) { return piece.tokens == 0; });
}

std::string trace_csv(const Observation& seen, const ObservedQuestion& question) {
  std::vector<std::string> names;
  std::vector<TraceRecord> records = trace_records(seen, question, names);
  TraceCsvColumns columns;
  for (TraceRecord& record : records) {
    cut_prefix(record);
    columns.include(record);
  }
  std::string text;
  TraceCsvWriter writer([&text](std::string_view piece) { text += piece; }, columns);
  for (const TraceRecord& record : records) writer.write(record);
  writer.finish();
  return text;
}

std::string empty_folder(const std::string& folder) {
  const bool has_files = is_there(folder) && (!is_folder(folder) || !fs::is_empty(folder));
  if (has_files) {
    throw ConfigError(Complaint{
        .kind = ErrorKind::conflict,
        .origin = folder,
        .problem = "exists already: what was measured is not overwritten, name a new folder"});
  }
  return folder;
}

// "0.10.1.1" of "0.10.1.1+cu128"; empty where it is no version.
std::string release_of(const std::string& told) {
  try {
    (void)parse_engine_version(told);
  } catch (const ConfigError&) {
    return {};
  }
  return told.substr(0, told.find('+'));
}

}  // namespace

void name_release(const Observation& observation, Json& scenario) {
  if (!scenario.contains("engine") || !scenario["engine"].is_object()) return;
  Json& engine = scenario["engine"];
  const std::string release = release_of(observation.server.version);
  if (release.empty() || engine.contains("version")) return;
  if (engine.value("name", std::string()) == observation.engine) engine["version"] = release;
}

ObservationFolder::ObservationFolder(const std::string& folder)
    : folder_(empty_folder(folder)),
      created_(folder_, folder_ + ": cannot write: "),
      json_(path("observed.json")) {}

std::string ObservationFolder::path(const char* name) const {
  return (fs::path(folder_) / name).string();
}

std::string ObservationFolder::write(const Observation& observation,
                                     const ObservedQuestion& question, const std::string& version) {
  ReplacedFile(path("trace.csv")).publish(trace_csv(observation, question));
  ReplacedFile(path("requests.csv")).publish(requests_csv(observation, question));
  ReplacedFile(path("load.csv")).publish(load_csv(observation));
  if (!question.model_file.empty()) ReplacedFile(path(kModelFile)).publish(question.model_file);
  std::string text = json_text(observed_json(observation, question, version));
  json_.publish(text);
  return text;
}

}  // namespace headroom
