#pragma once
// The schedulers, each from docs/semantics.md or ENGINES.md 3 and the simplifications that the
// header of its production twin states. Each returns the rows of the next step and has moved
// requests and memory accordingly. No rows: nothing to do now.

#include <cmath>
#include <vector>

#include "tests/oracle/naive_state.hpp"

namespace headroom::oracle {

[[nodiscard]] std::vector<PlannedRow> plan_vllm(NaiveState& state);
[[nodiscard]] std::vector<PlannedRow> plan_orca(NaiveState& state);
[[nodiscard]] std::vector<PlannedRow> plan_static(NaiveState& state);
[[nodiscard]] std::vector<PlannedRow> plan_vllm_v0(NaiveState& state);
[[nodiscard]] std::vector<PlannedRow> plan_sarathi(NaiveState& state);
[[nodiscard]] std::vector<PlannedRow> plan_tgi(NaiveState& state);
[[nodiscard]] std::vector<PlannedRow> plan_trtllm(NaiveState& state);
[[nodiscard]] std::vector<PlannedRow> plan_sglang(NaiveState& state);
[[nodiscard]] std::vector<PlannedRow> plan_llamacpp(NaiveState& state);

// Some prompt tokens of a request in one step.
struct Piece {
  std::size_t request = 0;
  TokenCount tokens = 0;
};

[[nodiscard]] inline BlockCount ceil_div(TokenCount tokens, TokenCount size) {
  return (tokens + size - 1) / size;
}

[[nodiscard]] inline bool has_seat(const NaiveState& state) {
  return static_cast<std::int64_t>(state.running.size()) < state.scenario.max_num_seqs;
}

// Blocks that an admission leaves free.
[[nodiscard]] inline BlockCount share_of_pool(const Scenario& s) {
  return static_cast<BlockCount>(std::floor(s.watermark * static_cast<double>(s.kv_blocks)));
}

// Blocks that a running request still lacks to hold `tokens`.
[[nodiscard]] inline BlockCount lacks(const NaiveState& state, std::size_t request,
                                      TokenCount tokens) {
  return ceil_div(tokens, state.scenario.block_size) -
         static_cast<BlockCount>(state.blocks.blocks_of(request).size());
}

// Free blocks that a waiting request with a prefix hit of `hit` tokens uses up to hold `tokens`.
[[nodiscard]] inline BlockCount uses_up(const NaiveState& state, std::size_t request,
                                        TokenCount hit, TokenCount tokens) {
  const TokenCount b = state.scenario.block_size;
  return ceil_div(tokens, b) - hit / b + state.blocks.free_among(request, hit);
}

// One row for each of `requests`, whose blocks are held.
inline void plan_decodes(NaiveState& state, const std::vector<std::size_t>& requests,
                         std::vector<PlannedRow>& rows) {
  for (const std::size_t request : requests) rows.push_back(state.plan_row(request, 1));
}

// Running requests that take a token in a step of decodes, in list order.
[[nodiscard]] inline std::vector<std::size_t> decoding(const NaiveState& state) {
  std::vector<std::size_t> requests;
  for (const std::size_t request : state.running) {
    if (state.sequences[request].takes_decode()) requests.push_back(request);
  }
  return requests;
}

}  // namespace headroom::oracle
