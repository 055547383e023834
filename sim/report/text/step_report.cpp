#include "sim/report/text/step_report.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "sim/report/json/json_text.hpp"
#include "sim/report/text/capacity_report.hpp"

namespace headroom {
namespace {

using Json = nlohmann::ordered_json;

double ms(Ticks ticks) {
  return static_cast<double>(ticks) / 1e6 / static_cast<double>(kTicksPerNs);
}

std::string duration(double ms) {
  return ms < 1 ? fmt::format("{:.1f} us", ms * 1e3) : fmt::format("{:.2f} ms", ms);
}

std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

std::string contents(const StepQuestion& q) {
  std::string text;
  if (q.decodes > 0) {
    text = fmt::format("{} decoding sequence{} of {} tokens", q.decodes, q.decodes == 1 ? "" : "s",
                       q.context);
  }
  if (q.chunks > 0) {
    text += fmt::format("{}{} chunk{} of {} prompt tokens after {} cached ones",
                        text.empty() ? "" : ", ", q.chunks, q.chunks == 1 ? "" : "s",
                        q.chunk_tokens, q.cached_tokens);
  }
  return text;
}

std::string terms_table(const StepBreakdown& step) {
  const CostTerms& terms = step.price.base_terms;
  std::vector<std::vector<std::string>> rows{{"", "data sheet", "priced", "of it"}};
  const double total = ms(step.price.base);
  for (std::size_t i = 0; i < kCostTermCount; ++i) {
    const auto term = static_cast<CostTerm>(i);
    if (terms[term] == 0 && step.data_sheet[term] == 0) continue;
    rows.push_back({std::string(name_of(term)), duration(ms(step.data_sheet[term])),
                    duration(ms(terms[term])), percent(ms(terms[term]) / total)});
  }
  rows.push_back({"step", duration(ms(step.data_sheet.sum())), duration(total), ""});
  return table_text(rows);
}

std::string measured_text(const StepBreakdown& step, double measured) {
  const double bound = ms(step.data_sheet.sum());
  const double priced = ms(step.price.base);
  std::string text = fmt::format(
      "Measured: {} = {} data-sheet bound ({}), {} that engines with these constants add ({})",
      duration(measured), duration(bound), percent(bound / measured), duration(priced - bound),
      percent((priced - bound) / measured));
  if (measured > priced) {
    return text + fmt::format(",\n  and {} of overhead beyond that ({}).\n",
                              duration(measured - priced), percent((measured - priced) / measured));
  }
  return text + fmt::format(",\n  {} less than priced.\n", duration(priced - measured));
}

}  // namespace

std::string step_text(const StepBreakdown& step, const StepQuestion& question) {
  const Resolved& r = step.resolved;
  std::string text = fmt::format("One step of {} on {}, {}: {}\n\n", r.model.id, r.device.id,
                                 r.engine->name, contents(question));
  text += terms_table(step);
  text += fmt::format("\nPriced with {} ({})\n", step.cost.calibration, step.cost.source);
  if (step.price.slope > 0) {
    text +=
        fmt::format("Each further step of the same batch: +{}\n", duration(ms(step.price.slope)));
  }
  if (!step.plausible.low_row.empty()) {
    text +=
        fmt::format("With constants fitted on other devices: {} ({}) to {} ({})\n",
                    duration(ms(step.price.base) * step.plausible.low), step.plausible.low_row,
                    duration(ms(step.price.base) * step.plausible.high), step.plausible.high_row);
  }
  if (question.measured_ms) text += measured_text(step, *question.measured_ms);
  for (const std::string& warning : r.warnings) text += "Note: " + warning + "\n";
  return text;
}

std::string step_json(const StepBreakdown& step, const StepQuestion& question) {
  Json terms = Json::object();
  for (std::size_t i = 0; i < kCostTermCount; ++i) {
    const auto term = static_cast<CostTerm>(i);
    terms[std::string(name_of(term))] = {{"data_sheet_ms", ms(step.data_sheet[term])},
                                         {"priced_ms", ms(step.price.base_terms[term])}};
  }
  Json json = {
      {"model", step.resolved.model.id},
      {"device", step.resolved.device.id},
      {"engine", step.resolved.engine->name},
      {"decodes", question.decodes},
      {"context_tokens", question.context},
      {"chunks", question.chunks},
      {"chunk_tokens", question.chunk_tokens},
      {"cached_tokens", question.cached_tokens},
      {"cost_level", step.cost.level},
      {"calibration", step.cost.calibration},
      {"calibration_source", step.cost.source},
      {"data_sheet_ms", ms(step.data_sheet.sum())},
      {"priced_ms", ms(step.price.base)},
      {"next_step_ms", ms(step.price.slope)},
      {"plausible_ms",
       {ms(step.price.base) * step.plausible.low, ms(step.price.base) * step.plausible.high}},
      {"terms", terms}};
  if (question.measured_ms) json["measured_ms"] = *question.measured_ms;
  json["warnings"] = step.resolved.warnings;
  return json_text(json);
}

}  // namespace headroom
