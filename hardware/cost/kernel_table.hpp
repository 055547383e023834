#pragma once
// Step time from measured kernels: the sum over the layers of what each kernel took at the step's
// tokens, sequences and contexts, linear between the measured points in what its work is linear in
// (tokens; query-key pairs of a chunk; sequences and context of decodes). All-reduces and the
// host's time are not in such tables: they come from a calibration row.
//
// Known limits. A batch's decodes all count as long as their mean. Several chunks of a step count
// as one with the same query-key pairs. Kernels were measured one by one, so launch gaps between
// them are missing. The term linear_memory holds matrix products whole: a measured time does not
// say what bound it.

#include <cstdint>
#include <string>
#include <vector>

#include "hardware/calibration.hpp"
#include "hardware/cost/kernel_times.hpp"
#include "hardware/cost/overheads.hpp"
#include "hardware/cost/roofline.hpp"
#include "hardware/device.hpp"
#include "hardware/llm/model_spec.hpp"
#include "sim/serving/step_cost.hpp"

namespace headroom {

class KernelTableCost final : public StepCost {
 public:
  // ConfigError: a kernel of the model is not in the tables, or attention differs from layer to
  // layer (windows, recurrent states), or the largest legal step would exceed kMaxStepTicks.
  KernelTableCost(const ModelSpec& model, const DeviceSpec& device, const Calibration& calibration,
                  KernelTimes times, const RooflineOptions& options);
  KernelTableCost(const KernelTableCost&) = delete;  // pointers into times_
  KernelTableCost& operator=(const KernelTableCost&) = delete;

  void price(const StepShape& shape, StepPrice& price) const override;

 private:
  struct TokenTicks {
    Ticks linear = 0;       // matrix products, experts
    Ticks elementwise = 0;  // everything else that scales with tokens
  };
  // Attention of `rows` decodes while their mean context stays within a cell of the table.
  struct DecodeLine {
    Ticks low = 0;    // at `first` tokens of context, of all rows together; above 0
    Ticks slope = 0;  // per further token; never below 0
    TokenCount first = 0;
    TokenCount last = 0;  // the largest sum of contexts that the line holds for
  };
  struct Chunk {  // one chunk that represents all chunks of a step
    double tokens = 0;
    double cached = 0;
  };

  [[nodiscard]] TokenTicks compute_tokens(std::int64_t tokens) const;
  [[nodiscard]] TokenTicks by_tokens(std::int64_t tokens) const;
  [[nodiscard]] Ticks compute_head(std::int64_t rows) const;
  [[nodiscard]] Ticks head(std::int64_t rows) const;
  [[nodiscard]] DecodeLine decode_line(std::int64_t rows, TokenCount context) const;
  [[nodiscard]] double prefill_us(const Chunk& chunk) const;
  [[nodiscard]] double mixed_us(const Chunk& chunk, double rows, double context) const;
  [[nodiscard]] Ticks attention_ticks(double us) const;
  void price_attention(const StepShape& shape, StepPrice& price) const;
  // What is computed in doubles, before it becomes whole ticks. ConfigError: no step is that long.
  void check_ticks(double ticks) const;
  [[nodiscard]] Ticks ticks_of(double us) const;
  void set_counts(const ModelSpec& model);
  void fill_tables(const CostLimits& limits);
  void check_largest_step(const CostLimits& limits) const;

  KernelTimes times_;
  std::vector<std::int32_t> capture_sizes_;
  double layers_ = 0;
  // Curves of `times_.dense` with how often a step runs each.
  struct Counted {
    const TimeCurve* curve = nullptr;
    double count = 0;
    bool linear = false;
  };
  std::vector<Counted> counted_;
  std::vector<const TimeCurve*> head_curves_;  // of `times_.per_sequence`
  double expert_layers_ = 0;
  double experts_ = 0;
  double log_missed_ = 0;
  Overheads overheads_;
  std::vector<TokenTicks> token_table_;  // by tokens
  std::vector<Ticks> head_table_;        // by sampled rows
};

}  // namespace headroom
