#pragma once
// Scenario and result of the naive engine, the exact oracle that production must match to the
// nanosecond. Written from docs/semantics.md alone.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "scheduler/batching/sglang_rules.hpp"
#include "sim/kernel/time.hpp"
#include "sim/serving/options.hpp"
#include "sim/serving/request.hpp"
#include "sim/serving/step_cost.hpp"
#include "sim/serving/types.hpp"

namespace headroom::oracle {

enum class Policy : std::uint8_t {
  vllm,
  orca,
  static_batch,
  vllm_v0,
  sarathi,
  tgi,
  trtllm,
  sglang,
  llamacpp
};
enum class Memory : std::uint8_t { paged, contiguous, slots };
// trtllm: who may hold KV.
enum class Capacity : std::uint8_t { guaranteed_no_evict, max_utilization, static_batch };

// What a policy admits a request for: all it may ever need, or its prompt and one token.
[[nodiscard]] constexpr bool reserves_everything(Policy policy, Capacity capacity) {
  return policy == Policy::orca || policy == Policy::static_batch || policy == Policy::tgi ||
         (policy == Policy::trtllm && capacity != Capacity::max_utilization);
}

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
  Ticks adapter = 0;  // a distinct one of the batch
  Ticks adapter_token = 0;
  Ticks draft_token = 0;  // production only: the naive engine knows no drafts
  Ticks all_rank_token = 0;
  // With stages only, beside what operator() counts, which is that of their layers: once in each
  // stage, before the work of the stage before comes; of the last stage; between two of them.
  Ticks prepare = 0;
  Ticks head = 0;
  Ticks hand_over = 0;

  [[nodiscard]] Ticks operator()(const StepShape& s) const {
    return step + decode_row * s.decode_rows + decode_context * s.decode_context +
           chunk_row * s.chunk_rows + chunk_token * s.chunk_tokens +
           chunk_context * s.chunk_context + chunk_pair_twice * s.chunk_pairs_twice +
           sampled_row * s.sampled_rows + adapter * s.adapters + adapter_token * s.adapter_tokens +
           draft_token * s.draft_tokens + all_rank_token * s.all_rank_tokens;
  }
  // What one more step of the same decode rows costs more (StepPrice::slope of a pure decode step).
  [[nodiscard]] Ticks slope(const StepShape& s) const { return decode_context * s.decode_rows; }
  bool operator==(const AffineCost&) const = default;
};

using CostFunction = std::function<Ticks(const StepShape&)>;

struct Scenario {
  std::vector<Arrival> arrivals;  // time_ns never decreases; ties arrive in this order
  // What the prompts begin with, by arrival; what is longer than a prompt is cut to it. Shorter
  // than `arrivals`: the others have no identities. Arrival::prefix stays empty here.
  std::vector<std::vector<PrefixSegment>> prefixes = {};
  Policy policy = Policy::vllm;
  Memory memory = Memory::paged;          // contiguous: orca and static_batch only;
                                          // slots: llamacpp only
  int depth = 1;                          // 1 or 2; static_batch and stages: 1 only
  std::vector<std::int64_t> stages = {};  // layers of each; empty: one stage. vllm, trtllm, orca
  std::int64_t max_num_seqs = 8;
  TokenCount max_num_batched_tokens = 64;  // of a step: vllm, vllm_v0, sarathi, trtllm, llamacpp
  bool chunked_prefill = true;             // vllm, vllm_v0, trtllm, tgi
  bool reserve_full_isl = true;            // vllm: the full-prompt gate
  bool prefix_caching = false;             // vllm, vllm_v0, sarathi
  double watermark = 0.0;                  // fraction of kv_blocks: vllm, vllm_v0, sarathi
  TokenCount long_prefill_token_threshold = 0;  // vllm, as the next two
  bool threshold_cuts_lone_prompts = true;
  bool priorities = false;                   // served by (Arrival::priority, arrival)
  TokenCount max_batch_prefill_tokens = 32;  // tgi, as the next two
  double waiting_served_ratio = 0.25;
  std::int64_t max_waiting_tokens = 5;
  Capacity capacity = Capacity::guaranteed_no_evict;  // trtllm, as the next one
  bool equal_progress = false;
  TokenCount max_prefill_tokens = 64;    // sglang, as the next six
  TokenCount chunked_prefill_size = 32;  // 0 = prompts are never cut
  bool mixed_chunk = false;
  // Decodes take their token in the step of a prefill batch, without being part of it (data ranks).
  bool decodes_go_on = false;
  bool longest_output_first = false;  // schedule_policy lof; else fcfs
  double conservativeness = 1.0;
  SglangRules sglang_rules = {};
  TokenCount max_model_len = 128;  // llamacpp: context of a slot
  TokenCount shared_cells = 0;     // slots: of all together; 0: each has its own. Depth 1 only
  TokenCount block_size = 4;       // paged
  BlockCount kv_blocks = 32;       // paged
  TokenCount kv_tokens = 128;      // contiguous
  TimeNs batch_wait_ns = 0;        // static_batch only, as the next one
  bool responds_at_end = false;
  std::int64_t adapters = 0;       // known ones, of Arrival::adapter; 0: LoRA is off. vllm only
  std::int64_t max_loras = 1;      // as the next three
  std::int64_t max_cpu_loras = 1;  // >= max_loras
  std::int64_t adapter_load = 0;   // ticks, into a slot
  std::int64_t adapter_read = 0;   // ticks, from the disk
  AffineCost cost;
  ApiServerOptions api_server{};  // not with static_batch

  // Steps in flight at most.
  [[nodiscard]] std::size_t steps_ahead() const {
    return static_cast<std::size_t>(depth) * std::max<std::size_t>(1, stages.size());
  }
  // A slot of shared cells can be as long as any other; no step is in flight when slots fail.
  [[nodiscard]] bool has_legal_cells() const {
    return shared_cells == 0 || (shared_cells >= max_model_len && depth == 1);
  }
  [[nodiscard]] bool reserves() const { return reserves_everything(policy, capacity); }
  // The largest request that the empty memory can hold.
  [[nodiscard]] TokenCount pool_tokens() const {
    if (memory == Memory::paged) return kv_blocks * block_size;
    return memory == Memory::slots ? max_model_len : kv_tokens;
  }
};

// What the prompt of an arrival begins with, cut to its length.
[[nodiscard]] inline std::vector<PrefixSegment> pieces_of(const Scenario& s, std::size_t arrival) {
  std::vector<PrefixSegment> pieces;
  if (arrival >= s.prefixes.size()) return pieces;
  std::int32_t left = s.arrivals[arrival].prompt_tokens;
  for (const PrefixSegment& piece : s.prefixes[arrival]) {
    if (left == 0) break;
    pieces.push_back({piece.id, std::min(piece.tokens, left)});
    left -= pieces.back().tokens;
  }
  return pieces;
}

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
  std::int64_t adapter_loads = 0;
  std::int64_t adapter_reads = 0;
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
