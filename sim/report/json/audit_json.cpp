// JSON of `headroom audit`.

#include <array>
#include <nlohmann/json.hpp>

#include "sim/engines/engine.hpp"
#include "sim/report/json/audit_json.hpp"
#include "sim/report/json/json_text.hpp"

namespace headroom {
namespace {

using Json = nlohmann::ordered_json;

Json system_json(const BudgetedSystem& system) {
  const Resolved& r = system.resolved;
  return {{"model", r.model.id},
          {"device", r.device.id},
          {"engine", r.engine->name},
          {"engine_version", r.scenario.engine.version.value_or("")},
          {"tensor_parallel_size", r.sharding.tensor},
          {"pipeline_parallel_size", r.sharding.pipeline},
          {"environment", r.environment.id},
          {"capacity_bytes", system.budget.capacity_bytes},
          {"kv_pool_bytes", system.budget.kv_pool_bytes}};
}

Json failure_json(const StartupFailure& failure) {
  return {{"kind", name_of(failure.kind)},
          {"stage", name_of(failure.stage)},
          {"message", failure.message},
          {"wanted_bytes", failure.wanted_bytes},
          {"free_bytes", failure.free_bytes},
          {"largest_feasible_max_model_len", failure.largest_feasible_max_model_len}};
}

Json terms_json(const std::vector<AuditTerm>& terms) {
  Json list = Json::array();
  for (const AuditTerm& term : terms) {
    list.push_back({{"purpose", name_of(term.purpose)},
                    {"bytes", term.bytes},
                    {"known", name_of(term.origin)},
                    {"from", term.why}});
  }
  return list;
}

Json headroom_json(const AuditHeadroom& h) {
  return {{"free_bytes", h.free_bytes},         {"kv_tokens", h.kv_tokens},
          {"longest_tokens", h.longest_tokens}, {"longest_requests", h.longest_requests},
          {"context_tokens", h.context_tokens}, {"pool_requests", h.pool_requests},
          {"max_num_seqs", h.max_num_seqs}};
}

Json alerts_json(const std::vector<AuditAlert>& alerts) {
  Json list = Json::array();
  for (const AuditAlert& alert : alerts) {
    list.push_back({{"level", name_of(alert.level)},
                    {"name", alert.name},
                    {"value", alert.value},
                    {"limit", alert.limit},
                    {"text", alert.text}});
  }
  return list;
}

Json fixes_json(const std::vector<Fix>& fixes) {
  Json list = Json::array();
  for (const Fix& fix : fixes) {
    list.push_back({{"option", fix.option},
                    {"from", fix.from},
                    {"to", fix.to},
                    {"cost", name_of(fix.cost)},
                    {"cost_text", fix.cost_text},
                    {"change", fix.change},
                    {"kv_tokens", fix.kv_tokens},
                    {"pool_requests", fix.pool_requests}});
  }
  return list;
}

Json timeline_json(const StartupTimeline& line) {
  Json list = Json::array();
  for (const StartupMoment& moment : line.moments) {
    Json one = {{"stage", name_of(moment.stage)},
                {"purpose", moment.purpose ? Json(name_of(*moment.purpose)) : Json(nullptr)},
                {"bytes", moment.bytes},
                {"held_bytes", moment.held_bytes}};
    if (moment.cached_bytes) one["cached_bytes"] = *moment.cached_bytes;
    list.push_back(std::move(one));
  }
  return list;
}

Json mitigations_json(const std::vector<Mitigation>& mitigations) {
  Json list = Json::array();
  for (const Mitigation& m : mitigations) {
    list.push_back({{"remedy", m.remedy},
                    {"change", m.change},
                    {"kv_tokens", m.kv_tokens},
                    {"regained_tokens", m.regained},
                    {"regained_bytes", m.regained_bytes},
                    {"assumption", m.assumption},
                    {"source", m.source}});
  }
  return list;
}

Json out_of_memory_json(const MemoryFailure& failure) {
  constexpr std::array<std::string_view, kMemoryFigures> kNames{"",
                                                                "total_gib",
                                                                "free_gib",
                                                                "others_gib",
                                                                "wanted_gib",
                                                                "weights_gib",
                                                                "kv_gib",
                                                                "kv_wanted_gib",
                                                                "graphs_gib",
                                                                "activations_gib",
                                                                "reserved_gib",
                                                                "length_tokens",
                                                                "longest_tokens"};
  Json figures = Json::object();
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (!kNames[i].empty() && failure.figures[i]) {
      figures[std::string(kNames[i])] = *failure.figures[i];
    }
  }
  Json parts = Json::object();
  for (const MemoryPart& part : memory_parts(failure)) parts[std::string(part.name)] = part.gib;
  Json json = {{"engine", failure.engine == nullptr ? Json(nullptr) : Json(failure.engine->name)},
               {"stage", name_of(failure.stage)},
               {"line", failure.line},
               {"text", failure.text},
               {"reason", failure.meaning}};
  if (!failure.victim.empty()) json["killed"] = failure.victim;
  if (!failure.device.empty()) {
    json["device"] = failure.device;
    json["devices"] = failure.devices;
  }
  if (!failure.board.empty()) json["board"] = failure.board;
  json["figures"] = std::move(figures);
  json["device_gib"] = std::move(parts);
  json["changes"] = failure.changes;
  return json;
}

Json number_json(const std::optional<double>& value) {
  return value ? Json(*value) : Json(nullptr);
}

}  // namespace

std::string audit_json(const AuditReport& report) {
  Json json = {{"system", system_json(report.system)},
               {"verdict", name_of(report.verdict)},
               {"context_tokens", report.headroom.context_tokens},
               {"concurrency", report.need.concurrency},
               {"terms", terms_json(report.terms)},
               {"headroom", headroom_json(report.headroom)},
               {"alerts", alerts_json(report.alerts)},
               {"fixes", fixes_json(report.fixes)}};
  if (report.system.budget.failure) json["failure"] = failure_json(*report.system.budget.failure);
  if (report.timeline) json["timeline"] = timeline_json(*report.timeline);
  if (report.mitigated) json["mitigations"] = mitigations_json(report.mitigations);
  json["assumptions"] = report.warnings;
  return json_text(json);
}

std::string memory_failure_json(const MemoryFailure& failure, const std::string& name,
                                const std::vector<std::string>& devices) {
  Json json = {{"log", name}, {"devices", devices}};
  json["out_of_memory"] = out_of_memory_json(failure);
  return json_text(json);
}

std::string log_audit_json(const LogAudit& audit, const MemoryFailure* ran_out) {
  Json json = {{"log", audit.log.name}, {"system", system_json(audit.system)}};
  if (ran_out != nullptr) json["out_of_memory"] = out_of_memory_json(*ran_out);
  Json causes = Json::array();
  for (const Attribution& cause : audit.attribution) {
    causes.push_back({{"cause", name_of(cause.cause)},
                      {"reported", number_json(cause.reported)},
                      {"modelled", number_json(cause.modelled)},
                      {"pool_effect_gib", cause.pool_effect_gib},
                      {"line", cause.line},
                      {"why", cause.why}});
  }
  json["attribution"] = causes;
  json["closure_gib"] = number_json(closure_gib(audit.log));
  if (const auto& failure = audit.log.failure) {
    json["failure"] = {
        {"stage", name_of(failure->stage)}, {"line", failure->line}, {"text", failure->text}};
  }
  json["missing"] = audit.log.missing;
  json["notes"] = audit.log.notes;
  json["assumptions"] = audit.assumptions;
  return json_text(json);
}

std::string series_json(const std::string& name, const SeriesReport& report) {
  const auto point = [](const SeriesPoint& p) {
    return Json{{"time_s", p.time_s}, {"gib", p.gib}};
  };
  Json json = {{"series", name},
               {"samples", report.samples},
               {"duration_s", report.duration_s},
               {"capacity_gib", number_json(report.capacity_gib)},
               {"baseline", point(report.baseline)},
               {"peak", point(report.peak)}};
  if (const auto& leak = report.leak) {
    json["leak"] = {{"gib_per_s", leak->gib_per_s},
                    {"bytes_per_hour", leak->bytes_per_hour},
                    {"rise_gib", leak->rise_gib},
                    {"idle", leak->idle},
                    {"full_at_s", number_json(leak->full_at_s)}};
  }
  json["steps"] = Json::array();
  for (const SeriesStep& step : report.steps) {
    json["steps"].push_back({{"time_s", step.time_s}, {"size_gib", step.size_gib}});
  }
  if (const auto& load = report.after_load) {
    json["after_load"] = {{"before", point(load->before)},
                          {"after", point(load->after)},
                          {"difference_gib", load->difference_gib()}};
  }
  json["alerts"] = Json::array();
  for (const SeriesAlert& alert : report.alerts) {
    json["alerts"].push_back({{"kind", name_of(alert.kind)},
                              {"time_s", alert.time_s},
                              {"until_s", alert.until_s},
                              {"value", alert.value},
                              {"worst", alert.worst},
                              {"limit", alert.limit}});
  }
  json["notes"] = report.notes;
  return json_text(json);
}

}  // namespace headroom
