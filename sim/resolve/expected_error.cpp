#include "sim/resolve/expected_error.hpp"

#include <algorithm>
#include <optional>

#include "sim/resolve/factory.hpp"
#include "sim/resolve/plausible_costs.hpp"
#include "sim/resolve/run.hpp"

namespace headroom {
namespace {

void add_observed(std::string_view metric, const std::optional<ObservedErrors::Range>& range,
                  std::vector<ErrorRange>& ranges) {
  if (!range) return;
  // Shown is (1 + error) times the truth.
  const double low = 1 / (1 + range->high) - 1;
  const double high = 1 / (1 + range->low) - 1;
  for (ErrorRange& known : ranges) {
    if (known.metric != metric) continue;
    known.low = std::min(known.low, low);
    known.high = std::max(known.high, high);
    return;
  }
  ranges.push_back({metric, low, high});
}

// A range of fewer runs says that they were met, often by constants fitted to them, and not how far
// off others are.
constexpr std::int64_t kFewestRuns = 5;

// Of the runs of this model, else of all; of fewer than kFewestRuns: nothing is known.
ExpectedError observed(const std::vector<ObservedErrors>& rows, const std::string& model) {
  ExpectedError same{.situation = "same model", .runs = 0, .ranges = {}};
  ExpectedError all{.situation = "other model", .runs = 0, .ranges = {}};
  const auto add = [](const ObservedErrors& errors, ExpectedError& into) {
    into.runs += errors.runs;
    add_observed("mean_ttft_ms", errors.ttft, into.ranges);
    add_observed("mean_tpot_ms", errors.tpot, into.ranges);
    add_observed("output_throughput", errors.throughput, into.ranges);
  };
  for (const ObservedErrors& errors : rows) {
    add(errors, all);
    if (std::ranges::count(errors.models, model) > 0) add(errors, same);
  }
  if (same.runs >= kFewestRuns) return same;
  return all.runs >= kFewestRuns ? all : ExpectedError{};
}

// One step as large as the run's mean ones: by Little's law its decoding sequences are output
// tokens per second times TPOT, half of each answer written.
StepShape mean_decode_step(const ServingMetrics& m) {
  const auto requests = static_cast<double>(m.completed);
  const double rows = std::max(1.0, m.output_throughput * m.mean_tpot_ms * 1e-3);
  const double context = (static_cast<double>(m.total_input_tokens) +
                          0.5 * static_cast<double>(m.total_output_tokens)) /
                         requests;
  StepShape shape;
  shape.decode_rows = shape.sampled_rows = static_cast<std::int64_t>(rows + 0.5);
  shape.decode_context =
      shape.decode_rows * std::max<TokenCount>(1, static_cast<TokenCount>(context + 0.5));
  return shape;
}

StepShape mean_prefill_step(const ServingMetrics& m, TokenCount most) {
  const auto prompt = static_cast<TokenCount>(static_cast<double>(m.total_input_tokens) /
                                              static_cast<double>(m.completed));
  StepShape shape;
  shape.chunk_rows = shape.sampled_rows = 1;
  shape.chunk_tokens = shape.chunk_context = std::clamp<TokenCount>(prompt, 1, most);
  shape.chunk_pairs_twice = shape.chunk_tokens * shape.chunk_tokens;
  return shape;
}

}  // namespace

ExpectedError expected_error(const Resolved& resolved, const Catalog& catalog,
                             TokenCount pool_tokens, const CostFacts& cost,
                             const ServingMetrics& metrics) {
  const bool kernels = cost.level == "kernels";
  if (!kernels && !catalog.calibrations().contains(cost.calibration)) return {};
  const CostSection& section = resolved.scenario.cost;
  const Sharding& s = resolved.sharding;
  // What measured runs had: whole devices, tensor parallelism at most.
  const bool like_measured = section.clock_share == 1 && section.bandwidth_share == 1 &&
                             resolved.host_reads.weight_share == 0 && s.devices() == s.tensor;
  // How right another device's kernel times are at home says nothing of them here.
  if (const auto& taken = resolved.device.kernels_of; kernels && taken) {
    ExpectedError known;
    if (like_measured) known = observed(taken->observed, resolved.model.id);
    if (known.runs == 0) known.situation = "uncalibrated";
    return known;
  }
  if (cost.level == "calibrated" && like_measured) {
    const Calibration& row = catalog.calibration(cost.calibration);
    std::vector<ObservedErrors> rows = row.observed;
    rows.insert(rows.end(), row.observed_elsewhere.begin(), row.observed_elsewhere.end());
    ExpectedError known = observed(rows, resolved.model.id);
    if (known.runs > 0) return known;
  }
  // Runs of the engine on other devices also stand in where too few tell of a fitted row.
  const BetweenKernels* between = catalog.between_kernels(resolved.engine->cost_family);
  if (like_measured && between != nullptr && (kernels || cost.level == "calibrated")) {
    const bool fitted = kernels || !catalog.calibration(cost.calibration).observed.empty();
    if (fitted) return observed(between->observed, resolved.model.id);
  }
  if (kernels) return {};
  ExpectedError plausible{.situation = "uncalibrated", .runs = 0, .ranges = {}};
  if (metrics.completed == 0) return plausible;
  CostFacts ignored;
  const std::unique_ptr<StepCost> price = make_cost(resolved, catalog, pool_tokens, ignored);
  const auto add = [&](std::string_view name, const StepShape& shape) {
    StepPrice shown;
    price->price(shape, shown);
    const PlausibleShare share =
        plausible_share(resolved, catalog, pool_tokens, cost.calibration, shape, shown.base);
    // What is shown is as plausible as they are.
    plausible.ranges.push_back({name, std::min(0.0, share.low - 1), std::max(0.0, share.high - 1)});
  };
  add("decode_step", mean_decode_step(metrics));
  const TokenCount most = roofline_options(resolved, pool_tokens).limits.max_step_tokens;
  add("prefill_step", mean_prefill_step(metrics, std::max<TokenCount>(1, most)));
  return plausible;
}

}  // namespace headroom
