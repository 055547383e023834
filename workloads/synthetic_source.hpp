#pragma once
// Requests drawn from an arrival process and two length laws, each from a stream of its own
// ("arrivals", "lengths/prompt", "lengths/output"): changing one leaves what the others draw.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "sim/serving/workload_source.hpp"
#include "workloads/arrivals.hpp"
#include "workloads/lengths.hpp"
#include "workloads/max_tokens.hpp"

namespace headroom {

struct SyntheticOptions {
  ArrivalOptions arrivals = {};
  LengthOptions prompt = {};
  LengthOptions output = {};
  // Prompt and output come from the same row of an empirical table: both laws are empirical, with
  // equally many values and equal weights.
  bool joint_lengths = false;
  MaxTokensOptions max_tokens = {};
  std::optional<std::int64_t> num_requests = {};  // >= 0; absent = no end
  std::int32_t class_id = 0;                      // of every request
};

class SyntheticSource final : public WorkloadSource {
 public:
  SyntheticSource(const SyntheticOptions& options, std::uint64_t seed);  // ConfigError

  [[nodiscard]] TimeNs next_time() override;
  [[nodiscard]] Arrival take() override;
  void on_done(std::uint64_t index, Outcome outcome, TimeNs now_ns) override;

  [[nodiscard]] std::int64_t outputs_cut() const { return max_tokens_.outputs_cut(); }

 private:
  void refill();

  // Drawn ahead; small enough for the first-level cache, large enough that draws overlap.
  static constexpr std::size_t kBatch = 256;

  ArrivalTimes arrivals_;
  LengthSampler prompts_;
  LengthSampler outputs_;
  MaxTokens max_tokens_;
  std::int64_t remaining_;  // not drawn yet; INT64_MAX = no end
  std::int32_t class_id_;
  std::size_t at_ = 0;
  std::size_t drawn_ = 0;
  std::array<TimeNs, kBatch> times_ns_{};
  std::array<std::int32_t, kBatch> prompt_tokens_{};
  std::array<std::int32_t, kBatch> output_tokens_{};
};

}  // namespace headroom
