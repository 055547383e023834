#include "sim/report/text/trace_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "sim/kernel/visible_text.hpp"
#include "sim/metrics/thin_percentiles.hpp"
#include "sim/report/json/trace_json.hpp"
#include "sim/report/text/capacity_report.hpp"
#include "sim/report/text/terminal.hpp"
#include "sim/report/text/wrapped_text.hpp"

namespace headroom {
namespace {

using Table = std::vector<std::vector<std::string>>;

constexpr std::size_t kLabelIndent = 12;
constexpr std::size_t kMostClasses = 20;  // JSON has them all

std::string rows_text(std::int64_t rows) {
  return fmt::format("{} row{}", human_count(rows), rows == 1 ? "" : "s");
}

std::string trace_line(std::string_view label, std::string_view text) {
  return wrapped(label, text, kLabelIndent, kTraceWidth);
}

// --- the file ------------------------------------------------------------------------------------

std::string_view clock_text(TraceClock clock) {
  switch (clock) {
    case TraceClock::absolute: return "";
    case TraceClock::per_session:
      return "times count from the start of each session: sessions need an arrival process";
    case TraceClock::none: return "rows have no time: they need an arrival process";
  }
  return "";
}

std::string zero_rows_text(std::int64_t no_prompt, std::int64_t no_output, std::int64_t neither) {
  return fmt::format("{} without prompt, {} without output, {} without both",
                     human_count(no_prompt), human_count(no_output), human_count(neither));
}

std::string file_lines(const TraceProfile& p) {
  std::string out = trace_line("trace", fmt::format("{}, format {}", p.file, p.format));
  if (p.backward_steps > 0) {
    out +=
        trace_line("order", rows_text(p.backward_steps) +
                                " earlier than the previous one: read again and sorted in memory");
  } else if (p.in_memory) {
    out += trace_line("order", "by time; kept in memory, because a pipe cannot be read again");
  }
  if (!p.warning.empty()) out += trace_line("WARNING", p.warning);
  if (p.clock != TraceClock::absolute) out += trace_line("clock", std::string(clock_text(p.clock)));
  if (p.zero.total() > 0) {
    out +=
        trace_line("zero tokens",
                   fmt::format("{}: {}; {} remain without them", rows_text(p.zero.total()),
                               zero_rows_text(p.zero.prompt_only, p.zero.output_only, p.zero.both),
                               human_count(p.left.rows)));
  }
  return out;
}

// --- arrivals and lengths ------------------------------------------------------------------------

std::string seconds_text(TimeNs ns) {
  const TimeNs ms = ns / kNsPerMs + (ns % kNsPerMs >= kNsPerMs / 2 ? 1 : 0);
  return fmt::format("{}.{:03} s", human_count(ms / 1000), ms % 1000);
}

std::string number_text(const std::optional<double>& value) {
  return value ? fmt::format("{:.4g}", *value) : "-";
}

std::vector<std::string> arrival_cells(const RowsProfile& rows) {
  const ArrivalStats& a = rows.arrivals;
  std::vector<std::string> cells{human_count(rows.rows)};
  if (a.arrivals == 0) return cells;
  cells.push_back(seconds_text(a.span_ns));
  cells.push_back(number_text(a.rate_per_s));
  cells.push_back(number_text(a.gap_cv));
  cells.push_back(number_text(a.peak_to_mean));
  cells.push_back(fmt::format("{} of {}", human_count(a.empty_minutes), human_count(a.minutes)));
  cells.push_back(human_count(a.ties));
  cells.push_back(seconds_text(a.longest_silence_ns));
  return cells;
}

std::string arrivals_text(const TraceProfile& p) {
  constexpr std::array kLabels{"rows",
                               "span",
                               "rows per second",
                               "CV of the gaps",
                               "busiest minute / mean",
                               "minutes without a row",
                               "same time as the previous row",
                               "longest silence"};
  const bool has_two = p.zero.total() > 0;
  Table table{{"", "all"}};
  if (has_two) table.front().emplace_back("without zero tokens");
  const std::vector<std::string> all = arrival_cells(p.all);
  std::vector<std::string> left = arrival_cells(p.left);
  left.resize(all.size(), "-");
  for (std::size_t i = 0; i < all.size(); ++i) {
    table.push_back({kLabels[i], all[i]});
    if (has_two) table.back().push_back(left[i]);
  }
  return "\n" + table_text(table, kTraceWidth);
}

void add_lengths(Table& table, const std::string& label, const LengthStats& s) {
  table.push_back({label, human_count(s.sum_tokens), fmt::format("{:.1f}", s.mean_tokens),
                   human_count(s.p50_tokens), human_count(s.p90_tokens), human_count(s.p99_tokens),
                   human_count(s.max_tokens)});
}

std::string ratio_text(const RowsProfile& rows) {
  if (rows.output.sum_tokens == 0) return "";
  return fmt::format(
      "  {:.4g} input tokens per output token\n",
      static_cast<double>(rows.input.sum_tokens) / static_cast<double>(rows.output.sum_tokens));
}

std::string lengths_text(const TraceProfile& p) {
  Table table{{"tokens", "sum", "mean", "p50", "p90", "p99", "max"}};
  add_lengths(table, "input", p.all.input);
  add_lengths(table, "output", p.all.output);
  if (p.zero.total() > 0) {
    add_lengths(table, "input, without zero", p.left.input);
    add_lengths(table, "output, without zero", p.left.output);
  }
  std::string out = "\n" + table_text(table, kTraceWidth) + ratio_text(p.all);
  if (p.thinking_tokens > 0) {
    out += fmt::format("  {} output tokens are thinking\n", human_count(p.thinking_tokens));
  }
  return out;
}

// Two bars side by side, of the same scale.
std::string histogram_text(const RowsProfile& rows) {
  constexpr std::size_t kBar = 23;
  const auto& input = rows.input.rows_by_power;
  const auto& output = rows.output.rows_by_power;
  std::size_t first = input.size();
  std::size_t last = 0;
  std::int64_t most = 1;
  for (std::size_t k = 0; k < input.size(); ++k) {
    const std::int64_t larger = std::max(input[k], output[k]);
    if (larger == 0) continue;
    first = std::min(first, k);
    last = k;
    most = std::max(most, larger);
  }
  const auto bar = [&](std::int64_t count) {
    const double scale = static_cast<double>(kBar) / static_cast<double>(most);
    const auto filled = static_cast<std::size_t>(static_cast<double>(count) * scale + 0.5);
    return fmt::format("{:<{}}{:>6.1f}%", std::string(filled, '#'), kBar,
                       100 * static_cast<double>(count) / static_cast<double>(rows.rows));
  };
  std::string out = fmt::format("\n  {:>13}   {:<30}  {}\n", "tokens from", "input", "output");
  for (std::size_t k = first; k <= last; ++k) {
    out += fmt::format("  {:>13}   {}  {}\n", human_count(first_of_power(k)), bar(input[k]),
                       bar(output[k]));
  }
  return out;
}

// --- what only some files have -------------------------------------------------------------------

std::string class_lines(const std::vector<ClassRows>& classes) {
  std::string text;
  for (std::size_t i = 0; i < std::min(classes.size(), kMostClasses); ++i) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ",
                        classes[i].name.empty() ? "(none)" : classes[i].name,
                        human_count(classes[i].rows));
  }
  if (classes.size() > kMostClasses) {
    text += fmt::format(", and {} more",
                        human_count(std::ssize(classes) - static_cast<std::int64_t>(kMostClasses)));
  }
  return classes.empty() ? "" : trace_line("classes", text);
}

// Empty: nothing was left open.
std::string turns_text(const SessionTurns& turns) {
  std::string text;
  if (turns.added > 0) {
    text = rows_text(turns.added) +
           " read as the text that the turn adds to the previous turns and answers";
  }
  if (turns.whole > 0) {
    text += (text.empty() ? "" : ", ") + rows_text(turns.whole) + " read as the whole prompt";
  }
  return text.empty() ? text : text + " (--session-input)";
}

std::string session_lines(const TraceProfile& p) {
  std::string out;
  const SessionProfile& s = p.sessions;
  if (s.sessions > 0) {
    out += trace_line("sessions", fmt::format("{} with {}; turns: {} in the median, {} at most",
                                              human_count(s.sessions), rows_text(s.rows),
                                              human_count(s.p50_turns), human_count(s.max_turns)));
  }
  const std::string turns = turns_text(p.session_turns);
  if (!turns.empty()) out += trace_line("later turns", turns);
  if (p.closed_loop_rows > 0) {
    std::string text = rows_text(p.closed_loop_rows) + " sent some time after the previous answer";
    if (p.timeless_rows > 0) {
      text += fmt::format(", {} of them without a time, so not counted as arrivals below",
                          human_count(p.timeless_rows));
    }
    out += trace_line("closed loop", text);
  }
  return out;
}

std::string prefix_lines(const PrefixProfile& p) {
  if (p.rows == 0) return "";
  return trace_line(
      "prefixes",
      fmt::format("{:.1f} % of the prompt tokens ({}) are in full blocks of {} that an unlimited "
                  "cache would have from earlier prompts; identities: {}, {} tokens",
                  100 * p.hit_share, human_count(p.hit_tokens), PrefixShare::kBlockTokens,
                  rows_text(p.rows), human_count(p.prefix_tokens)));
}

std::string measured_text(const TraceProfile& p) {
  Table table{{"measured", "rows", "mean", "p50", "p90", "p99", "max"}};
  std::string notes;
  const auto add = [&](const char* label, const std::optional<MeasuredProfile>& m) {
    if (!m) return;
    table.push_back({label, human_count(m->rows), human_ms(m->mean_ms), human_ms(m->p50_ms),
                     human_ms(m->p90_ms), human_ms(m->p99_ms), human_ms(m->max_ms)});
    if (const auto thin = thin_percentiles(m->rows); !thin.empty()) {
      notes += fmt::format("{} {} of {} rows are unreliable: p99 needs {}\n", label, thin, m->rows,
                           kValuesForP99);
    }
  };
  add("TTFT", p.ttft);
  add("E2EL", p.e2el);
  return table.size() == 1 ? "" : "\n" + table_text(table, kTraceWidth) + notes;
}

// --- rules for max_tokens ------------------------------------------------------------------------

std::string rule_text(const Reservation& one) {
  const std::string limit = human_count(one.limit_tokens.value_or(0));
  switch (one.rule) {
    case ReservationRule::true_output: return "true output (oracle)";
    case ReservationRule::p99_output: return "p99 of outputs, " + limit;
    case ReservationRule::longest_output: return "longest output, " + limit;
    case ReservationRule::half_more: return "1.5 x true output";
    case ReservationRule::next_power_of_two: return "next power of two";
    case ReservationRule::max_model_len: return "max_model_len, " + limit;
  }
  return "";
}

std::string reservations_text(const Reservations& all) {
  if (all.rules.empty()) return "";
  Table table{{"max_tokens", "reserved", "at once", "of oracle", "cut", "refused"}};
  for (const Reservation& one : all.rules) {
    table.push_back({rule_text(one), fmt::format("{:.1f}", one.mean_reserved_tokens),
                     fmt::format("{:.1f}", one.requests_at_once),
                     fmt::format("{:.1f} %", 100 * one.relative_to_true_output),
                     human_count(one.cut_answers), human_count(one.refused_requests)});
  }
  return fmt::format("\nCapacity by rule for max_tokens, with a pool of {} KV tokens\n",
                     human_count(all.kv_tokens)) +
         table_text(table, kTraceWidth) +
         "  reserved: prompt and max_tokens, mean tokens per request\n  at once: requests that the "
         "pool holds; of oracle: relative to the true outputs\n  cut: answers that end at the "
         "limit; refused: prompts that leave no room\n";
}

std::string odd_text(const OddRows& odd) {
  if (odd.rows == 0) return "none";
  std::string text =
      fmt::format("{}, first row {}", rows_text(odd.rows), human_count(odd.first_row));
  if (odd.first_line > 0) text += fmt::format(" (line {})", human_count(odd.first_line));
  return text;
}

}  // namespace

std::string trace_profile_text(const TraceProfile& p) {
  return file_lines(p) + class_lines(p.classes) + session_lines(p) + prefix_lines(p.prefix) +
         arrivals_text(p) + lengths_text(p) + histogram_text(p.all) + measured_text(p) +
         reservations_text(p.reservations);
}

std::string trace_check_text(const TraceCheck& check) {
  constexpr std::size_t kLabel = 16;
  std::string out;
  const auto add = [&out](std::string_view label, const std::string& text) {
    out += wrapped(label, text, kLabel, kTraceWidth);
  };
  add("trace", fmt::format("{}, format {}", check.file, check.format));
  add("rows",
      fmt::format("{}, {} usable", human_count(check.rows), human_count(check.usable_rows)));
  if (check.clock == TraceClock::absolute) {
    add("backward steps", odd_text(check.backward_steps));
    add("same time", odd_text(check.ties));
  } else {
    add("clock", std::string(clock_text(check.clock)));
  }
  add("no prompt", odd_text(check.zero_prompt));
  add("no output", odd_text(check.zero_output));
  add("no tokens", odd_text(check.zero_both));
  const std::string turns = turns_text(check.session_turns);
  if (!turns.empty()) add("later turns", turns);
  if (!check.warning.empty()) add("WARNING", check.warning);
  add("check", "ok");
  return out;
}

std::string conversion_text(const Conversion& conversion, std::string_view where) {
  std::string out =
      trace_line("trace", fmt::format("{}, format {}", conversion.file, conversion.format));
  out += trace_line("rows", human_count(conversion.rows));
  if (conversion.backward_steps > 0) {
    out += trace_line(
        "order", fmt::format("sorted: {} backward step{}", human_count(conversion.backward_steps),
                             conversion.backward_steps == 1 ? "" : "s"));
  }
  const std::string turns = turns_text(conversion.session_turns);
  if (!turns.empty()) out += trace_line("later turns", turns);
  if (!conversion.left_out.empty()) {
    std::string names;
    for (const std::string& name : conversion.left_out) names += (names.empty() ? "" : ", ") + name;
    out += trace_line("left out", names + ": the format has no place for them");
  }
  if (!conversion.warning.empty()) out += trace_line("WARNING", conversion.warning);
  return out + trace_line("written to", where);
}

}  // namespace headroom
