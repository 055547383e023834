#pragma once
// Scenario and result of the naive engine, the exact oracle that production must match to the
// nanosecond. Written from docs/semantics.md alone.

#include <cstdint>
#include <functional>
#include <vector>

#include "sim/kernel/time.hpp"
#include "sim/serving/request.hpp"
#include "sim/serving/step_cost.hpp"
#include "sim/serving/types.hpp"

namespace headroom::oracle {

enum class Policy : std::uint8_t { vllm, orca, static_batch };
enum class Memory : std::uint8_t { paged, contiguous };

// A price that can be printed and shrunk: one whole coefficient (ticks) per field of StepShape.
// `step` >= 1 keeps every price positive; at least kTicksPerNs avoids two step ends in one ns.
struct AffineCost {
  Ticks step = kTicksPerNs;
  Ticks decode_row = 0;
  Ticks decode_context = 0;
  Ticks chunk_row = 0;
  Ticks chunk_token = 0;
  Ticks chunk_context = 0;
  Ticks chunk_pair_twice = 0;
  Ticks sampled_row = 0;
  Ticks draft_token = 0;  // production only: the naive engine knows no drafts

  [[nodiscard]] Ticks operator()(const StepShape& s) const {
    return step + decode_row * s.decode_rows + decode_context * s.decode_context +
           chunk_row * s.chunk_rows + chunk_token * s.chunk_tokens +
           chunk_context * s.chunk_context + chunk_pair_twice * s.chunk_pairs_twice +
           sampled_row * s.sampled_rows + draft_token * s.draft_tokens;
  }
  // What one more step of the same decode rows costs more (StepPrice::slope of a pure decode step).
  [[nodiscard]] Ticks slope(const StepShape& s) const { return decode_context * s.decode_rows; }
  bool operator==(const AffineCost&) const = default;
};

using CostFunction = std::function<Ticks(const StepShape&)>;

struct Scenario {
  std::vector<Arrival> arrivals;  // time_ns never decreases; ties arrive in this order
  Policy policy = Policy::vllm;
  Memory memory = Memory::paged;  // vllm: paged only
  int depth = 1;                  // 1 or 2; static_batch: 1 only
  std::int64_t max_num_seqs = 8;
  TokenCount max_num_batched_tokens = 64;  // vllm only, as the next four
  bool chunked_prefill = true;
  bool reserve_full_isl = true;  // the full-prompt gate
  bool prefix_caching = false;
  double watermark = 0.0;  // fraction of kv_blocks
  TokenCount max_model_len = 128;
  TokenCount block_size = 4;   // paged
  BlockCount kv_blocks = 32;   // paged
  TokenCount kv_tokens = 128;  // contiguous
  TimeNs batch_wait_ns = 0;    // static_batch only, as the next one
  bool responds_at_end = false;
  AffineCost cost;
};

// Times in ns, -1 where not reached.
struct RequestResult {
  Outcome outcome = Outcome::unfinished;
  TimeNs queued_ns = -1;  // stays -1 for a rejected request, whose finish_ns is its arrival
  TimeNs first_scheduled_ns = -1;
  TimeNs first_token_ns = -1;
  TimeNs finish_ns = -1;
  std::int64_t output_tokens = 0;
  std::int64_t preemptions = 0;
  bool operator==(const RequestResult&) const = default;
};

struct Totals {
  StepCount steps = 0;
  Int128 busy_ticks = 0;
  std::int64_t ghost_rows = 0;      // rows of ended steps that are priced and yield no token
  TokenCount prefill_tokens = 0;    // sum of chunk tokens: recomputed and padding included
  TokenCount padding_tokens = 0;    // of these, left padding of static batches
  TokenCount cached_tokens = 0;     // prefix hits, summed over admissions
  BlockCount peak_used_blocks = 0;  // paged: the most at any moment, inside a plan too
  TokenCount peak_used_tokens = 0;  // contiguous: the same in reserved tokens
  std::int64_t gaps = 0;            // between consecutive tokens of one request
  Int128 gap_ticks = 0;
  Int128 gap_ticks_squared = 0;
  bool operator==(const Totals&) const = default;
};

// One row of one step, for hand-worked time lines and for reading a failure.
struct StepRow {
  std::size_t request = 0;  // index in Scenario::arrivals
  TokenCount tokens = 1;
  bool decodes = false;
  bool samples = false;
  bool operator==(const StepRow&) const = default;
};

struct StepEntry {
  TimeNs planned_ns = 0;
  TickSum start = 0;
  TickSum end = 0;
  StepShape shape;
  std::vector<StepRow> rows;  // running requests in list order, then admissions
};

struct Result {
  std::vector<RequestResult> requests;  // in the order of Scenario::arrivals
  Totals totals;
  std::vector<StepEntry> timeline;  // every step that was planned
  bool thrashed = false;            // stopped for want of progress (naive_engine.hpp)
};

}  // namespace headroom::oracle
