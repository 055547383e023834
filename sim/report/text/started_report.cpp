#include "sim/report/text/started_report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/engines/engine.hpp"
#include "sim/engines/launch.hpp"
#include "sim/report/text/audit_report.hpp"
#include "sim/report/text/capacity_report.hpp"
#include "sim/report/text/memory_bar.hpp"

namespace headroom {
namespace {

using Said = StartFigure;

// A part of the device's memory: in the log, and in the modelled start.
struct Part {
  std::string_view name;
  std::optional<double> logged;
  std::optional<double> predicted;
};

std::vector<Part> parts_of(const StartedAnswer& answer) {
  const StartedLog& log = answer.log;
  const auto predicted = [&answer](double ModelledMemory::*field) {
    return answer.predicted ? std::optional<double>((*answer.predicted).*field) : std::nullopt;
  };
  std::vector<Part> parts{
      {"weights", log.figure(Said::weights), predicted(&ModelledMemory::weights_gib)},
      {"KV", log.figure(Said::kv), predicted(&ModelledMemory::kv_gib)},
      {"states", log.figure(Said::states), std::nullopt},
      {"graphs", log.figure(Said::graphs), predicted(&ModelledMemory::graph_gib)},
      {"activations", log.figure(Said::activations), predicted(&ModelledMemory::activation_gib)},
      {"outside torch", log.figure(Said::outside), predicted(&ModelledMemory::non_torch_gib)}};
  std::erase_if(parts, [](const Part& part) { return !part.logged; });
  if (parts.empty()) {
    if (const auto& all = log.figure(Said::allocated)) parts.push_back({"allocated", all, {}});
  }
  return parts;
}

// What no line of the log names: by subtraction, beside what is said to be free.
struct Remainder {
  std::optional<double> rest;
  std::optional<double> free;
};

Remainder remainder_of(const std::vector<Part>& parts, const StartedAnswer& answer) {
  const std::optional<double> total = total_gib_of(answer);
  if (!total) return {};
  double left = *total;
  for (const Part& part : parts) left -= *part.logged;
  const auto& free = answer.log.figure(Said::free_after);
  if (left < 0) return {};
  if (!free || *free < 0 || *free > left) return {left, std::nullopt};
  return {left - *free, *free};
}

std::string part_line(const Part& part, double whole, bool is_share) {
  std::string line = memory_bar_line(part.name, *part.logged, whole, is_share);
  if (!part.predicted) return line;
  line.pop_back();
  return line + fmt::format("   predicted {:.2f}\n", *part.predicted);
}

std::string pool_line(const StartedAnswer& answer) {
  const StartedLog& log = answer.log;
  const auto& tokens = log.figure(Said::pool_tokens);
  if (!tokens) return "";
  std::string text = human_count(static_cast<std::int64_t>(*tokens)) + " tokens of KV";
  const auto& length = log.figure(Said::context_length);
  if (length && *length > 0) {
    // Models whose layers keep different tokens count in another way.
    const double together = log.figure(Said::concurrency).value_or(*tokens / *length);
    text += fmt::format(": {:.1f} requests of {} tokens, the longest that it accepts", together,
                        human_count(static_cast<std::int64_t>(*length)));
  }
  if (answer.predicted && answer.predicted->kv_tokens > 0) {
    text += fmt::format("; predicted {} tokens", human_count(answer.predicted->kv_tokens));
  }
  return audit_line("pool", text);
}

std::string headroom_line(const Remainder& left, const StartedAnswer& answer) {
  if (left.free)
    return audit_line("left", fmt::format("{:.2f} GiB free after the start", *left.free));
  if (const auto& free = answer.log.figure(Said::free_after)) {
    return audit_line("left", fmt::format("{:.2f} GiB free by the last line that says it", *free));
  }
  if (left.rest) {
    return audit_line("left", fmt::format("{:.2f} GiB of the device at most: context, other "
                                          "programs and what the log does not name are in it",
                                          *left.rest));
  }
  return "";
}

}  // namespace

std::string started_bars(const StartedAnswer& answer) {
  std::vector<Part> parts = parts_of(answer);
  if (parts.empty()) return "";
  const std::optional<double> total = total_gib_of(answer);
  if (!total) {
    double most = 0;
    for (const Part& part : parts) most = std::max(most, *part.logged);
    std::string out;
    for (const Part& part : parts) out += part_line(part, std::max(most, 1e-9), false);
    return out + audit_line("not known",
                            "the device's memory, and so the rest of it: the log does "
                            "not say it (--device DEVICE does)");
  }
  const Remainder left = remainder_of(parts, answer);
  if (left.rest) parts.push_back({left.free ? "rest" : "rest, free", left.rest, std::nullopt});
  if (left.free) parts.push_back({"free", left.free, std::nullopt});
  std::string out = memory_total_line("device", *total);
  for (const Part& part : parts) out += part_line(part, *total, true);
  return out;
}

std::string started_text(const StartedAnswer& answer) {
  const StartedLog& log = answer.log;
  std::string out = "NO SHORTAGE: the log tells of no memory that ran out\n";
  out += audit_line("log", fmt::format("{}: {}", answer.name, log.engine->launch->title));
  if (!answer.system.empty()) out += audit_line("system", answer.system);
  if (log.devices > 1) {
    out += audit_line("devices",
                      fmt::format("{}; the bars are of {}, the fullest", log.devices, log.device));
  }
  const std::string bars = started_bars(answer);
  out += bars.empty() ? "\n" : "\n" + bars + "\n";
  out += headroom_line(remainder_of(parts_of(answer), answer), answer);
  out += pool_line(answer);
  if (log.host_gib && *log.host_gib > 0) {
    out += audit_line("host", fmt::format("{:.2f} GiB in host memory", *log.host_gib));
  }
  for (std::size_t i = 0; i < answer.notes.size(); ++i) {
    out += audit_line(i == 0 ? "notes" : "", answer.notes[i]);
  }
  return out;
}

}  // namespace headroom
