// Text of `headroom audit LOG` and `headroom audit --series CSV`.

#include <fmt/format.h>

#include "sim/engines/engine.hpp"
#include "sim/engines/launch.hpp"
#include "sim/report/text/audit_report.hpp"
#include "sim/report/text/terminal.hpp"
#include "sim/report/text/wrapped_text.hpp"

namespace headroom {
namespace {

constexpr std::size_t kWhyColumn = 54;

std::string list_lines(std::string_view label, const std::vector<std::string>& texts) {
  std::string out;
  for (std::size_t i = 0; i < texts.size(); ++i) out += audit_line(i == 0 ? label : "", texts[i]);
  return out;
}

std::string value_text(const Attribution& cause, const std::optional<double>& value) {
  if (!value) return "-";
  if (cause.cause == MemoryCause::token_counting) {
    return human_count(static_cast<std::int64_t>(*value));
  }
  return fmt::format("{:.{}f}", *value, cause.cause == MemoryCause::share ? 4 : 2);
}

std::string cause_line(const Attribution& cause) {
  const std::string why =
      cause.line > 0 ? fmt::format("{} (line {})", cause.why, cause.line) : cause.why;
  const bool pool = cause.cause == MemoryCause::pool;
  const std::string effect = pool && cause.difference()
                                 ? fmt::format("{:+.2f}", *cause.difference())
                                 : fmt::format("{:+.2f}", cause.pool_effect_gib);
  return wrapped(
      fmt::format("{:<16}{:>12}{:>12}{:>10}", name_of(cause.cause),
                  value_text(cause, cause.reported), value_text(cause, cause.modelled), effect),
      why, kWhyColumn, kAuditWidth);
}

std::string alert_text(const SeriesAlert& alert) {
  return fmt::format("{} from {:.1f} to {:.1f} s: {:.2f} at first, {:.2f} at worst, limit {:.2f}",
                     name_of(alert.kind), alert.time_s, alert.until_s, alert.value, alert.worst,
                     alert.limit);
}

std::string leak_text(const SeriesLeak& leak) {
  std::string text = fmt::format("keeps growing: {} per hour, {:.2f} GiB in the recording{}",
                                 human_bytes(static_cast<ByteCount>(leak.bytes_per_hour)),
                                 leak.rise_gib, leak.idle ? ", with no request running" : "");
  if (leak.full_at_s) text += fmt::format("; full at {:.0f} s at this rate", *leak.full_at_s);
  return text;
}

}  // namespace

std::string log_audit_text(const LogAudit& audit) {
  const Resolved& r = audit.system.resolved;
  std::string out =
      audit_line("log", fmt::format("{}: {} {}", audit.log.name, audit.log.engine->launch->title,
                                    audit.log.version ? audit.log.version->value : "(no version)"));
  out += audit_line(
      "modelled",
      fmt::format("{} on {}{}", r.model.id,
                  r.sharding.devices() > 1 ? fmt::format("{} x ", r.sharding.devices()) : "",
                  r.device.id));
  if (const auto& failure = audit.log.failure) {
    out += audit_line("failed", fmt::format("in {}, line {}: {}", name_of(failure->stage),
                                            failure->line, failure->text));
  }
  if (const std::optional<double> closure = closure_gib(audit.log)) {
    out += audit_line(
        "closure",
        fmt::format("the log's own figures leave {:+.2f} GiB unaccounted for", *closure));
  }
  out += fmt::format("\n{:<16}{:>12}{:>12}{:>10}    {}\n", "GiB per device", "log", "model", "pool",
                     "why");
  for (const Attribution& cause : audit.attribution) out += cause_line(cause);
  out += "\n";
  out += list_lines("not in the log", audit.log.missing);
  out += list_lines("notes", audit.log.notes);
  return out + list_lines("assumptions", audit.assumptions);
}

std::string series_text(const std::string& name, const SeriesReport& report) {
  std::string out =
      audit_line("series", fmt::format("{}: {} samples over {:.1f} s", name,
                                       human_count(report.samples), report.duration_s));
  if (report.capacity_gib) {
    out += audit_line("capacity", fmt::format("{:.2f} GiB", *report.capacity_gib));
  }
  out += audit_line("baseline", fmt::format("{:.2f} GiB at {:.1f} s", report.baseline.gib,
                                            report.baseline.time_s));
  out += audit_line("peak",
                    fmt::format("{:.2f} GiB at {:.1f} s", report.peak.gib, report.peak.time_s));
  out += audit_line("leak", report.leak ? leak_text(*report.leak) : "none seen");
  for (const SeriesStep& step : report.steps) {
    out += audit_line(
        "step", fmt::format("{:+.2f} GiB at {:.1f} s, permanently", step.size_gib, step.time_s));
  }
  if (const auto& load = report.after_load) {
    out += audit_line("after load",
                      fmt::format("{:+.2f} GiB from before ({:.2f} -> {:.2f})",
                                  load->difference_gib(), load->before.gib, load->after.gib));
  }
  for (const SeriesAlert& alert : report.alerts) out += audit_line("alert", alert_text(alert));
  if (report.alerts.empty()) out += audit_line("alerts", "none");
  return out + list_lines("notes", report.notes);
}

}  // namespace headroom
