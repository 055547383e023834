#pragma once
// The workload a scenario describes, ready to be pulled.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "sim/serving/workload_source.hpp"
#include "sim/setup/scenario.hpp"

namespace headroom {

struct Workload {
  std::unique_ptr<WorkloadSource> source;
  std::int64_t requests = 0;  // that it will yield
  std::string trace_name;     // file name without directories; empty: synthetic
  std::string trace_format;
  std::string trace_sha256;
  std::int64_t rows_dropped = 0;  // of the trace, for zero tokens
  std::int64_t rows_clamped = 0;
  std::function<std::int64_t()> outputs_cut;  // so far: true outputs cut to max_tokens
};

[[nodiscard]] Workload make_workload(const Scenario& scenario);

// "value: 1024 for every request": echoed in results, since it decides every engine that reserves
// it.
[[nodiscard]] std::string max_tokens_text(const MaxTokensSection& section);

}  // namespace headroom
