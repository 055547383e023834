#pragma once
// Options of a replica's policies, filled by `setup`. One place per field: default, unit, range.

#include <cstdint>

#include "sim/kernel/time.hpp"
#include "sim/options/option_bag.hpp"
#include "sim/serving/draft_acceptance.hpp"
#include "sim/serving/types.hpp"

namespace headroom {

// Speculative decoding as a scheduler sees it (ENGINES.md 5).
struct SpeculationOptions {
  std::int32_t num_speculative_tokens = 0;  // drafts of a sequence and step; 0 = none are made
  // KV slots that a running sequence must have beyond those of the step: the drafter's.
  std::int32_t lookahead_tokens = 0;
  // Of the token budget of a step, for each of max_num_seqs: what a draft model computes besides.
  std::int32_t budget_tokens = 0;
  // Tokens of a sequence that a step verifies, its own one included, where that number is fixed and
  // may be a tree's; 0: up to 1 + num_speculative_tokens.
  std::int32_t verified_tokens = 0;
};

struct SchedulerOptions {
  std::int32_t max_num_seqs = 256;                // sequences in the batch, >= 1
  std::int32_t max_num_batched_tokens = 2048;     // token budget of a step, >= max_num_seqs (vllm)
  std::int32_t max_micro_batch_seqs = INT32_MAX;  // of max_num_seqs, in one step; trtllm, orca
  std::int32_t max_model_len = 8192;              // prompt + output, >= 2
  bool enable_chunked_prefill = true;             // prompts may be cut; vllm, vllm_v0, trtllm, tgi
  double watermark = 0.0;  // share of the pool an admission leaves free, [0, 1); vllm, v0, sarathi
  std::int32_t long_prefill_token_threshold = 0;  // vllm: longest chunk; 0 = no limit
  // static: a batch takes only rows that fit; false: all that wait, and the engine dies of it.
  bool sizes_batches = true;
  BlockCount swap_blocks = 0;       // vllm_v0: host memory for victims; 0 = all are recomputed
  SpeculationOptions speculation;   // vllm (fcfs), trtllm, sglang
  bool enable_lora = false;         // vllm (fcfs, no drafts)
  bool finds_prefixes = false;      // requests look for cached prefixes
  std::int32_t pipeline_depth = 1;  // of the replica
  std::uint64_t seed = 0;           // of random orders
  OptionBag own;                    // of the policy itself: its file says which
};

// Whether a prompt that leaves a cached block half-way reuses its first part (TensorRT-LLM).
struct BlockSharing {
  bool partial = false;
  bool by_copy = false;  // also of blocks that others hold
};

// How much output a reserving allocator sets aside for a request (ENGINES.md 1.8).
enum class OutputReservation : std::uint8_t {
  max_tokens,     // what the client declared
  max_model_len,  // up to the longest context (the paper's Orca "Max")
  pow2,           // the next power of two of the true output (an oracle of the literature)
  oracle          // the true output
};

// What decides, before any queue, that a request can never be served (outcome `rejected`).
struct AdmissionLimits {
  std::int32_t max_model_len = 8192;  // prompt + max_tokens may not exceed it
  TokenCount max_request_tokens = 0;  // largest request the KV pool can hold alone
  bool reserves_max_tokens = false;  // the pool must hold prompt + max_tokens, not the prompt alone
  std::int32_t max_prompt_tokens = INT32_MAX;  // longest prompt
  std::int32_t max_output_tokens = INT32_MAX;  // a larger max_tokens is cut to it
  // A max_tokens beyond max_model_len is cut to the remaining length; else the request is rejected.
  bool cuts_max_tokens = false;
  std::int64_t max_requests = INT64_MAX;  // in the engine at once; more are turned away (HTTP 429)
};

// The processes between clients and engine. Each has work to do, in ticks of one process.
struct ApiServerOptions {
  std::int64_t processes = 0;    // 0: clients talk to the engine itself
  Ticks request_ticks = 0;       // per request, before the engine's queue,
  Ticks prompt_token_ticks = 0;  //   and per token of its prompt
  Ticks output_token_ticks = 0;
  Ticks answer_ticks = 0;  // per answer that is complete
  TimeNs network_ns = 0;   // client to server and back; no work
};

// Work on the way of a request into its engine, one request after the other (EntryQueues).
struct EntryWork {
  TimeNs request_ns = 0;
  std::int64_t prompt_token_ps = 0;  // 1e-12 s more for each token of the prompt

  [[nodiscard]] bool any() const { return request_ns > 0 || prompt_token_ps > 0; }
  [[nodiscard]] TimeNs of(std::int64_t prompt_tokens) const {
    return request_ns + prompt_tokens * prompt_token_ps / 1000;
  }
};

// Of a replica in a fleet that computes prompts and decodes on different ones.
enum class ReplicaRole : std::uint8_t {
  both,
  prefill,  // requests leave with the first token; their KV waits to be fetched
  decode    // fetches KV; computes prompts that come without
};

struct ReplicaOptions {
  ReplicaRole role = ReplicaRole::both;
  // The client reads the token of the prefill. False: the decode replica computes it again, from
  // the last token of the prompt (vLLM).
  bool prefill_token_counts = false;
  BlockCount arriving_keep_free = 0;  // watermark: blocks left free by who takes blocks for its KV
  std::int64_t max_sequences = 256;   // contract of every plan: sequences in a step
  TokenCount max_step_tokens = INT64_MAX;  // contract of every plan: tokens in a step
  std::int32_t pipeline_depth = 1;         // 1 synchronous, 2 asynchronous scheduling
  std::int32_t pipeline_stages = 1;        // micro-batches in flight; more only with depth 1
  bool single_step = false;                // never plan more than one step at a time
  // Pipeline depth 2: plans drop a row when all its max_tokens are in flight. False: only when the
  // last one has arrived, so that the row runs in one step too many.
  bool knows_last_steps = true;
  bool responds_at_end = false;  // all tokens reach the client when the row leaves (no streaming)
  // Drops a running request whose client has gone. False: its row runs on to its end (a static
  // batch is one call of `generate`).
  bool cancels_running = true;
  TimeNs restart_ns = 0;  // out of service after an engine died
  TimeNs reboot_ns = 0;   // more of it, when the machine stopped answering
  // Requests that the engine has not begun wait outside it: they survive its death, and others may
  // join them while it is down. False: they are lost with it, and new requests are rejected.
  bool queue_survives = true;
  Ticks move_ticks_per_token = 0;  // copying the KV of a token within the pool (compaction)
  Ticks cold_step_ticks = 0;       // more time of the first step after a start
  OutputReservation reservation = OutputReservation::max_tokens;
  // Which drafts of a verified step are accepted; empty: no speculative decoding. Pipeline depth 1
  // only.
  DraftAcceptance acceptance;
  // Of a row, where they are not 1 + its drafts, and twice as many: tokens that a step verifies
  // (those of a tree of drafts), and KV slots behind its computed tokens.
  std::int32_t verified_tokens = 0;
  std::int32_t slots_ahead = 0;
  ApiServerOptions api_server;  // only where tokens are streamed
  EntryWork entry = {};         // not with an API server, which has its own
};

}  // namespace headroom
