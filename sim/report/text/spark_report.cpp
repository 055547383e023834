#include "sim/report/text/spark_report.hpp"

#include <fmt/format.h>

#include "sim/report/text/wrapped_text.hpp"

namespace headroom {
namespace {

using Json = nlohmann::ordered_json;

std::string short_name(const std::string& model) { return model.substr(model.rfind('/') + 1); }

std::string gib_text(const std::optional<double>& value) {
  return value ? fmt::format("{:+.2f}", *value) : "-";
}

Json spread_json(const Spread& spread) {
  return {{"mean", spread.mean}, {"min", spread.min}, {"max", spread.max}, {"runs", spread.runs}};
}

Json runs_json(const ContainerRuns& runs) {
  return {{"overhead_gib", spread_json(runs.overhead_gib)}, {"kv_gib", spread_json(runs.kv_gib)}};
}

}  // namespace

std::string spark_text(const SparkExplanations& found, std::size_t width) {
  std::string out = fmt::format("\n  {:<30}{:>10}  {:<32}{}\n", "containers, GiB above native",
                                "native KV", "first start: overhead, KV", "steady: overhead, KV");
  for (const ModelRuns& m : found.models) {
    out += fmt::format(
        "  {:<30}{:>10.2f}  {:<32}{}, {:.2f}\n", short_name(m.model), m.native_kv_gib.mean,
        fmt::format("{:.2f}, {:.2f}", m.first.overhead_gib.mean, m.first.kv_gib.mean),
        to_string(m.steady.overhead_gib), m.steady.kv_gib.mean);
  }
  out += fmt::format("\n  {:<28}{:<30}{:<8}{:>10}{:>10}{:>9}  {}\n", "explanation", "model", "runs",
                     "predicted", "measured", "error", "");
  for (const ExplanationScore& s : found.scores) {
    out +=
        fmt::format("  {:<28}{:<30}{:<8}{:>10.2f}{:>10}{:>9}  {}\n", s.explanation,
                    short_name(s.model), name_of(s.set), s.predicted_gib, gib_text(s.measured_gib),
                    gib_text(s.error_gib), s.label == "scored" ? "" : "*");
  }
  std::vector<std::string> said;
  for (const ExplanationScore& s : found.scores) {
    const std::string line =
        fmt::format("{}, {} ({}): {}{}", s.explanation, short_name(s.model), name_of(s.set),
                    s.label == "scored" ? "" : s.label + "; ", s.needed);
    if (s.set == RunSet::steady && !s.needed.empty()) said.push_back(line);
  }
  out += "\nWhat each explanation requires (* unscored):\n";
  for (const std::string& line : said) out += wrapped("  -", line, 4, width);
  out += wrapped("  -", found.double_counting, 4, width);
  out += "\nContradictions within the runs:\n";
  for (const std::string& line : found.contradictions) out += wrapped("  -", line, 4, width);
  return out;
}

Json spark_json(const SparkExplanations& found) {
  Json models = Json::array();
  for (const ModelRuns& m : found.models) {
    models.push_back({{"model", m.model},
                      {"native_peak_gib", spread_json(m.native_peak_gib)},
                      {"native_kv_gib", spread_json(m.native_kv_gib)},
                      {"first", runs_json(m.first)},
                      {"steady", runs_json(m.steady)},
                      {"steady_from", m.steady_from}});
  }
  Json scores = Json::array();
  for (const ExplanationScore& s : found.scores) {
    scores.push_back({{"explanation", s.explanation},
                      {"model", s.model},
                      {"runs", name_of(s.set)},
                      {"predicted_gib", s.predicted_gib},
                      {"measured_gib", s.measured_gib ? Json(*s.measured_gib) : Json(nullptr)},
                      {"error_gib", s.error_gib ? Json(*s.error_gib) : Json(nullptr)},
                      {"label", s.label},
                      {"needed", s.needed}});
  }
  return {{"models", models},
          {"explanations", scores},
          {"double_counting", found.double_counting},
          {"contradictions", found.contradictions}};
}

}  // namespace headroom
