#include "sim/report/text/terminal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "sim/kernel/visible_text.hpp"
#include "sim/report/json/names.hpp"
#include "sim/report/text/energy_report.hpp"
#include "sim/report/text/fleet_report.hpp"
#include "sim/report/text/wrapped_text.hpp"
#include "sim/resolve/kv_tier.hpp"

namespace headroom {
namespace {

constexpr std::size_t kWidth = 80;
constexpr std::size_t kNameWidth = 12;

// "label      text", wrapped at words to the width of the terminal.
std::string summary_line(std::string_view label, std::string_view given) {
  const std::string shown = visible_text(given);
  std::string_view text = shown;
  std::string out = fmt::format("{:<{}}", label, kNameWidth);
  std::size_t column = kNameWidth;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (column > kNameWidth && column + 1 + word.size() > kWidth) {
      out += fmt::format("\n{:{}}", "", kNameWidth);
      column = kNameWidth;
    } else if (column > kNameWidth) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
  }
  return out + "\n";
}

std::string share(double fraction) { return fmt::format("{:.1f} %", fraction * 100); }

std::string setup_lines(const RunResult& result) {
  const Resolved& r = result.resolved;
  const std::int64_t devices = r.sharding.devices();
  std::string out = summary_line(
      "scenario", fmt::format("{}: {} on {}{}, engine {} {}", r.scenario.name, r.model.id,
                              devices > 1 ? fmt::format("{} x ", devices) : "", r.device.id,
                              r.engine->name, r.scenario.engine.version.value_or("")));
  const WorkloadFacts& w = result.workload;
  const std::string count = w.requests == 0 ? "" : human_count(w.requests) + " ";
  const std::string origin = w.from_clients         ? "of clients"
                             : w.trace_name.empty() ? "generated"
                                                    : "of " + w.trace_name;
  out += summary_line(
      "workload", fmt::format("{}requests {}; max_tokens by {}", count, origin, w.max_tokens_rule));
  const MemoryBudget& budget = result.budget;
  out += summary_line(
      "memory",
      fmt::format(
          "{} for KV = {} tokens{}",
          kv_place_text(budget, fmt::format("of {} per rank", human_bytes(budget.capacity_bytes))),
          human_count(result.pool_tokens / r.sharding.data),
          r.sharding.data > 1 ? fmt::format(", {} on {} data ranks",
                                            human_count(result.pool_tokens), r.sharding.data)
                              : ""));
  return out;
}

std::string outcome_line(const RequestCounts& counts) {
  std::string text = fmt::format("{} arrived, {} finished", human_count(counts.arrived),
                                 human_count(counts.finished));
  const auto add = [&text](std::int64_t count, std::string_view what) {
    if (count > 0) text += fmt::format(", {} {}", human_count(count), what);
  };
  add(counts.rejected, "rejected");
  add(counts.cancelled, "cancelled");
  add(counts.lost_to_oom, "lost to OOM");
  add(counts.lost_to_fault, "lost to crashes");
  add(counts.unfinished, "unfinished");
  return summary_line("requests", text);
}

std::string oom_lines(const RunResult& result) {
  std::string out;
  if (const auto& failure = result.budget.failure) {
    out += summary_line(
        "OOM", fmt::format("does not start ({}): {}", name_of(failure->stage), failure->message));
  }
  // One line per kind; summary.json has them one by one.
  std::vector<OomEntry> kinds;
  for (const OomEntry& entry : result.summary.ooms) {
    const auto same = std::find_if(kinds.begin(), kinds.end(), [&entry](const OomEntry& other) {
      return other.kind == entry.kind;
    });
    if (same == kinds.end()) {
      kinds.push_back(entry);
    } else {
      same->count += entry.count;
    }
  }
  for (const OomEntry& entry : kinds) {
    out += summary_line(
        "OOM", fmt::format("{} x {}, first at {:.3f} s", name_of(entry.kind),
                           human_count(entry.count), static_cast<double>(entry.time_ns) / 1e9));
  }
  return out;
}

// Longer than the engine takes: the client's error, not a lack of memory.
std::string refused_line(const RunSummary& summary) {
  if (summary.refused.empty()) return "";
  std::int64_t count = 0;
  for (const OomEntry& entry : summary.refused) count += entry.count;
  const OomEntry& first = summary.refused.front();
  return summary_line("refused",
                      fmt::format("{} longer than the engine accepts (max_model_len), first at "
                                  "{:.3f} s: {} tokens with max_tokens",
                                  human_count(count), static_cast<double>(first.time_ns) / 1e9,
                                  human_count(first.wanted_tokens)));
}

std::string class_lines(const RunResult& result) {
  std::string out;
  for (const ClassSummary& one : result.summary.classes) {
    const ServingMetrics& m = one.metrics;
    std::string text = fmt::format("{} finished of {}", human_count(one.requests.finished),
                                   human_count(one.requests.arrived));
    if (m.completed > 0) {
      text +=
          fmt::format("; TTFT {} / {}, E2E {} / {} (median / p99)", human_ms(m.median_ttft_ms),
                      human_ms(m.p99_ttft_ms), human_ms(m.median_e2el_ms), human_ms(m.p99_e2el_ms));
    }
    if (m.request_goodput) text += fmt::format("; goodput {:.2f}/s", *m.request_goodput);
    const std::string& name = result.workload.classes[static_cast<std::size_t>(one.class_id)];
    out += summary_line("class", fmt::format("{}: {}", name, text));
  }
  return out;
}

std::string result_lines(const RunResult& result) {
  const RunSummary& s = result.summary;
  std::string out = outcome_line(s.requests);
  std::string rates =
      fmt::format("{:.2f} requests/s, {:.0f} output tokens/s over {:.1f} s",
                  s.metrics.request_throughput, s.metrics.output_throughput, s.metrics.duration);
  if (s.metrics.request_goodput) {
    rates += fmt::format("; goodput {:.2f} requests/s", *s.metrics.request_goodput);
  }
  out += summary_line("throughput", rates);
  if (s.metrics.completed > 0) out += latency_table(s.metrics);
  out += class_lines(result);
  for (const auto& [label, text] : fleet_lines(result)) out += summary_line(label, text);
  const MemorySummary& m = s.memory;
  out += summary_line(
      "KV pool",
      fmt::format("{} in use on average, {} at peak; written {}, reserved {}, internal {}, "
                  "external {}",
                  share(m.mean_utilisation), share(m.peak_utilisation), share(m.mean_used),
                  share(m.mean_reserved), share(m.mean_internal), share(m.mean_external)));
  out += summary_line(
      "engine",
      fmt::format("{} steps, busy {:.1f} s; {} preemptions, {} tokens computed "
                  "again",
                  human_count(s.engine.steps), s.engine.busy_s, human_count(s.engine.preemptions),
                  human_count(s.engine.recomputed_tokens)));
  if (const std::string energy = energy_text(result); !energy.empty()) {
    out += summary_line("energy", energy);
  }
  if (s.engine.prefix_cache_hits == 0 && s.engine.prefix_cache_queries > 0 &&
      result.resolved.scenario.is_given("/engine/enable_prefix_caching")) {
    out += summary_line("prefixes", "the prefix cache found nothing: no prompts share a beginning");
  }
  if (s.engine.prefix_cache_hits > 0) {
    out += summary_line("prefixes",
                        fmt::format("{} of {} tokens found in the prefix cache",
                                    share(static_cast<double>(s.engine.prefix_cache_hits) /
                                          static_cast<double>(s.engine.prefix_cache_queries)),
                                    human_count(s.engine.prefix_cache_queries)));
  }
  if (const auto& tier = result.totals.tier) {
    const ByteCount block = run_block_bytes(result.budget.layout);
    out += summary_line(
        "host KV",
        fmt::format("{} blocks ({:.1f} GiB) to the host, {} ({:.1f} GiB) back",
                    human_count(tier->stored_blocks), gib_from_bytes(tier->stored_blocks * block),
                    human_count(tier->loaded_blocks), gib_from_bytes(tier->loaded_blocks * block)));
  }
  if (const auto& adapters = result.totals.adapters) {
    out += summary_line("LoRA",
                        fmt::format("{} adapters used; loaded {} times, {} of them from the disk",
                                    human_count(adapters->used), human_count(adapters->loads),
                                    human_count(adapters->reads)));
  }
  if (const auto& use = result.totals.api_server) {
    const std::int64_t processes = *result.resolved.scenario.engine.api_server_count;
    out += summary_line("API server", fmt::format("{} process{}, busy {}; at most {:.1f} ms behind",
                                                  processes, processes == 1 ? "" : "es",
                                                  share(utilisation(*use)), 1e3 * backlog_s(*use)));
  }
  if (const SpeculationCounts& drafts = s.engine.speculation; drafts.drafts > 0) {
    const auto accepted = static_cast<double>(drafts.accepted_tokens);
    out += summary_line("drafts",
                        fmt::format("{} of {} draft tokens accepted, {:.2f} tokens a step",
                                    share(accepted / static_cast<double>(drafts.draft_tokens)),
                                    human_count(drafts.draft_tokens),
                                    1 + accepted / static_cast<double>(drafts.drafts)));
  }
  return out;
}

// "23 % lower to 11 % higher", "5 to 12 % higher".
std::string deviation_text(const ErrorRange& range) {
  const auto per_cent = [](double share) { return std::llround(100 * share); };
  const std::int64_t low = per_cent(range.low);
  const std::int64_t high = per_cent(range.high);
  if (low < 0 && high > 0) return fmt::format("{} % lower to {} % higher", -low, high);
  const bool lower = low < 0;
  const std::int64_t from = lower ? -high : low;
  const std::int64_t to = lower ? -low : high;
  const std::string size = from == to ? fmt::format("{}", to) : fmt::format("{} to {}", from, to);
  return fmt::format("{} % {}", size, lower ? "lower" : "higher");
}

std::string_view words_of(std::string_view metric) {
  constexpr std::array<std::array<std::string_view, 2>, 5> kWords{
      {{"mean_ttft_ms", "mean TTFT"},
       {"mean_tpot_ms", "mean TPOT"},
       {"output_throughput", "output throughput"},
       {"decode_step", "the time of a decode step"},
       {"prefill_step", "the time of a prefill step"}}};
  for (const auto& [name, words] : kWords) {
    if (name == metric) return words;
  }
  return metric;
}

// "mean TTFT was 23 % lower to 11 % higher than simulated, mean TPOT ...".
std::string deviations_text(const std::vector<ErrorRange>& ranges, std::string_view verb) {
  std::string text;
  for (const ErrorRange& range : ranges) {
    const bool first = text.empty();
    text += fmt::format("{}{} {}{}{}", first ? "" : ", ", words_of(range.metric), first ? verb : "",
                        deviation_text(range), first ? " than simulated" : "");
  }
  return text;
}

std::string warning_lines(const RunResult& result, bool verbose) {
  std::string out;
  const CostFacts& cost = result.cost;
  if (!cost.calibration.empty() && !cost.uncalibrated) {
    const std::string source = verbose ? fmt::format(" ({})", cost.source) : "";
    out += summary_line("step cost", cost.calibration + source);
  }
  if (!result.expected_error.ranges.empty()) {
    out += summary_line("accuracy", accuracy_text(result.expected_error));
  }
  for (const std::string& warning : result.warnings) out += summary_line("warning", warning);
  return out;
}

}  // namespace

std::string latency_table(const ServingMetrics& m) {
  std::string out = fmt::format("{:<{}}{:>12}{:>12}{:>12}{:>12}\n", "", kNameWidth, "mean",
                                "median", "p90", "p99");
  const auto row = [&out](std::string_view name, const std::array<double, 4>& ms) {
    out += fmt::format("{:<{}}{:>12}{:>12}{:>12}{:>12}\n", name, kNameWidth, human_ms(ms[0]),
                       human_ms(ms[1]), human_ms(ms[2]), human_ms(ms[3]));
  };
  row("TTFT", {m.mean_ttft_ms, m.median_ttft_ms, m.p90_ttft_ms, m.p99_ttft_ms});
  // An engine that does not stream hands over all tokens at once: there is nothing between them.
  if (m.mean_tpot_ms > 0) {
    row("TPOT", {m.mean_tpot_ms, m.median_tpot_ms, m.p90_tpot_ms, m.p99_tpot_ms});
    if (m.has_itl) row("ITL", {m.mean_itl_ms, m.median_itl_ms, m.p90_itl_ms, m.p99_itl_ms});
  }
  row("E2E", {m.mean_e2el_ms, m.median_e2el_ms, m.p90_e2el_ms, m.p99_e2el_ms});
  return out;
}

std::string human_bytes(ByteCount bytes) {
  const auto value = static_cast<double>(bytes);
  if (bytes >= ByteCount{1} << 30) return fmt::format("{:.2f} GiB", value / 1073741824.0);
  if (bytes >= ByteCount{1} << 20) return fmt::format("{:.1f} MiB", value / 1048576.0);
  return fmt::format("{} B", bytes);
}

std::string kv_place_text(const MemoryBudget& budget, const std::string& where) {
  const ByteCount host = budget.host_kv_bytes;
  const bool has_device = host == 0 || budget.terms[MemoryPurpose::kv_pool] > 0;
  std::string text = has_device ? human_bytes(budget.kv_pool_bytes) + " " + where : "";
  if (host > 0) {
    text += fmt::format("{}{} in host memory", has_device ? " and " : "", human_bytes(host));
  }
  return text;
}

std::string human_count(std::int64_t count) {
  const std::string digits = std::to_string(count);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    const std::size_t left = digits.size() - i;
    if (left % 3 == 0 && !text.empty() && text != "-") text += ',';
    text += digits[i];
  }
  return text;
}

std::string human_ms(double ms) { return latency_text(ms); }

std::string accuracy_text(const ExpectedError& error) {
  if (error.runs == 0) {
    return fmt::format("not measured; with constants fitted on other devices, {}",
                       deviations_text(error.ranges, "would be "));
  }
  const bool same = error.situation == "same model";
  return fmt::format("measured {} ({} run{} of {})", deviations_text(error.ranges, "was "),
                     error.runs, error.runs == 1 ? "" : "s", same ? "this model" : "other models");
}

std::string accuracy_word(const ExpectedError& error) {
  if (error.runs == 0) return "not measured";
  return error.situation == "same model" ? "measured" : "others";
}

std::string verdict_line(const RunVerdict& verdict) {
  // Of the others the reason speaks already.
  constexpr std::array kSaid{Binds::pool, Binds::batch_limit, Binds::prefill, Binds::decode};
  const bool stopped = std::ranges::find(kSaid, verdict.binds) != kSaid.end();
  return wrapped("",
                 fmt::format("{}: {}{}{}", title_of(verdict.verdict), verdict.reason,
                             stopped ? "; " : "", stopped ? sentence_of(verdict.binds) : ""),
                 0, kWidth);
}

std::string terminal_summary(const RunResult& result, const RunVerdict& verdict,
                             const std::string& where, bool verbose) {
  std::string out = verdict_line(verdict) + setup_lines(result);
  if (result.started) out += result_lines(result);
  out += refused_line(result.summary);
  out += oom_lines(result);
  out += warning_lines(result, verbose);
  if (!where.empty()) out += summary_line("files", where);
  return out;
}

std::string terminal_check(const RunResult& result) {
  std::string out = setup_lines(result);
  out += oom_lines(result);
  out += warning_lines(result, true);
  out +=
      summary_line("check", result.budget.failure ? "valid, but the engine would not start" : "ok");
  return out;
}

}  // namespace headroom
