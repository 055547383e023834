#include "sim/report/text/energy_report.hpp"

#include <fmt/format.h>

namespace headroom {
namespace {

using Json = nlohmann::ordered_json;

}  // namespace

std::string energy_text(const RunResult& result) {
  const auto use = energy_of(result);
  if (!use) return "";
  std::string text = fmt::format("{:.0f} W on average by {} device{}", use->mean_w(), use->devices,
                                 use->devices == 1 ? "" : "s");
  if (const TokenCount tokens = result.summary.metrics.total_output_tokens; tokens > 0) {
    text += fmt::format(", {:.3g} J per output token", use->joules / static_cast<double>(tokens));
  }
  if (use->assumed) text += " (power partly assumed as shares of the TDP)";
  return text;
}

}  // namespace headroom
