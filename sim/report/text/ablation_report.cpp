#include "sim/report/text/ablation_report.hpp"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <vector>

#include "sim/report/json/json_text.hpp"
#include "sim/report/text/capacity_report.hpp"
#include "sim/report/text/memory_validation_report.hpp"
#include "sim/report/text/run_validation_report.hpp"

namespace headroom {
namespace {

using Json = nlohmann::ordered_json;

struct Shown {
  std::string_view metric;
  std::string_view head;
};
constexpr std::array kShown{Shown{"mean_tpot_ms", "TPOT"}, Shown{"mean_ttft_ms", "TTFT mean"},
                            Shown{"output_throughput", "tokens/s"}};

}  // namespace

std::string ablation_text(const Ablations& ablations) {
  std::vector<std::string> head{"without"};
  for (const Shown& shown : kShown) {
    head.push_back(fmt::format("{}: mean", shown.head));
    head.emplace_back("most");
    head.emplace_back("|error|");
  }
  std::vector<std::vector<std::string>> rows{head};
  for (const Ablation& ablation : ablations.terms) {
    std::vector<std::string> row{std::string(ablation.term)};
    for (const Shown& shown : kShown) {
      const AblatedMetric* found = nullptr;
      for (const AblatedMetric& metric : ablation.metrics) {
        if (metric.name == shown.metric) found = &metric;
      }
      if (found == nullptr) {
        row.insert(row.end(), 3, "-");
        continue;
      }
      row.push_back(fmt::format("{:.1f} %", 100 * found->mean));
      row.push_back(error_text(found->most));
      row.push_back(
          fmt::format("{:.1f} > {:.1f} %", 100 * found->error_before, 100 * found->error_after));
    }
    rows.push_back(std::move(row));
  }
  std::string text = fmt::format(
      "How the metrics of {} replayed runs change when one term of the step cost is removed, "
      "without\na new fit: mean and largest |change|, and the mean |error| with and without the "
      "term.\n\n",
      ablations.runs);
  text += table_text(rows, kValidationWidth) + "\n";
  for (const Ablation& ablation : ablations.terms) {
    text += fmt::format("  {:<18} {}\n", ablation.term, ablation.what);
  }
  return text;
}

std::string ablation_json(const Ablations& ablations) {
  Json terms = Json::object();
  for (const Ablation& ablation : ablations.terms) {
    Json metrics = Json::object();
    for (const AblatedMetric& metric : ablation.metrics) {
      metrics[std::string(metric.name)] = {{"runs", metric.runs},
                                           {"mean_change_share", metric.mean},
                                           {"most_change_share", metric.most},
                                           {"most_run", metric.most_run},
                                           {"error_share_with", metric.error_before},
                                           {"error_share_without", metric.error_after}};
    }
    terms[std::string(ablation.term)] = {{"what", ablation.what}, {"metrics", metrics}};
  }
  Json excluded = Json::array();
  for (const ExcludedRun& run : ablations.excluded) {
    excluded.push_back({{"data_set", run.data_set}, {"why", run.why}});
  }
  return json_text({{"runs", ablations.runs}, {"terms", terms}, {"excluded", excluded}});
}

}  // namespace headroom
