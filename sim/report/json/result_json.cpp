// summary.json and resolved.json.

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>

#include "sim/report/json/energy_json.hpp"
#include "sim/report/json/fleet_json.hpp"
#include "sim/report/json/json_text.hpp"
#include "sim/report/json/metrics_json.hpp"
#include "sim/report/json/names.hpp"
#include "sim/report/json/result_json.hpp"
#include "sim/report/json/verdict_json.hpp"
#include "sim/resolve/kv_tier.hpp"

namespace headroom {
namespace {

using Json = nlohmann::ordered_json;

double seconds(TimeNs ns) { return static_cast<double>(ns) / 1e9; }

Json setup_json(const RunResult& result) {
  const Resolved& r = result.resolved;
  const EngineSection& e = r.scenario.engine;
  const ClientLatency& client = result.cost.client_latency;
  Json json{{"model", r.model.id},
            {"device", r.device.id},
            {"tensor_parallel_size", e.tensor_parallel_size},
            {"engine", r.engine->name},
            {"engine_version", e.version.value_or("")},
            {"scheduler", r.scheduler->name},
            {"kv_allocator", r.allocator->name},
            {"budget_rule", r.engine->budget_rule},
            {"cost_level", result.cost.level},
            {"calibration", result.cost.calibration},
            {"calibration_source", result.cost.source},
            {"uncalibrated", result.cost.uncalibrated},
            {"client_latency_ms", static_cast<double>(client.request_ns) / 1e6}};
  if (client.prompt_token_ps > 0) {
    json["client_prompt_token_us"] = static_cast<double>(client.prompt_token_ps) / 1e6;
  }
  if (const EntryWork& entry = result.cost.entry; entry.any()) {
    json["client_entry_ms"] = static_cast<double>(entry.request_ns) / 1e6;
    json["client_entry_token_us"] = static_cast<double>(entry.prompt_token_ps) / 1e6;
  }
  json["seed"] = r.scenario.seed;
  return json;
}

Json echoes_json(const std::vector<WorkloadEcho>& echoes) {
  Json json = Json::object();
  for (const WorkloadEcho& echo : echoes) {
    std::visit([&](const auto& value) { json[echo.name] = value; }, echo.value);
  }
  return json;
}

// What the user asked of the workload, without the names of files.
Json given_options(const RunResult& result) {
  constexpr std::string_view kWorkload = "/workload/";
  Json json = Json::object();
  for (const ResolvedValue& value : result.values) {
    const std::string& pointer = value.pointer;
    const bool given = result.resolved.scenario.is_given(pointer);
    if (!given || !pointer.starts_with(kWorkload)) continue;
    if (pointer.ends_with("/file") || pointer.ends_with("/directory")) continue;
    json[pointer.substr(kWorkload.size())] = Json::parse(value.json);
  }
  return json;
}

Json workload_json(const RunResult& result) {
  const WorkloadFacts& workload = result.workload;
  Json json = {{"requests", workload.requests}, {"max_tokens_rule", workload.max_tokens_rule}};
  if (!workload.trace_name.empty()) {
    json["trace"] = workload.trace_name;
    json["trace_format"] = workload.trace_format;
    json["trace_sha256"] = workload.trace_sha256;
    json["trace_rows_dropped"] = workload.rows_dropped;
    json["trace_rows_clamped"] = workload.rows_clamped;
  }
  json["outputs_cut_to_max_tokens"] = workload.outputs_cut;
  json["options"] = given_options(result);
  if (!workload.counts.empty()) json["counts"] = echoes_json(workload.counts);
  return json;
}

Json requests_json(const RequestCounts& counts) {
  return {{"arrived", counts.arrived},         {"finished", counts.finished},
          {"rejected", counts.rejected},       {"cancelled", counts.cancelled},
          {"lost_to_oom", counts.lost_to_oom}, {"unfinished", counts.unfinished}};
}

// Per cent that the truth may lie from what is shown.
Json expected_error_json(const ExpectedError& error) {
  Json json = {{"situation", error.situation}, {"measured_runs", error.runs}};
  for (const ErrorRange& range : error.ranges) {
    json[fmt::format("{}_percent", range.metric)] = {100 * range.low, 100 * range.high};
  }
  return json;
}

// By name; the limits of its own SLO decide a class's goodput.
Json classes_json(const RunResult& result) {
  Json json = Json::object();
  for (const ClassSummary& one : result.summary.classes) {
    const auto id = static_cast<std::size_t>(one.class_id);
    json[result.workload.classes[id]] = {{"requests", requests_json(one.requests)},
                                         {"metrics", metrics_json(one.metrics, false)}};
  }
  return json;
}

Json memory_json(const RunResult& result) {
  const MemoryBudget& budget = result.budget;
  Json purposes = Json::object();
  for (std::size_t i = 0; i < kMemoryPurposeCount; ++i) {
    const auto purpose = static_cast<MemoryPurpose>(i);
    const ByteCount bytes = budget.terms.bytes[i];
    if (is_listed(purpose, bytes)) purposes[std::string(name_of(purpose))] = bytes;
  }
  const MemorySummary& m = result.summary.memory;
  // Bytes are of one device; blocks, tokens and requests of all data ranks.
  const std::int64_t pools = result.resolved.sharding.data;
  return {{"capacity_bytes", budget.capacity_bytes},
          {"budget_bytes", purposes},
          {"kv_pool_bytes", budget.kv_pool_bytes},
          {"kv_blocks", budget.usable_blocks * pools},
          {"kv_block_tokens", budget.layout.block_tokens},
          {"kv_tokens", result.pool_tokens},
          {"kv_bytes_per_token", budget.layout.bytes_per_token},
          {"max_concurrency", budget.max_concurrency * static_cast<double>(pools)},
          {"peak_kv_tokens", m.peak_kv_tokens},
          {"peak_utilisation", m.peak_utilisation},
          {"mean_utilisation", m.mean_utilisation},
          {"mean_used", m.mean_used},
          {"mean_reserved", m.mean_reserved},
          {"internal_fragmentation", m.mean_internal},
          {"external_fragmentation", m.mean_external},
          {"mean_cached", m.mean_cached}};
}

Json startup_oom(const StartupFailure& failure) {
  Json json = {{"kind", name_of(OomKind::startup)},
               {"stage", name_of(failure.stage)},
               {"time_s", 0.0},
               {"cause", failure.message},
               {"wanted_bytes", failure.wanted_bytes},
               {"free_bytes", failure.free_bytes}};
  if (failure.largest_feasible_max_model_len > 0) {
    json["largest_feasible_max_model_len"] = failure.largest_feasible_max_model_len;
  }
  return json;
}

// What a ledger refused, in bytes: there are no tokens in it.
void add_shortage(Json& json, const MemoryShortage& shortage) {
  json.erase("wanted_tokens");
  json["wanted_bytes"] = shortage.wanted_bytes;
  json["free_bytes"] = shortage.free_bytes;
  Json held = Json::object();
  for (const PurposeBytes& one : shortage.held) {
    if (!one.purpose.empty()) held[std::string(one.purpose)] = one.bytes;
  }
  json["held_bytes"] = std::move(held);
}

Json oom_json(const RunResult& result) {
  Json list = Json::array();
  if (result.budget.failure) list.push_back(startup_oom(*result.budget.failure));
  const ByteCount token_bytes = result.budget.layout.bytes_per_token;
  for (const OomEntry& entry : result.summary.ooms) {
    Json json = {{"kind", name_of(entry.kind)},
                 {"time_s", seconds(entry.time_ns)},
                 {"replica", entry.replica},
                 {"count", entry.count},
                 {"wanted_tokens", entry.wanted_tokens},
                 {"wanted_bytes", entry.wanted_tokens * token_bytes}};
    if (entry.shortage) add_shortage(json, *entry.shortage);
    if (entry.kind == OomKind::thrash) json["sampled_tokens"] = entry.sampled_tokens;
    if (entry.request != UINT64_MAX) json["first_request"] = entry.request;
    if (entry.kv) {
      json["kv_used_tokens"] = entry.kv->used;
      json["kv_reserved_tokens"] = entry.kv->reserved;
      json["kv_internal_tokens"] = entry.kv->internal;
      json["kv_external_tokens"] = entry.kv->external;
      json["kv_capacity_tokens"] = entry.kv->capacity;
    }
    list.push_back(std::move(json));
  }
  return list;
}

// Requests longer than the engine takes.
Json refused_json(const RunSummary& summary) {
  Json list = Json::array();
  for (const OomEntry& entry : summary.refused) {
    list.push_back({{"kind", name_of(entry.kind)},
                    {"time_s", seconds(entry.time_ns)},
                    {"replica", entry.replica},
                    {"count", entry.count},
                    {"wanted_tokens", entry.wanted_tokens},
                    {"first_request", entry.request}});
  }
  return list;
}

// As vLLM's log says it: mean acceptance length = 1 + accepted / drafts.
Json speculation_json(const SpeculationCounts& counts) {
  const auto drafts = static_cast<double>(counts.drafts);
  const auto accepted = static_cast<double>(counts.accepted_tokens);
  return {{"drafts", counts.drafts},
          {"draft_tokens", counts.draft_tokens},
          {"accepted_tokens", counts.accepted_tokens},
          {"accepted_per_position", counts.accepted_per_position},
          {"draft_acceptance_rate", accepted / static_cast<double>(counts.draft_tokens)},
          {"mean_acceptance_length", 1 + accepted / drafts}};
}

Json engine_json(const EngineSummary& engine) {
  Json terms = Json::object();
  for (std::size_t i = 0; i < kCostTermCount; ++i) {
    terms[std::string(name_of(static_cast<CostTerm>(i)))] = engine.time_s[i];
  }
  Json json = {{"steps", engine.steps},
               {"busy_s", engine.busy_s},
               {"time_s", terms},
               {"prefill_tokens", engine.prefill_tokens},
               {"tokens_out", engine.tokens_out},
               {"recomputed_tokens", engine.recomputed_tokens},
               {"prefix_cache_queries", engine.prefix_cache_queries},
               {"prefix_cache_hits", engine.prefix_cache_hits}};
  if (engine.speculation.drafts > 0) json["speculation"] = speculation_json(engine.speculation);
  return json;
}

// What went through the second tier of KV.
Json tier_json(const RunResult& result) {
  const KvTierCounts& counts = *result.totals.tier;
  const OffloadTierOptions size = tier_options(result.resolved, result.budget.layout);
  const ByteCount block = run_block_bytes(result.budget.layout);
  return {{"host_blocks", size.host_blocks},
          {"disk_blocks", size.disk_blocks},
          {"stored_blocks", counts.stored_blocks},
          {"loaded_blocks", counts.loaded_blocks},
          {"stored_on_disk", counts.stored_on_disk},
          {"loaded_from_disk", counts.loaded_from_disk},
          {"stored_bytes", counts.stored_blocks * block},
          {"loaded_bytes", counts.loaded_blocks * block}};
}

// Adapters of the run, and how often one was brought to the device.
Json lora_json(const RunResult& result) {
  const AdapterCounts& counts = *result.totals.adapters;
  return {{"distinct_adapters", counts.used},
          {"adapter_loads", counts.loads},
          {"adapter_loads_from_disk", counts.reads}};
}

Json api_server_json(const RunResult& result) {
  const ApiServerUse& use = *result.totals.api_server;
  return {{"processes", *result.resolved.scenario.engine.api_server_count},
          {"utilisation", utilisation(use)},
          {"greatest_backlog_ms", 1e3 * backlog_s(use)},
          {"saturated", is_saturated(use)}};
}

Json window_json(const WindowReport& window) {
  return {{"start_s", seconds(window.start_ns)},
          {"end_s", seconds(window.end_ns)},
          {"arrived", window.arrived},
          {"finished_inside", window.finished_inside},
          {"arrival_rate", window.arrival_rate},
          {"finish_rate", window.finish_rate},
          {"metrics", metrics_json(window.metrics, window.metrics.has_itl)}};
}

Json windows_json(const WindowSummary& windows) {
  return {{"warmup", window_json(windows.warmup)},
          {"steady", window_json(windows.steady)},
          {"drain", window_json(windows.drain)},
          {"stationary", windows.stationarity.stationary},
          {"mean_in_system_by_third", windows.stationarity.mean_in_system}};
}

}  // namespace

std::string summary_json(const RunResult& result, const std::string& version,
                         const RunVerdict* verdict) {
  const RunSummary& s = result.summary;
  Json json = {{"headroom_version", version}, {"scenario", result.resolved.scenario.name}};
  if (verdict != nullptr) json.update(verdict_json(*verdict));
  json.update({{"setup", setup_json(result)},
               {"workload", workload_json(result)},
               {"started", result.started},
               {"stop", result.started ? name_of(result.stop) : "startup_oom"},
               {"end_s", seconds(s.end_ns)},
               {"requests", requests_json(s.requests)},
               {"metrics", metrics_json(s.metrics, true)},
               {"memory", memory_json(result)},
               {"oom", oom_json(result)},
               {"preemptions", s.engine.preemptions},
               {"engine", engine_json(s.engine)},
               {"energy", run_energy_json(result)},
               {"windows", windows_json(s.windows)},
               {"expected_error", expected_error_json(result.expected_error)},
               {"warnings", result.warnings},
               {"digest", result.digest}});
  if (result.is_fleet) {
    json["requests"]["lost_to_fault"] = s.requests.lost_to_fault;
    json["fleet"] = fleet_json(result);
  }
  if (!s.refused.empty()) json["refused"] = refused_json(s);
  if (!s.classes.empty()) json["classes"] = classes_json(result);
  if (result.totals.tier) json["kv_tier"] = tier_json(result);
  if (result.totals.adapters) json["lora"] = lora_json(result);
  if (result.totals.api_server) json["api_server"] = api_server_json(result);
  return json_text(json);
}

std::string resolved_json(const RunResult& result, const std::string& version) {
  Json values = Json::object();
  for (const ResolvedValue& value : result.values) {
    values[value.pointer] = {{"value", Json::parse(value.json)},
                             {"set_by", value.source},
                             {"given", result.resolved.scenario.is_given(value.pointer)}};
  }
  const WorkloadFacts& w = result.workload;
  Json json = {
      {"headroom_version", version},
      {"values", std::move(values)},
      {"budget_rule", result.resolved.engine->budget_rule},
      {"calibration",
       {{"id", result.cost.calibration},
        {"source", result.cost.source},
        {"engine_versions", result.cost.engine_versions}}},
      {"model", {{"id", result.resolved.model.id}, {"source", result.resolved.model.source}}},
      {"device", {{"id", result.resolved.device.id}, {"source", result.resolved.device.source}}},
      {"trace", {{"name", w.trace_name}, {"sha256", w.trace_sha256}}},
      {"max_tokens_rule", w.max_tokens_rule},
      {"warnings", result.warnings}};
  if (result.is_fleet) json["groups"] = group_values_json(result);
  return json_text(json);
}

}  // namespace headroom
