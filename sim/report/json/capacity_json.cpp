#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "sim/report/json/audit_json.hpp"
#include "sim/report/json/capacity_json.hpp"
#include "sim/report/json/json_text.hpp"

namespace headroom {
namespace {

using Json = nlohmann::ordered_json;

Json memory_json(const CapacityRow& row) {
  const MemoryBudget& b = row.budget;
  Json purposes = Json::object();
  for (std::size_t i = 0; i < kMemoryPurposeCount; ++i) {
    const auto purpose = static_cast<MemoryPurpose>(i);
    const ByteCount bytes = b.terms.bytes[i];
    if (is_listed(purpose, bytes)) purposes[std::string(name_of(purpose))] = bytes;
  }
  Json json = {{"capacity_bytes", b.capacity_bytes},
               {"budget_bytes", purposes},
               {"kv_available_bytes", b.kv_available_bytes},
               {"kv_pool_bytes", b.kv_pool_bytes},
               {"kv_total_blocks", b.total_blocks},
               {"kv_blocks", b.usable_blocks},
               {"kv_block_tokens", b.layout.block_tokens},
               {"kv_tokens", row.pool_tokens},
               {"kv_tokens_reported", b.kv_tokens},
               {"kv_bytes_per_token", b.layout.bytes_per_token},
               {"kv_bytes_per_token_by_geometry", row.token.rank},
               {"kv_bytes_per_token_of_model", row.token.model},
               {"saved_by_fewer_heads", row.token.saved()},
               {"state_bytes_per_sequence", b.layout.state_bytes_per_sequence},
               {"max_model_len", row.max_model_len},
               {"max_concurrency", b.max_concurrency}};
  if (row.token.override_model) json["kv_bytes_per_token_given"] = *row.token.override_model;
  if (row.usable_fraction) json["usable_fraction"] = *row.usable_fraction;
  return json;
}

Json weights_json(const WeightsVerdict& w) {
  const std::string size = w.by_layers ? "pipeline_parallel_size" : "tensor_parallel_size";
  return {{"fit", w.fit},
          {"checkpoint_bytes", w.checkpoint_bytes},
          {"wanted_bytes", w.wanted_bytes},
          {"on_host_bytes", w.host_bytes},
          {"available_bytes", w.available_bytes},
          {size + "_that_fits", optional_json(w.ranks_that_fit)},
          {size + "_that_starts", optional_json(w.ranks_that_start)}};
}

Json contexts_json(const std::vector<ContextCapacity>& contexts) {
  Json list = Json::array();
  for (const ContextCapacity& c : contexts) {
    list.push_back({{"tokens", c.tokens},
                    {"kv_bytes", c.kv_bytes},
                    {"kv_bytes_of_model", c.model_kv_bytes},
                    {"max_concurrent", c.requests},
                    {"pool_holds", c.pool_holds},
                    {"limited_by", name_of(c.limit)}});
  }
  return list;
}

Json startup_json(const std::optional<StartupFailure>& failure) {
  if (!failure) return nullptr;
  return {{"stage", name_of(failure->stage)},
          {"kind", name_of(failure->kind)},
          {"message", failure->message},
          {"wanted_bytes", failure->wanted_bytes},
          {"free_bytes", failure->free_bytes},
          {"largest_feasible_max_model_len", failure->largest_feasible_max_model_len}};
}

Json range_json(const CapacityRange& range) {
  return {{"low", range.low}, {"typical", range.typical}, {"high", range.high}};
}

Json start_json(const StartCase& start) {
  Json requests = Json::array();
  for (const CapacityRange& n : start.requests) requests.push_back(range_json(n));
  return {{"first_start", start.first_start},
          {"starts", start.starts},
          {"kv_pool_bytes", range_json(start.kv_pool_bytes)},
          {"kv_tokens", range_json(start.kv_tokens)},
          {"max_concurrent", std::move(requests)}};
}

Json system_json(const CapacityRow& row) {
  const Resolved& r = row.resolved;
  Json starts = Json::array();
  for (const StartCase& start : row.starts) starts.push_back(start_json(start));
  Json json = {{"model", r.model.id},
               {"device", r.device.id},
               {"verdict", name_of(row.start)},
               {"reason", row.start == StartVerdict::starts ? "" : start_reason(r, row.budget)},
               {"engine", r.engine->name},
               {"engine_version", r.scenario.engine.version.value_or("")},
               {"budget_rule", row.usable_fraction ? "usable_fraction" : r.engine->budget_rule},
               {"environment", r.environment.id},
               {"tensor_parallel_size", r.sharding.tensor},
               {"pipeline_parallel_size", r.sharding.pipeline},
               {"data_parallel_size", r.sharding.data},
               {"kv_cache_dtype", name_of(r.kv)},
               {"memory", memory_json(row)},
               {"weights", weights_json(row.weights)},
               {"contexts", contexts_json(row.contexts)},
               {"startup", startup_json(row.budget.failure)},
               {"starts", std::move(starts)},
               {"warnings", row.warnings}};
  if (row.cure) {
    json["change"] = {{"option", row.cure->fix.option},
                      {"from", row.cure->fix.from},
                      {"to", row.cure->fix.to},
                      {"contexts", contexts_json(row.cure->contexts)}};
  }
  return json;
}

Json environments_json(const std::vector<CapacityRow>& rows) {
  Json groups = Json::array();
  for (const std::vector<std::size_t>& group : environment_groups(rows)) {
    const CapacityRow& base = rows[group.front()];
    const ByteCount reference = base.starts.front().kv_pool_bytes.typical;
    Json list = Json::array();
    for (const std::size_t i : group) {
      for (const StartCase& start : rows[i].starts) {
        const ByteCount pool = start.kv_pool_bytes.typical;
        Json json = {{"system", i}, {"environment", rows[i].resolved.environment.id}};
        json.update(start_json(start));
        json["difference_bytes"] = pool - reference;
        json["ratio"] = reference == 0
                            ? Json(nullptr)
                            : Json(static_cast<double>(pool) / static_cast<double>(reference));
        list.push_back(std::move(json));
      }
    }
    groups.push_back({{"model", base.resolved.model.id},
                      {"device", base.resolved.device.id},
                      {"engine", base.resolved.engine->name},
                      {"starts", std::move(list)}});
  }
  return groups;
}

Json heads_json(const std::vector<CapacityRow>& rows) {
  Json list = Json::array();
  std::set<std::pair<std::string, Dtype>> seen;
  for (const CapacityRow& row : rows) {
    if (!seen.emplace(row.resolved.model.id, row.resolved.kv).second) continue;
    list.push_back({{"model", row.resolved.model.id},
                    {"kv_cache_dtype", name_of(row.resolved.kv)},
                    {"kv_bytes_per_token", row.token.model},
                    {"kv_bytes_per_token_with_all_query_heads", row.token.multi_head},
                    {"saved", row.token.saved()}});
  }
  return list;
}

// --- worksheet ----------------------------------------------------------------------------------

Json column_json(const WorksheetColumn& c) {
  return {{"title", c.title},
          {"kv_gb_per_token", c.kv_gb_per_token},
          {"kv_cache_needed_per_gpu", c.kv_needed_per_gpu_gb},
          {"available_per_gpu", c.available_per_gpu_gb},
          {"will_fit", c.will_fit},
          {"headroom_gb", c.headroom_gb},
          {"max_concurrent", c.max_concurrent}};
}

Json audit_json(const MemoryAudit& a) {
  return {{"weights_gb", a.weights_gb},
          {"weights_per_gpu_gb", a.weights_per_gpu_gb},
          {"cuda_context_gb", a.context_gb},
          {"allocator_gb", a.allocator_gb},
          {"activations_gb", a.activations_gb},
          {"available_for_kv_gb", a.available_gb},
          {"available_for_kv_less_activations_gb", a.available_less_activations_gb},
          {"kv_1k_1_request_gb", a.kv_1k_one_request_gb},
          {"kv_8k_10_requests_gb", a.kv_8k_ten_requests_gb}};
}

}  // namespace

std::string capacity_json(const std::vector<CapacityRow>& rows) {
  if (rows.size() == 1) return json_text(system_json(rows.front()));
  Json systems = Json::array();
  for (const CapacityRow& row : rows) systems.push_back(system_json(row));
  const Json comparison = {{"environments", environments_json(rows)},
                           {"kv_per_token", heads_json(rows)}};
  return json_text({{"systems", std::move(systems)}, {"comparison", comparison}});
}

std::string worksheet_json(const std::vector<Worksheet>& sheets) {
  Json list = Json::array();
  for (const Worksheet& sheet : sheets) {
    const WorksheetInput& in = sheet.input;
    Json columns = Json::array();
    for (const WorksheetColumn& c : sheet.columns) columns.push_back(column_json(c));
    list.push_back({{"model", in.model},
                    {"context_tokens", in.context_tokens},
                    {"concurrent_requests", in.concurrent_requests},
                    {"tensor_parallel_size", in.tensor_parallel},
                    {"gpu_memory_gb", in.gpu_memory_gb},
                    {"overhead_gb", in.overhead_gb},
                    {"columns", std::move(columns)},
                    {"audit", audit_json(sheet.audit)}});
  }
  return json_text({{"worksheets", std::move(list)}});
}

}  // namespace headroom
