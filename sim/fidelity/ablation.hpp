#pragma once
// `headroom validate runs DIR --ablate`: which terms of the step cost matter. One term is removed,
// nothing is fitted again, and the measured runs are replayed.

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/catalog.hpp"
#include "sim/fidelity/run_validation.hpp"

namespace headroom {

// What a metric becomes over the runs that have it: with the term removed / with all terms - 1.
struct AblatedMetric {
  std::string_view name;
  std::int64_t runs = 0;
  double mean = 0;  // of |change|
  double most = 0;  // the largest, with its sign
  std::string most_run;
  double error_before = 0;  // mean |simulated / measured - 1|
  double error_after = 0;
};

struct Ablation {
  std::string_view term;
  std::string_view what;
  std::vector<AblatedMetric> metrics;  // as in `vllm bench serve`, those measured
};

struct Ablations {
  std::vector<Ablation> terms;
  std::vector<ExcludedRun> excluded;  // not replayable, or priced with generic constants
  std::int64_t runs = 0;
};

// ConfigError, DataError: the folder or a file in it is wrong.
[[nodiscard]] Ablations ablate_runs(const std::filesystem::path& directory, const Catalog& catalog,
                                    std::size_t threads = 1);

}  // namespace headroom
