#include "sim/report/text/audit_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "sim/report/text/terminal.hpp"
#include "sim/report/text/wrapped_text.hpp"
#include "sim/resolve/start_verdict.hpp"

namespace headroom {
namespace {

constexpr std::size_t kShownFixes = 12;

std::string system_lines(const AuditReport& report) {
  const Resolved& r = report.system.resolved;
  const std::string version = r.scenario.engine.version.value_or("");
  const std::int64_t ranks = r.sharding.tensor * r.sharding.pipeline;
  std::string out =
      audit_line("system", fmt::format("{} on {}{}, {}{}{}", r.model.id,
                                       ranks > 1 ? fmt::format("{} x ", ranks) : "", r.device.id,
                                       r.engine->name, version.empty() ? "" : " ", version));
  if (r.device.memory_model == MemoryModel::unified || r.environment.container) {
    out += audit_line("environment", fmt::format("{}: {}", r.environment.id, r.environment.title));
  }
  return out;
}

std::string verdict_text(const AuditReport& report) {
  const AuditHeadroom& h = report.headroom;
  const std::string asked =
      fmt::format("{} request{} of {} tokens", report.need.concurrency,
                  report.need.concurrency == 1 ? "" : "s", human_count(h.context_tokens));
  switch (report.verdict) {
    case AuditVerdict::fits:
      if (report.need.context == 0 && report.need.concurrency == 1) return "starts";
      return fmt::format("starts, and holds {}", asked);
    case AuditVerdict::tight:
      if (std::string reason = start_reason(report.system.resolved, report.system.budget);
          !reason.empty()) {
        return "TIGHT: " + reason;
      }
      return fmt::format("TIGHT: starts, and holds {}, but the KV pool is known to about {:.0f} %",
                         asked, 100 * kPoolError);
    case AuditVerdict::does_not_start:
      return "DOES NOT START: " + start_reason(report.system.resolved, report.system.budget);
    case AuditVerdict::context_too_long:
      return fmt::format("starts, but accepts at most {} tokens, not {}",
                         human_count(h.longest_tokens), asked);
    case AuditVerdict::too_many_requests:
      return fmt::format("starts, but batches at most {} requests, not {}",
                         human_count(h.max_num_seqs), asked);
    case AuditVerdict::pool_too_small:
      return fmt::format("starts, but the pool holds {} of {} tokens at once, not {}",
                         human_count(h.pool_requests), human_count(h.context_tokens), asked);
  }
  return "";
}

std::string terms_table(const AuditReport& report) {
  const MemoryBudget& budget = report.system.budget;
  constexpr std::size_t kIndent = 38;
  const auto gib = [](ByteCount bytes) { return fmt::format("{:.2f}", gib_from_bytes(bytes)); };
  std::string out =
      fmt::format("\n{:<14}{:>8}{:>7}  {:<9}{}\n", "per device", "GiB", "%", "known", "from");
  for (const AuditTerm& term : report.terms) {
    const double share =
        static_cast<double>(term.bytes) / static_cast<double>(budget.capacity_bytes);
    out += wrapped(fmt::format("{:<14}{:>8}{:>7.1f}  {:<7}", name_of(term.purpose), gib(term.bytes),
                               share * 100, name_of(term.origin)),
                   term.why, kIndent + 2, kAuditWidth);
  }
  return out + fmt::format("{:<14}{:>8}\n", "total", gib(budget.capacity_bytes));
}

// A row for each moment, with a bar of what is held: `#` of the engine and others, `:` of files.
std::string timeline_table(const StartupTimeline& line) {
  constexpr double kBar = 30;
  const bool shared = !line.moments.empty() && line.moments.front().cached_bytes.has_value();
  const auto gib = [](ByteCount bytes) { return fmt::format("{:.2f}", gib_from_bytes(bytes)); };
  const auto marks = [&line](ByteCount bytes, char mark) {
    const double share = static_cast<double>(bytes) / static_cast<double>(line.capacity_bytes);
    return std::string(static_cast<std::size_t>(share * kBar + 0.5), mark);
  };
  std::string out = fmt::format("\n{:<19}{:<14}{:>8}{:>9}{:>9}{}\n", "start-up", "takes", "GiB",
                                "held", "left", shared ? "    files" : "");
  for (const StartupMoment& moment : line.moments) {
    const std::string bar =
        marks(moment.held_bytes, '#') + marks(moment.cached_bytes.value_or(0), ':');
    out +=
        fmt::format("{:<19}{:<14}{:>8}{:>9}{:>9}{}  {}\n", name_of(moment.stage),
                    moment.purpose ? name_of(*moment.purpose) : "FAILS, wants", gib(moment.bytes),
                    gib(moment.held_bytes), gib(line.capacity_bytes - moment.held_bytes),
                    shared ? fmt::format("{:>9}", gib(moment.cached_bytes.value_or(0))) : "", bar);
  }
  if (shared) out += "files: page cache of what was read; makes way for what is taken\n";
  return out;
}

std::string headroom_lines(const AuditReport& report) {
  const AuditHeadroom& h = report.headroom;
  std::string out =
      "\n" + audit_line("left", fmt::format("{} of the device; {} tokens of KV",
                                            human_bytes(h.free_bytes), human_count(h.kv_tokens)));
  if (report.system.budget.failure) return out;
  out +=
      audit_line("requests", fmt::format("{:.1f} of the longest ({} tokens) fit the pool together; "
                                         "the engine batches {}",
                                         h.longest_requests, human_count(h.longest_tokens),
                                         human_count(h.max_num_seqs)));
  if (report.need.context > 0) {
    out += audit_line("", fmt::format("{} of {} tokens", human_count(h.pool_requests),
                                      human_count(h.context_tokens)));
  }
  return out;
}

std::string alert_lines(const std::vector<AuditAlert>& alerts) {
  if (alerts.empty()) return "\n" + audit_line("alerts", "none");
  std::string out = "\n";
  for (const AuditAlert& alert : alerts) {
    out += audit_line(name_of(alert.level), fmt::format("{}: {}", alert.name, alert.text));
  }
  return out;
}

std::string fix_lines(const AuditReport& report) {
  if (report.verdict == AuditVerdict::fits) return "";
  if (report.fixes.empty()) {
    return "\n" + audit_line("smallest fix", "no change of a single option makes it fit");
  }
  std::string out = "\n" + audit_line("smallest fix", fix_text(report.fixes.front()));
  const std::size_t shown = std::min(report.fixes.size(), kShownFixes);
  for (std::size_t i = 1; i < shown; ++i) {
    const Fix& fix = report.fixes[i];
    out += audit_line(i == 1 ? "or" : "", fmt::format("[{}] {}", name_of(fix.cost), fix_text(fix)));
  }
  return out;
}

std::string mitigation_lines(const AuditReport& report) {
  if (!report.mitigated) return "";
  if (report.mitigations.empty()) {
    return "\n" + audit_line("mitigations", "none frees memory for KV");
  }
  std::string out = "\nKV tokens gained by each remedy alone:\n";
  for (const Mitigation& m : report.mitigations) {
    out += audit_line(fmt::format("{:>12}", "+" + human_count(m.regained)),
                      fmt::format("{} ({})", m.remedy, m.change));
    out += audit_line("", fmt::format("assumes: {} [{}]", m.assumption, m.source));
  }
  return out;
}

}  // namespace

std::string fix_text(const Fix& fix) {
  return fmt::format("{} {} -> {}: {} ({} tokens of KV)", fix.option, fix.from, fix.to,
                     fix.cost_text, human_count(fix.kv_tokens));
}

std::string audit_line(std::string_view label, std::string_view text) {
  constexpr std::size_t kLabelWidth = 14;
  return wrapped(label, text, kLabelWidth, kAuditWidth);
}

std::string audit_text(const AuditReport& report) {
  std::string out = audit_line("verdict", verdict_text(report));
  out += system_lines(report);
  out += terms_table(report);
  if (report.timeline) out += timeline_table(*report.timeline);
  out += headroom_lines(report);
  out += alert_lines(report.alerts);
  out += fix_lines(report);
  out += mitigation_lines(report);
  if (!report.warnings.empty()) out += "\n";
  for (std::size_t i = 0; i < report.warnings.size(); ++i) {
    out += audit_line(i == 0 ? "assumptions" : "", report.warnings[i]);
  }
  return out;
}

}  // namespace headroom
