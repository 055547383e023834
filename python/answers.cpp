#include "python/answers.hpp"

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "python/columns.hpp"

namespace nb = nanobind;

namespace headroom::python {
namespace {

nb::dict fields(const api::ContextAnswer& context) {
  nb::dict fields;
  fields["tokens"] = context.tokens;
  fields["requests"] = context.requests;
  fields["kv_bytes"] = context.kv_bytes;
  fields["limit"] = context.limit;
  return fields;
}

nb::dict fields(const api::FixAnswer& fix) {
  nb::dict fields;
  fields["option"] = fix.option;
  fields["before"] = fix.from;
  fields["after"] = fix.to;
  fields["cost"] = fix.cost;
  return fields;
}

nb::dict fields(const api::DifferenceAnswer& difference) {
  nb::dict fields;
  fields["mean_a"] = difference.mean_a;
  fields["mean_b"] = difference.mean_b;
  fields["difference"] = difference.difference;
  fields["half_width"] = difference.half_width;
  return fields;
}

nb::dict fields(const api::ChangeAnswer& change) {
  nb::dict fields;
  fields["option"] = change.option;
  fields["to"] = change.to;
  fields["cost"] = change.cost;
  fields["largest_load"] = change.largest_load;
  fields["holds"] = change.holds;
  return fields;
}

nb::dict fields(const api::AssertionAnswer& assertion) {
  nb::dict fields;
  fields["scenario"] = assertion.scenario;
  fields["text"] = assertion.text;
  fields["verdict"] = assertion.verdict;
  fields["value"] = assertion.value;
  fields["low"] = assertion.low;
  fields["high"] = assertion.high;
  return fields;
}

template <typename Item>
nb::list list_of(const std::vector<Item>& items) {
  nb::list list;
  for (const Item& item : items) list.append(fields(item));
  return list;
}

}  // namespace

nb::dict fields_of(const api::RunAnswer& answer) {
  nb::dict fields;
  fields["started"] = answer.started;
  fields["failure"] = answer.failure;
  fields["stop"] = answer.stop;
  fields["digest"] = answer.digest;
  fields["warnings"] = answer.warnings;
  fields["requests"] = request_arrays(answer.tables);
  fields["timeline"] = timeline_arrays(answer.tables);
  fields["json"] = answer.json;
  return fields;
}

nb::dict fields_of(const api::CapacityAnswer& answer) {
  nb::dict fields;
  fields["starts"] = answer.starts;
  fields["failure"] = answer.failure;
  fields["kv_tokens"] = answer.kv_tokens;
  fields["contexts"] = list_of(answer.contexts);
  fields["warnings"] = answer.warnings;
  fields["json"] = answer.json;
  return fields;
}

nb::dict fields_of(const api::AuditAnswer& answer) {
  nb::dict fields;
  fields["verdict"] = answer.verdict;
  fields["bytes"] = answer.bytes;
  fields["fixes"] = list_of(answer.fixes);
  fields["json"] = answer.json;
  return fields;
}

nb::dict fields_of(const api::AskAnswer& answer) {
  nb::dict fields;
  fields["verdict"] = answer.verdict;
  fields["reason"] = answer.reason;
  fields["largest_load"] = answer.largest_load;
  fields["binds"] = answer.binds;
  fields["changes"] = list_of(answer.changes);
  fields["hardware"] = list_of(answer.hardware);
  fields["json"] = answer.json;
  return fields;
}

nb::dict fields_of(const api::CompareAnswer& answer) {
  nb::dict metrics;
  for (const auto& [name, difference] : answer.metrics) {
    metrics[name.c_str()] = fields(difference);
  }
  nb::dict fields;
  fields["metrics"] = metrics;
  fields["json"] = answer.json;
  return fields;
}

nb::dict fields_of(const api::SweepPoint& point) {
  nb::dict fields;
  fields["parameters"] = point.parameters;
  fields["replication"] = point.replication;
  fields["error"] = point.error;
  fields["metrics"] = point.metrics;
  fields["digest"] = point.digest;
  return fields;
}

nb::dict fields_of(const api::TuneAnswer& answer) {
  nb::dict settings;
  for (const api::SettingAnswer& setting : answer.settings) {
    settings[setting.option.c_str()] = setting.to;
  }
  nb::dict fields;
  fields["found"] = answer.found;
  fields["merit"] = answer.merit;
  fields["gain"] = answer.gain;
  fields["gain_half_width"] = answer.gain_half_width;
  fields["settings"] = settings;
  fields["scenario"] = answer.scenario;
  fields["command"] = answer.command;
  fields["json"] = answer.json;
  return fields;
}

nb::dict fields_of(const api::CheckAnswer& answer) {
  nb::dict fields;
  fields["holds"] = answer.holds;
  fields["assertions"] = list_of(answer.assertions);
  fields["json"] = answer.json;
  return fields;
}

nb::dict fields_of(const api::EmitAnswer& answer) {
  nb::dict files;
  for (const auto& [name, text] : answer.files) files[name.c_str()] = text;
  nb::dict fields;
  fields["files"] = files;
  fields["not_said"] = answer.not_said;
  return fields;
}

nb::dict fields_of(const api::PlanAnswer& answer) {
  nb::dict fields;
  fields["found"] = answer.found;
  fields["json"] = answer.json;
  return fields;
}

}  // namespace headroom::python
