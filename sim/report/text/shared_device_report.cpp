#include "sim/report/text/shared_device_report.hpp"

#include <fmt/format.h>

#include "sim/report/text/audit_report.hpp"
#include "sim/report/text/capacity_report.hpp"
#include "sim/report/text/terminal.hpp"

namespace headroom {
namespace {

std::string result_of(const SharedStart& start) {
  if (start.verdict == StartVerdict::starts) return "starts";
  const auto& failure = start.system.budget.failure;
  const std::string stage = failure ? fmt::format(" ({})", name_of(failure->stage)) : "";
  return (start.verdict == StartVerdict::may_not_start ? "TIGHT" : "DOES NOT START") + stage;
}

// By the engines before it and by what the scenario says of others.
ByteCount held_by_others(const SharedStart& start) {
  const Resolved& r = start.system.resolved;
  if (r.device.memory_model == MemoryModel::unified) {
    return start.system.budget.terms[MemoryPurpose::others];
  }
  return bytes_from_gib(start.scenario.device.memory_used_gib.value_or(0));
}

std::string starts_table(const SharedStarts& together) {
  std::vector<std::vector<std::string>> rows{
      {"service", "engine", "model", "device", "free GiB", "holds GiB", "KV tokens", ""}};
  for (const SharedStart& start : together.starts) {
    const Resolved& r = start.system.resolved;
    const MemoryBudget& budget = start.system.budget;
    const ByteCount free = budget.capacity_bytes - held_by_others(start);
    const bool runs = start.verdict != StartVerdict::does_not_start;
    rows.push_back({start.name,
                    fmt::format("{} {}", r.engine->name, r.scenario.engine.version.value_or("")),
                    r.model.id, fmt::format("{}", fmt::join(start.devices, ",")),
                    fmt::format("{:.2f} of {:.2f}", gib_from_bytes(free),
                                gib_from_bytes(budget.capacity_bytes)),
                    fmt::format("{:.2f}", gib_from_bytes(start.held_bytes)),
                    runs ? human_count(pool_tokens(r, budget)) : "-", result_of(start)});
  }
  return "\n" + table_text(rows);
}

}  // namespace

std::string shared_text(const SharedStarts& together, const std::vector<std::string>& order,
                        const std::vector<std::string>& assumed) {
  std::string verdict = fmt::format("all {} start on {}", together.starts.size(),
                                    together.starts.front().system.resolved.device.id);
  if (together.failed) {
    const SharedStart& start = together.starts[*together.failed];
    verdict = fmt::format("{}: {}: {}",
                          start.verdict == StartVerdict::may_not_start ? "TIGHT" : "DOES NOT START",
                          start.name, start_reason(start.system.resolved, start.system.budget));
  }
  std::string out = audit_line("verdict", verdict);
  std::string names;
  for (const SharedStart& start : together.starts) {
    names += (names.empty() ? "" : ", then ") + start.name;
  }
  out += audit_line("order", names);
  out += starts_table(together) + "\n";
  for (const SharedStart& start : together.starts) {
    for (const std::string& note : start.system.budget.notes) {
      out += audit_line(start.name, note);
    }
  }
  for (std::size_t i = 0; i < together.changes.size(); ++i) {
    const SharedChange& change = together.changes[i];
    out += audit_line(
        i == 0 ? "change" : "or",
        fmt::format(
            "{}: {}{}", change.name, fix_text(change.fix),
            change.stops.empty() ? "" : fmt::format("; but then {} does not start", change.stops)));
  }
  if (together.failed && together.changes.empty()) {
    out += audit_line("change", "no change of a single option lets it start beside the others");
  }
  for (std::size_t i = 0; i < order.size(); ++i) {
    out += audit_line(i == 0 ? "assumed" : "", order[i]);
  }
  for (std::size_t i = 0; i < assumed.size(); ++i) {
    out += audit_line(order.empty() && i == 0 ? "assumed" : "", assumed[i]);
  }
  return out;
}

}  // namespace headroom
