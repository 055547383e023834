#include "sim/memory/spark_validation.hpp"

#include <array>
#include <optional>

#include "hardware/llm/parameters.hpp"

namespace headroom {
namespace {

constexpr std::array<std::string_view, 5> kExplanations{"docker", "docker-shm-60g",
                                                        "docker-cgroup-double-count",
                                                        "docker-page-cache", "docker-jit-heap"};

// Weights that one sequence reads per token: all but the tables and the experts it passes by.
ByteCount token_read_bytes(const ModelSpec& model) {
  const ModelParts parts = model_parts(model);
  ByteCount bytes = decode_weight_bytes(model, {}) - parts.bytes_of(ModelPart::experts) -
                    parts.bytes_of(ModelPart::expert_bias);
  for (const LayerKind& kind : model.kinds) {
    if (!kind.moe) continue;
    const ByteCount experts =
        parts.bytes_of(ModelPart::experts) + parts.bytes_of(ModelPart::expert_bias);
    return bytes + experts / kind.moe->experts * kind.moe->top_k;
  }
  return bytes;
}

double mean_rate(std::span<const SparkRun> runs, const std::string& model) {
  std::vector<double> rates;
  for (const SparkRun& run : runs) {
    if (run.model == model) rates.push_back(run.output_tokens_per_s);
  }
  return spread_of(rates).mean;
}

}  // namespace

SparkExplanations explain_spark(std::span<const SparkRun> runs, const Catalog& catalog) {
  SparkExplanations found;
  found.models = summarise_runs(runs);
  const DeviceSpec& device = catalog.device("gb10-2025");
  std::vector<ServedModel> served;
  std::vector<double> rates;
  for (const ModelRuns& model : found.models) {
    if (!catalog.has_model(model.model)) continue;
    const ModelSpec spec = catalog.model(model.model);
    served.push_back({model.model, checkpoint_bytes(spec), token_read_bytes(spec)});
    rates.push_back(mean_rate(runs, model.model));
    const auto weights = weights_note(model.model, served.back().checkpoint_bytes, kSparkDeviceGib,
                                      model.native_peak_gib.mean);
    const auto rate = bandwidth_note(served.back(), device.bandwidth_bytes_per_s, rates.back());
    if (weights) found.contradictions.push_back(*weights);
    if (rate) found.contradictions.push_back(*rate);
  }
  if (auto equal = equal_rates_note(served, rates)) {
    found.contradictions.push_back(std::move(*equal));
  }
  for (const std::string_view id : kExplanations) {
    for (ExplanationScore& score :
         score_explanation(catalog.environment(id), catalog.environment("native"), device,
                           found.models, served)) {
      if (score.set != RunSet::all) found.scores.push_back(std::move(score));
    }
  }
  found.double_counting = double_counting_verdict(found.models, RunSet::steady);
  return found;
}

}  // namespace headroom
