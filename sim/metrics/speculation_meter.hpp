#pragma once
// What became of drafts (vLLM's spec_decode counters; ENGINES.md 5).

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/serving/metrics_sink.hpp"

namespace headroom {

// A draft of vLLM's counters is what one sequence verifies in one step: several draft tokens.
struct SpeculationCounts {
  std::int64_t drafts = 0;
  TokenCount draft_tokens = 0;
  TokenCount accepted_tokens = 0;
  std::vector<std::int64_t> accepted_per_position;  // of the 1st, 2nd, ... token of a draft

  void add(const SpeculationCounts& other) {
    drafts += other.drafts;
    draft_tokens += other.draft_tokens;
    accepted_tokens += other.accepted_tokens;
    const std::size_t positions = other.accepted_per_position.size();
    if (positions > accepted_per_position.size()) accepted_per_position.resize(positions, 0);
    for (std::size_t i = 0; i < positions; ++i) {
      accepted_per_position[i] += other.accepted_per_position[i];
    }
  }
};

class SpeculationMeter {
 public:
  void add_run(const StepRun& run) {
    for (const VerifiedDrafts& row : run.verified) {
      ++counts_.drafts;
      counts_.draft_tokens += row.drafts;
      counts_.accepted_tokens += row.accepted;
      const auto positions = static_cast<std::size_t>(row.drafts);
      auto& accepted = counts_.accepted_per_position;
      if (positions > accepted.size()) accepted.resize(positions, 0);
      for (std::size_t i = 0; i < static_cast<std::size_t>(row.accepted); ++i) ++accepted[i];
    }
  }
  [[nodiscard]] const SpeculationCounts& counts() const { return counts_; }

 private:
  SpeculationCounts counts_;
};

}  // namespace headroom
