#include "sim/fidelity/ablation.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

namespace headroom {
namespace {

// So large a share of a rate that its term is nothing.
constexpr double kFree = 1e9;

struct Removal {
  std::string_view term;
  std::string_view what;
  void (*apply)(Calibration&);
};

// The terms of FIDELITY.md 1, in the order of its formulas.
constexpr std::array kRemovals{
    Removal{"roofline_sum", "memory and arithmetic added, instead of a smooth maximum",
            [](Calibration& c) { c.shape = RooflineShape::sum; }},
    Removal{"roofline_max", "the plain maximum of memory and arithmetic",
            [](Calibration& c) { c.shape = RooflineShape::larger; }},
    Removal{"weight_bandwidth", "weights read at the data sheet's bandwidth",
            [](Calibration& c) { c.weight_bandwidth_share = 1; }},
    Removal{"compute", "matrix products at the data sheet's rate",
            [](Calibration& c) { c.compute_share = 1; }},
    Removal{"experts", "experts as fast as other layers and chosen evenly",
            [](Calibration& c) {
              c.expert_compute_share = c.expert_reach = 1;
              c.expert_layer_ns = 0;
            }},
    Removal{"graph_padding", "decode batches not padded to captured sizes",
            [](Calibration& c) { c.pads_batches = false; }},
    Removal{"layer", "no fixed time of small kernels per layer",
            [](Calibration& c) { c.layer_ns = 0; }},
    Removal{"elementwise", "no traffic of activations",
            [](Calibration& c) { c.elementwise_bandwidth_factor = kFree; }},
    Removal{"attention_floor", "no fixed time of attention per layer",
            [](Calibration& c) { c.attention_floor_ns = 0; }},
    Removal{"attention_row", "no attention time per sequence",
            [](Calibration& c) { c.attention_row_ns = 0; }},
    Removal{"kv_bandwidth", "the KV cache read at the data sheet's bandwidth",
            [](Calibration& c) { c.kv_bandwidth_share = 1; }},
    Removal{"prefill_attention", "no attention arithmetic for prompts",
            [](Calibration& c) { c.prefill_compute_share = kFree; }},
    Removal{"mixed_decode", "decodes as fast with a prompt in the step as alone",
            [](Calibration& c) { c.mixed_decode_factor = 1; }},
    Removal{"sampler", "no sampler", [](Calibration& c) { c.sampler_ns = c.sampler_passes = 0; }},
    Removal{"all_reduce", "no communication between devices",
            [](Calibration& c) {
              c.nvlink_latency_ns = c.nvlink_latency_log2_ns = c.pcie_latency_ns = 0;
              c.nvlink_bandwidth_share = kFree;
              c.pcie_bytes_per_s *= kFree;
            }},
    Removal{"step", "no fixed time per step", [](Calibration& c) { c.step_ns = 0; }},
    Removal{"host", "no host time", [](Calibration& c) { c.host_step_ns = c.host_row_ns = 0; }},
    Removal{"client", "no latency of the client side",
            [](Calibration& c) { c.client_latency_ns = 0; }},
};

AblatedMetric& metric_of(Ablation& ablation, std::string_view name) {
  for (AblatedMetric& metric : ablation.metrics) {
    if (metric.name == name) return metric;
  }
  ablation.metrics.push_back({});
  ablation.metrics.back().name = name;
  return ablation.metrics.back();
}

void add(const ScoredRun& full, const ScoredRun& without, Ablation& ablation) {
  for (std::size_t i = 0; i < full.metrics.size(); ++i) {
    AblatedMetric& metric = metric_of(ablation, full.metrics[i].name);
    const double change = without.metrics[i].simulated / full.metrics[i].simulated - 1;
    ++metric.runs;
    metric.mean += std::abs(change);
    metric.error_before += std::abs(full.metrics[i].error());
    metric.error_after += std::abs(without.metrics[i].error());
    if (metric.most_run.empty() || std::abs(change) > std::abs(metric.most)) {
      metric.most = change;
      metric.most_run = full.data_set;
    }
  }
}

}  // namespace

Ablations ablate_runs(const std::filesystem::path& directory, const Catalog& catalog,
                      std::size_t threads) {
  // The constants are those of level calibrated.
  const ValidationOptions options{
      .directory = directory, .level = "calibrated", .tables = {}, .threads = threads};
  const RunValidation full = validate_runs(options, catalog);
  Ablations result;
  result.excluded = full.excluded;
  std::set<std::string> rows;
  for (const ScoredRun& run : full.runs) {
    if (catalog.calibration(run.calibration).device.empty()) {
      result.excluded.push_back({run.data_set, "generic constants"});
      continue;
    }
    rows.insert(run.calibration);
    ++result.runs;
  }
  for (const Removal& removal : kRemovals) {
    Catalog with = catalog;
    for (const std::string& id : rows) {
      Calibration row = catalog.calibration(id);
      removal.apply(row);
      with.put(row);
    }
    const RunValidation validation = validate_runs(options, with);
    Ablation ablation{removal.term, removal.what, {}};
    for (const ScoredRun& run : full.runs) {
      const auto same = std::ranges::find(validation.runs, run.data_set, &ScoredRun::data_set);
      if (same == validation.runs.end() || !rows.contains(run.calibration)) continue;
      add(run, *same, ablation);
    }
    for (AblatedMetric& metric : ablation.metrics) {
      const auto runs = static_cast<double>(metric.runs);
      metric.mean /= runs;
      metric.error_before /= runs;
      metric.error_after /= runs;
    }
    result.terms.push_back(std::move(ablation));
  }
  return result;
}

}  // namespace headroom
