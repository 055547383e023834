#pragma once
// The published DGX Spark runs, explained or not: what containers took, first start and steady
// state apart, what each explanation of it predicts, and what in the runs contradicts itself.

#include <span>
#include <string>
#include <vector>

#include "hardware/catalog.hpp"
#include "hardware/explanations.hpp"

namespace headroom {

struct SparkExplanations {
  std::vector<ModelRuns> models;
  std::vector<ExplanationScore> scores;  // first and steady, per explanation and model
  std::string double_counting;           // whether one share explains all models
  std::vector<std::string> contradictions;
};

// Models by their Hugging Face names; those the catalog does not know are left out of the scores.
[[nodiscard]] SparkExplanations explain_spark(std::span<const SparkRun> runs,
                                              const Catalog& catalog);

}  // namespace headroom
