#pragma once
// Data ranks as vLLM has them, written from its sources (0.19) and not from docs/semantics.md:
// v1/engine/core.py (DPEngineCoreProc.run_busy_loop), v1/core/sched/scheduler.py (schedule),
// v1/engine/core_client.py (DPLBAsyncMPClient), v1/engine/coordinator.py (process_input_socket).
// Every rank and every step by itself; synchronous scheduling, fcfs, no prefix cache.

#include <cstdint>
#include <vector>

#include "tests/oracle/oracle_types.hpp"

namespace headroom::oracle {

struct RankScenario {
  std::vector<Arrival> arrivals;  // times never decrease; each fits into the pool of a rank
  // Which front end gets the request, by arrival; empty: there is one.
  std::vector<std::size_t> front_end_of = {};
  std::size_t ranks = 2;
  std::size_t front_ends = 1;
  std::size_t max_num_seqs = 8;            // of a rank, as all below
  TokenCount max_num_batched_tokens = 64;  // >= max_num_seqs
  TokenCount block_size = 4;
  BlockCount kv_blocks = 32;
  AffineCost cost;
};

// Times of the requests, in order of arrival, and the rank of each.
struct RankResult {
  std::vector<RequestResult> requests;
  std::vector<std::size_t> rank_of;
};
[[nodiscard]] RankResult run_naive_ranks(const RankScenario& scenario);

}  // namespace headroom::oracle
