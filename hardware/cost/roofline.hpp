#pragma once
// Step time from first principles with fitted efficiencies: each group of kernels takes
// sqrt(memory^2 + compute^2), plus constants per layer, sequence and step (FIDELITY.md 1, with
// p = 2 for the fitted 1.9).
// Every coefficient becomes a whole number of ticks at construction; `price` only adds integers.

#include <cstdint>
#include <string>
#include <vector>

#include "hardware/calibration.hpp"
#include "hardware/cost/interconnect.hpp"
#include "hardware/cost/overheads.hpp"
#include "hardware/cost/product_tiles.hpp"
#include "hardware/device.hpp"
#include "hardware/host_reads.hpp"
#include "hardware/llm/model_spec.hpp"
#include "sim/serving/step_cost.hpp"

namespace headroom {

// The largest shapes that a run can produce. Tables cover them up to 16384 tokens; what lies beyond
// is computed when asked for, with the same bits.
struct CostLimits {
  std::int64_t max_num_seqs = 256;
  std::int64_t max_step_tokens = 2048;
  std::int64_t max_model_len = 8192;
  TokenCount max_context_tokens =
      0;  // of all sequences together (the KV pool); 0: no bound but the above
};

struct RooflineOptions {
  ParallelOptions parallel;
  Dtype kv = Dtype::bf16;
  std::vector<std::int32_t> capture_sizes;  // ascending; empty: decode batches are not padded
  CostLimits limits;
  HostReads host;               // not from the device's memory
  double host_bytes_per_s = 1;  // of host
  // Prompts of latent attention multiply with the latent, as decodes do, not with the keys and
  // values of each head that it stands for.
  bool absorbs_prompts = false;
};

class RooflineCost final : public StepCost {
 public:
  // ConfigError when the largest legal step would exceed kMaxStepTicks.
  RooflineCost(const ModelSpec& model, const DeviceSpec& device, const Calibration& calibration,
               const RooflineOptions& options);

  void price(const StepShape& shape, StepPrice& price) const override;

  // Ticks per token of context that decoding sequences read in decode-only steps, in the layers
  // that see all of it.
  [[nodiscard]] Ticks decode_context_ticks() const { return whole_.context; }

 private:
  // Inputs of the two rooflines, in seconds and per rank; kept for shapes beyond the tables.
  struct LinearModel {
    double fixed_bytes_s = 0;   // weights that every step reads
    double expert_bytes_s = 0;  // all routed experts; 0: none
    double log_missed = 0;      // of the probability that a token skips an expert
    double expert_reach = 1;    // of tokens after the first
    double flops_s_per_token = 0;
    // Of experts that the tokens of several ranks reach: per token of all of them, if routing were
    // even; 0: in the above.
    double expert_flops_s_per_token = 0;
    // Of experts that are priced by tiles (product_tiles.hpp): per token of this rank.
    double tiled_flops_s_per_token = 0;
    double top_k = 0;
    double experts = 0;
    // Of whole experts on a rank, per token of all ranks: mean; 0: it has a part of each expert.
    double draws_per_token = 0;
    double most_per_token = 0;   // and at most
    double most_deviations = 0;  // that the busiest rank is above the mean, in standard deviations
    double load_factor = 1;
  };
  struct HeadModel {
    double bytes_s = 0;
    double flops_s_per_row = 0;
    double fixed_s = 0;
    double row_s = 0;
  };
  struct LinearTicks {
    Ticks memory = 0;
    Ticks compute = 0;
  };
  struct DecodeEntry {  // a decode-only step; context and host apart
    CostTerms terms;
    Ticks sum = 0;
  };
  // The layers that see the last `window` tokens, or everything.
  struct Reach {
    TokenCount window = 0;      // 0: everything
    Ticks context = 0;          // kappa: one context token of a decoding sequence
    Ticks mixed_context = 0;    // the same times `mix`
    Ticks pair_twice = 0;       // half a query-key pair of a prompt
    Ticks prefill_context = 0;  // KV of one token that a chunk reads
  };
  struct ContextPrice {  // of decoding sequences
    Ticks base = 0;
    Ticks slope = 0;  // per step, each sequence one token longer
    StepCount valid_steps = kManySteps;
  };

  // `all_tokens`: what the experts of this rank are reached by, the tokens of all data ranks.
  [[nodiscard]] LinearTicks compute_linear(std::int64_t tokens, TokenCount all_tokens) const;
  [[nodiscard]] double busiest_share(TokenCount all_tokens) const;
  [[nodiscard]] Ticks compute_head(std::int64_t rows) const;
  [[nodiscard]] CostTerms compute_decode(std::int64_t rows, TokenCount all_tokens) const;
  [[nodiscard]] LinearTicks linear(std::int64_t tokens, TokenCount all_tokens) const;
  [[nodiscard]] Ticks head(std::int64_t rows) const;
  void set_products(const ModelSpec& model, const DeviceSpec& device,
                    const Calibration& calibration, const RooflineOptions& options);
  void set_head(const ModelSpec& model, const DeviceSpec& device, const Calibration& calibration,
                const RooflineOptions& options);
  void set_attention(const ModelSpec& model, const DeviceSpec& device,
                     const Calibration& calibration, const RooflineOptions& options);
  // Sequences of unlike lengths count as long as their mean: exact while all are within the window
  // or all beyond it.
  [[nodiscard]] ContextPrice decode_context(const StepShape& shape, Ticks Reach::*ticks) const;
  [[nodiscard]] Ticks prefill_attention(const StepShape& shape) const;
  void fill_tables(const CostLimits& limits);
  void price_decode_only(const StepShape& shape, StepPrice& price) const;
  void price_verification(const StepShape& shape, StepPrice& price) const;
  void price_mixed(const StepShape& shape, StepPrice& price) const;
  void check_largest_step(const CostLimits& limits) const;

  LinearModel linear_model_;
  ProductTiles tiles_;
  HeadModel head_model_;
  RooflineShape shape_;
  std::vector<std::int32_t> capture_sizes_;
  Overheads overheads_;

  Ticks elementwise_step_ = 0;  // k_layer * L
  Ticks elementwise_token_ = 0;
  Ticks attention_floor_ = 0;  // a_floor * L, once per kind of attention
  Ticks attention_row_ = 0;    // a_seq * L
  Ticks mixed_floor_ = 0;      // both times `mix`
  Ticks mixed_row_ = 0;
  Ticks recurrent_token_ = 0;  // products of recurrent layers per token of a prompt
  Reach whole_;
  std::vector<Reach> windows_;  // one per window length

  std::vector<DecodeEntry> decode_table_;  // by decode rows
  std::vector<LinearTicks> linear_table_;  // by tokens
  std::vector<Ticks> head_table_;          // by sampled rows
};

// What a run computes as something simpler; a warning of every result.
[[nodiscard]] std::vector<std::string> run_simplifications(const ModelSpec& model);
// What RooflineCost alone does.
[[nodiscard]] std::vector<std::string> roofline_simplifications(const ModelSpec& model);

}  // namespace headroom
