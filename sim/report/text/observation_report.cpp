#include "sim/report/text/observation_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "sim/report/text/terminal.hpp"
#include "sim/report/text/wrapped_text.hpp"

namespace headroom {
namespace {

constexpr std::size_t kNoteIndent = 12;
constexpr std::size_t kNoteColumns = 80;

std::string noted(std::string_view label, const std::string& text) {
  return wrapped(label, text, kNoteIndent, kNoteColumns);
}

std::string observed_end(const Observation& seen) {
  switch (seen.end) {
    case ObservationEnd::complete: return "";
    case ObservationEnd::seconds: return ", ended by the limit of time";
    case ObservationEnd::interrupted: return ", interrupted";
    case ObservationEnd::server_lost: return ", given up: ten requests in a row failed";
  }
  return "";
}

std::string observed_counts(const Observation& seen) {
  std::string text = fmt::format("{} sent, {} finished", human_count(std::ssize(seen.requests)),
                                 human_count(seen.count(Outcome::finished)));
  const auto add = [&](Outcome outcome, std::string_view what) {
    const std::int64_t count = seen.count(outcome);
    if (count > 0) text += fmt::format(", {} {}", human_count(count), what);
  };
  add(Outcome::rejected, "refused");
  add(Outcome::cancelled, "timed out");
  add(Outcome::lost_to_fault, "broken off");
  add(Outcome::unfinished, "cut off");
  return text;
}

std::string observed_load(const Observation& seen) {
  const auto most = [&](std::optional<double> LoadSample::*field) {
    std::optional<double> found;
    for (const LoadSample& sample : seen.load) {
      if (sample.*field) found = std::max(found.value_or(0), *(sample.*field));
    }
    return found;
  };
  std::string text;
  const auto add = [&text](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  if (const auto running = most(&LoadSample::running)) add(fmt::format("{:.0f} running", *running));
  if (const auto waiting = most(&LoadSample::waiting)) add(fmt::format("{:.0f} waiting", *waiting));
  if (const auto share = most(&LoadSample::kv_share)) {
    add(fmt::format("{:.0f} % of the KV pool in use", 100 * *share));
  }
  const LoadSample& first = seen.load.front();
  const LoadSample& last = seen.load.back();
  if (first.preemptions && last.preemptions) {
    add(fmt::format("{:.0f} preemptions", *last.preemptions - *first.preemptions));
  }
  if (first.prefix_queries && last.prefix_queries && first.prefix_hits && last.prefix_hits &&
      *last.prefix_queries > *first.prefix_queries) {
    add(fmt::format("{:.1f} % of prompt tokens found in the prefix cache",
                    100 * (*last.prefix_hits - *first.prefix_hits) /
                        (*last.prefix_queries - *first.prefix_queries)));
  }
  return fmt::format("at most {} ({} samples of /metrics)", text, seen.load.size());
}

}  // namespace

std::string observation_text(const Observation& seen, const std::string& folder) {
  const CompletionRule& rule = seen.server.rule;
  const ServingMetrics metrics = seen.metrics();
  std::string server = fmt::format("{} at {}", rule.model, seen.url);
  if (!seen.engine.empty()) server += fmt::format(", {}", seen.engine);
  if (!seen.server.version.empty()) server += fmt::format(" {}", seen.server.version);
  std::string out = noted("server", server);
  out +=
      noted("requests", fmt::format("{} in {:.1f} s, after {} for warm-up{}", observed_counts(seen),
                                    static_cast<double>(seen.duration_ns) / kNsPerSecondReal,
                                    seen.warmup.size(), observed_end(seen)));
  if (metrics.completed > 0) {
    out += noted("throughput",
                 fmt::format("{:.4g} requests/s, {:.4g} output tokens/s, {:.4g} tokens/s",
                             metrics.request_throughput, metrics.output_throughput,
                             metrics.total_token_throughput));
    if (!seen.load.empty()) out += noted("load", observed_load(seen));
    out += "\n" + latency_table(metrics) + "\n";
  }
  for (const std::string& note : seen.notes()) out += noted("note", note);
  out += noted("files", folder);
  return out;
}

}  // namespace headroom
