#include "sim/report/text/assert_report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/kernel/visible_text.hpp"
#include "sim/report/text/capacity_report.hpp"
#include "sim/report/text/escaped_text.hpp"
#include "sim/resolve/run_verdict.hpp"

namespace headroom {
namespace {

std::string figure_text(std::string_view metric, double value) {
  const std::string_view unit = unit_of_metric(metric);
  if (unit == "ms") return latency_text(value);
  if (unit == "share") return fmt::format("{:.2f} %", 100 * value);
  const bool is_bare = unit == "1" || unit == "0 or 1";
  return fmt::format("{:.6g}{}{}", value, is_bare ? "" : " ", is_bare ? "" : unit);
}

std::string simulated_text(const CheckedAssertion& checked) {
  return checked.value ? figure_text(checked.assertion.metric, *checked.value) : checked.why;
}

// "401 ms to 620 ms"; empty: exact, or missing.
std::string measured_text(const CheckedAssertion& checked) {
  if (!checked.value) return "";
  if (checked.low == checked.high) {
    return find_latency(checked.assertion.metric) != nullptr ? "not known" : "";
  }
  return fmt::format("{} to {}", figure_text(checked.assertion.metric, checked.low),
                     figure_text(checked.assertion.metric, checked.high));
}

// What is wrong with, or close about, one that does not simply hold.
std::string assertion_message(const CheckedScenario& of, const CheckedAssertion& checked) {
  const std::string& metric = checked.assertion.metric;
  if (!checked.value) return fmt::format("no {}: {}", metric, checked.why);
  std::string text = fmt::format("{} is {}", metric, simulated_text(checked));
  if (const std::string measured = measured_text(checked); !measured.empty()) {
    if (checked.low == checked.high) return text + "; how far it may be off is not known";
    text += fmt::format("; {} {}",
                        of.measured_runs > 0
                            ? "measured runs of similar systems would be"
                            : "not measured: with constants of other devices it would be",
                        measured);
  }
  return text;
}

std::size_t count_of(const std::vector<CheckedScenario>& scenarios, AssertionVerdict verdict) {
  std::size_t count = 0;
  for (const CheckedScenario& one : scenarios) count += one.count(verdict);
  return count;
}

std::string headline(const std::vector<CheckedScenario>& scenarios) {
  std::size_t all = 0;
  for (const CheckedScenario& one : scenarios) all += one.assertions.size();
  const std::size_t broken = count_of(scenarios, AssertionVerdict::broken);
  const std::size_t tight = count_of(scenarios, AssertionVerdict::tight);
  const std::string close =
      tight == 0 ? "" : fmt::format("; {} closer than the known error (tight)", tight);
  if (broken > 0) {
    return fmt::format("BROKEN: {} of {} assertion{}{}", broken, all, all == 1 ? "" : "s", close);
  }
  return fmt::format("{}: {} assertion{}{}", tight > 0 ? "TIGHT" : "HOLDS", all,
                     all == 1 ? "" : "s", close);
}

// Text in a cell of a table: bars end cells, angle brackets begin HTML, backticks begin code.
std::string markdown_cell(std::string_view text) {
  std::string cell;
  for (const char c : escaped_markup(visible_text(text))) {
    if (std::string_view("|`*_\\[]").find(c) != std::string_view::npos) cell += '\\';
    cell += c;
  }
  return cell;
}

}  // namespace

std::string assert_text(const std::vector<CheckedScenario>& scenarios) {
  std::string out = headline(scenarios) + "\n";
  for (const CheckedScenario& one : scenarios) {
    std::vector<std::vector<std::string>> rows{
        {visible_text(one.name), "", "simulated",
         one.measured_runs > 0 ? "measured runs" : "other constants"}};
    for (const CheckedAssertion& checked : one.assertions) {
      rows.push_back({checked.assertion.text, std::string(name_of(checked.verdict)),
                      simulated_text(checked), measured_text(checked)});
    }
    out += "\n" + table_text(rows);
  }
  return out;
}

std::string assert_markdown(const std::vector<CheckedScenario>& scenarios) {
  std::string out = fmt::format("### Headroom: {}\n", headline(scenarios));
  for (const CheckedScenario& one : scenarios) {
    out += fmt::format("\n#### {}\n\n", markdown_cell(one.name));
    out += fmt::format("| | assertion | simulated | {} |\n|---|---|---|---|\n",
                       one.measured_runs > 0 ? "measured runs of similar systems"
                                             : "not measured: by constants of other devices");
    for (const CheckedAssertion& checked : one.assertions) {
      const bool plain = checked.verdict == AssertionVerdict::holds;
      out += fmt::format("| {0}{1}{0} | {2} | {3} | {4} |\n", plain ? "" : "**",
                         name_of(checked.verdict), markdown_cell(checked.assertion.text),
                         markdown_cell(simulated_text(checked)), measured_text(checked));
    }
  }
  return out;
}

std::string assert_junit(const std::vector<CheckedScenario>& scenarios) {
  const auto escaped = [](std::string_view text) { return escaped_markup(visible_text(text)); };
  std::size_t tests = 0;
  for (const CheckedScenario& one : scenarios) tests += one.assertions.size();
  std::string out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
  out += fmt::format("<testsuites name=\"headroom\" tests=\"{}\" failures=\"{}\" errors=\"0\">\n",
                     tests, count_of(scenarios, AssertionVerdict::broken));
  for (const CheckedScenario& one : scenarios) {
    out +=
        fmt::format("  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"0\">\n",
                    escaped(one.name), one.assertions.size(), one.count(AssertionVerdict::broken));
    out += fmt::format(
        "    <properties>\n      <property name=\"scenario\" value=\"{}\"/>\n"
        "      <property name=\"digest\" value=\"{}\"/>\n    </properties>\n",
        escaped(one.file), escaped(one.digest));
    for (const CheckedAssertion& checked : one.assertions) {
      const std::string begin = fmt::format("    <testcase classname=\"headroom.{}\" name=\"{}\"",
                                            escaped(one.name), escaped(checked.assertion.text));
      const std::string message = escaped(assertion_message(one, checked));
      if (checked.verdict == AssertionVerdict::broken) {
        out +=
            fmt::format("{}>\n      <failure type=\"broken\" message=\"{}\"/>\n    </testcase>\n",
                        begin, message);
      } else {
        const bool tight = checked.verdict == AssertionVerdict::tight;
        out += fmt::format("{}>\n      <system-out>{}{}</system-out>\n    </testcase>\n", begin,
                           tight ? "tight: " : "", message);
      }
    }
    out += "  </testsuite>\n";
  }
  return out + "</testsuites>\n";
}

}  // namespace headroom
