#pragma once
// Port: what a step costs, in whole ticks, affine in the step number while the batch does not
// change.

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "sim/kernel/time.hpp"
#include "sim/serving/types.hpp"

namespace headroom {

// Everything a cost may depend on.
struct StepShape {
  std::int64_t decode_rows = 0;        // decoding sequences, ghost rows included
  TokenCount decode_context = 0;       // tokens their attention reads (own new token included)
  std::int64_t chunk_rows = 0;         // sequences with prompt tokens in this step
  TokenCount chunk_tokens = 0;         // their tokens q, padding included
  TokenCount chunk_context = 0;        // sum of (ctx + q)
  std::int64_t chunk_pairs_twice = 0;  // sum of q * (2 ctx + q): twice the query-key pairs
  std::int64_t sampled_rows = 0;       // sequences that yield a token
  // Drafts that the step verifies beside the decoding sequences' own tokens; 0 without speculative
  // decoding. Each one is computed and sampled like a token; decode_context counts its KV.
  TokenCount draft_tokens = 0;
  // Of the data ranks that share their experts with this one, and of itself; 0: it has no such.
  TokenCount all_rank_tokens = 0;
  std::int64_t adapters = 0;      // distinct LoRA adapters of the batch
  TokenCount adapter_tokens = 0;  // of all tokens, those of requests with an adapter

  [[nodiscard]] TokenCount decode_tokens() const { return decode_rows + draft_tokens; }

  // A sequence computes `tokens` behind `context` others.
  void add_chunk(TokenCount context, TokenCount tokens) {
    ++chunk_rows;
    chunk_tokens += tokens;
    chunk_context += context + tokens;
    chunk_pairs_twice += tokens * (2 * context + tokens);
  }
};

// Where the time of a step goes. The terms of a price add up to it exactly.
enum class CostTerm : std::uint8_t {
  linear_memory,   // reading weights, the share of the roofline bound by bandwidth
  linear_compute,  // the share bound by arithmetic
  elementwise,     // norms, rotary, activations and other small kernels
  attention_prefill,
  attention_decode,
  head,           // output head and sampler
  communication,  // between ranks and stages
  step_overhead,  // constant per step on the device side
  host,           // host time that is not hidden behind the device
  transfer,       // KV copied within or between memories before the step can begin
  pipeline        // stages that wait for each other
};
inline constexpr std::size_t kCostTermCount = 11;
[[nodiscard]] std::string_view name_of(CostTerm term);

struct CostTerms {
  std::array<Ticks, kCostTermCount> ticks{};

  [[nodiscard]] Ticks& operator[](CostTerm t) { return ticks[static_cast<std::size_t>(t)]; }
  [[nodiscard]] Ticks operator[](CostTerm t) const { return ticks[static_cast<std::size_t>(t)]; }
  [[nodiscard]] Ticks sum() const {
    Ticks total = 0;
    for (const Ticks t : ticks) total += t;
    return total;
  }
};

// The terms that change from one repetition of a batch to the next.
struct SlopeTerms {
  Ticks attention_decode = 0;
  Ticks host = 0;
  Ticks pipeline = 0;

  [[nodiscard]] Ticks operator[](CostTerm t) const {
    switch (t) {
      case CostTerm::attention_decode: return attention_decode;
      case CostTerm::host: return host;
      case CostTerm::pipeline: return pipeline;
      default: return 0;
    }
  }
  [[nodiscard]] Ticks sum() const { return attention_decode + host + pipeline; }
};

// The i-th repetition (from 0) of the same batch, each sequence one token longer, costs
// base + i * slope, for i < valid_steps.
struct StepPrice {
  Ticks base = 0;   // > 0
  Ticks slope = 0;  // may be 0; never makes the cost <= 0 within valid_steps
  StepCount valid_steps = kManySteps;
  CostTerms base_terms;    // sums to base
  SlopeTerms slope_terms;  // sums to slope
};

// Where the time of a step is spent in an engine with pipeline stages.
struct StageTimes {
  std::vector<Ticks> busy;     // by stage: its layers, and the output head in the last one
  Ticks prepare = 0;           // of every stage before that, while the step is elsewhere
  Ticks hand_over_in_all = 0;  // from stage to stage
  Ticks host = 0;              // of the process that plans; it does one step after another
};

class StepCost {
 public:
  virtual ~StepCost() = default;
  virtual void price(const StepShape& shape, StepPrice& price) const = 0;
  // Of an engine with pipeline stages: what `price`, of `shape`, is made of. All of it but `host`
  // is in price.base. False: there are none.
  [[nodiscard]] virtual bool split(const StepShape& /*shape*/, const StepPrice& /*price*/,
                                   StageTimes& /*times*/) const {
    return false;
  }
};

}  // namespace headroom
