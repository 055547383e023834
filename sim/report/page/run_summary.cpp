#include "sim/report/page/run_summary.hpp"

#include <fmt/format.h>

#include <array>
#include <string_view>

namespace headroom {
namespace {

enum class Type : std::uint8_t { object, array, text, number, flag };

struct Field {
  std::string_view pointer;
  Type type;
};

constexpr std::array kSummaryFields{Field{"/headroom_version", Type::text},
                                    Field{"/scenario", Type::text},
                                    Field{"/setup", Type::object},
                                    Field{"/setup/model", Type::text},
                                    Field{"/setup/device", Type::text},
                                    Field{"/setup/engine", Type::text},
                                    Field{"/setup/client_latency_ms", Type::number},
                                    Field{"/setup/seed", Type::number},
                                    Field{"/workload", Type::object},
                                    Field{"/started", Type::flag},
                                    Field{"/stop", Type::text},
                                    Field{"/end_s", Type::number},
                                    Field{"/requests", Type::object},
                                    Field{"/requests/arrived", Type::number},
                                    Field{"/requests/finished", Type::number},
                                    Field{"/requests/rejected", Type::number},
                                    Field{"/requests/cancelled", Type::number},
                                    Field{"/requests/lost_to_oom", Type::number},
                                    Field{"/requests/unfinished", Type::number},
                                    Field{"/metrics", Type::object},
                                    Field{"/metrics/request_throughput", Type::number},
                                    Field{"/metrics/output_throughput", Type::number},
                                    Field{"/metrics/median_ttft_ms", Type::number},
                                    Field{"/metrics/p99_ttft_ms", Type::number},
                                    Field{"/metrics/median_tpot_ms", Type::number},
                                    Field{"/metrics/p99_e2el_ms", Type::number},
                                    Field{"/memory", Type::object},
                                    Field{"/memory/capacity_bytes", Type::number},
                                    Field{"/memory/budget_bytes", Type::object},
                                    Field{"/memory/kv_tokens", Type::number},
                                    Field{"/memory/peak_utilisation", Type::number},
                                    Field{"/oom", Type::array},
                                    Field{"/preemptions", Type::number},
                                    Field{"/engine", Type::object},
                                    Field{"/engine/steps", Type::number},
                                    Field{"/engine/busy_s", Type::number},
                                    Field{"/engine/time_s", Type::object},
                                    Field{"/windows", Type::object},
                                    Field{"/windows/stationary", Type::flag},
                                    Field{"/expected_error", Type::object},
                                    Field{"/warnings", Type::array},
                                    Field{"/digest", Type::text}};

constexpr std::array kOomFields{Field{"/kind", Type::text}, Field{"/time_s", Type::number}};
constexpr std::array kResolvedFields{Field{"/headroom_version", Type::text},
                                     Field{"/values", Type::object},
                                     Field{"/warnings", Type::array}};

bool is_of(const Json& json, Type type) {
  switch (type) {
    case Type::object: return json.is_object();
    case Type::array: return json.is_array();
    case Type::text: return json.is_string();
    case Type::number: return json.is_number();
    case Type::flag: return json.is_boolean();
  }
  return false;
}

std::string_view name_of(Type type) {
  constexpr std::array<std::string_view, 5> kNames{"an object", "an array", "a text", "a number",
                                                   "true or false"};
  return kNames[static_cast<std::size_t>(type)];
}

// A file without a field is most often one of another version.
std::string written_by(const Json& root) {
  const Json* version = nullptr;
  if (root.is_object() && root.contains("headroom_version")) version = &root["headroom_version"];
  if (version == nullptr || !version->is_string()) return "not a result file of headroom";
  return fmt::format("written by headroom {}; run the scenario again",
                     version->get_ref<const std::string&>());
}

void need(const Json& json, const Field& field, const Json& root, const std::string& name,
          const std::string& prefix = "") {
  const Json::json_pointer pointer{std::string(field.pointer)};
  const bool is_there = json.contains(pointer);
  if (is_there && is_of(json[pointer], field.type)) return;
  throw ConfigError(Complaint{
      .kind = is_there ? ErrorKind::value : ErrorKind::missing,
      .origin = name,
      .pointer = fmt::format("{}{}", prefix, field.pointer),
      .problem = fmt::format("{}, expected {} ({})", is_there ? "of a different type" : "missing",
                             name_of(field.type), written_by(root))});
}

void need_texts(const Json& list, std::string_view pointer, const std::string& name) {
  for (const Json& one : list) {
    if (one.is_string()) continue;
    throw ConfigError(Complaint{
        .origin = name, .pointer = std::string(pointer), .problem = "expected only strings"});
  }
}

void need_numbers(const Json& object, std::string_view pointer, const std::string& name) {
  for (const auto& [key, value] : object.items()) {
    if (value.is_number() || value.is_null()) continue;
    throw ConfigError(Complaint{.origin = name,
                                .pointer = fmt::format("{}/{}", pointer, pointer_token(key)),
                                .problem = "expected a number"});
  }
}

}  // namespace

void check_summary(const Json& summary, const std::string& name) {
  for (const Field& field : kSummaryFields) need(summary, field, summary, name);
  std::size_t at = 0;
  for (const Json& oom : summary["oom"]) {
    const std::string prefix = fmt::format("/oom/{}", at++);
    for (const Field& field : kOomFields) need(oom, field, summary, name, prefix);
  }
  need_texts(summary["warnings"], "/warnings", name);
  need_numbers(summary["metrics"], "/metrics", name);
  need_numbers(summary["memory"]["budget_bytes"], "/memory/budget_bytes", name);
  need_numbers(summary["engine"]["time_s"], "/engine/time_s", name);
}

void check_resolved(const Json& resolved, const std::string& name) {
  for (const Field& field : kResolvedFields) need(resolved, field, resolved, name);
  for (const auto& [pointer, entry] : resolved["values"].items()) {
    const bool is_entry = entry.is_object() && entry.contains("value") &&
                          entry.contains("set_by") && entry["set_by"].is_string();
    if (is_entry && pointer.starts_with('/')) continue;
    throw ConfigError(
        Complaint{.origin = name,
                  .pointer = fmt::format("/values/{}", pointer_token(pointer)),
                  .problem = fmt::format("expected value and set_by ({})", written_by(resolved))});
  }
}

}  // namespace headroom
