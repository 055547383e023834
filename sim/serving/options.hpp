#pragma once
// Options of a replica's policies, filled by `setup`. One place per field: default, unit, range.

#include <cstdint>

#include "sim/kernel/time.hpp"
#include "sim/serving/types.hpp"

namespace headroom {

struct SchedulerOptions {
  std::int32_t max_num_seqs = 256;             // sequences in the batch, >= 1
  std::int32_t max_num_batched_tokens = 2048;  // token budget of a step, >= max_num_seqs (vllm)
  std::int32_t max_model_len = 8192;           // prompt + output, >= 2
  bool enable_chunked_prefill = true;          // vllm
  bool reserve_full_isl = true;                // vllm: admit only if the whole prompt fits now
  double watermark = 0.0;    // vllm: share of the pool an admission leaves free, [0, 1)
  TimeNs batch_wait_ns = 0;  // static: wait for a full batch at most so long
};

// What decides, before any queue, that a request can never be served (outcome `rejected`).
struct AdmissionLimits {
  std::int32_t max_model_len = 8192;  // prompt + max_tokens may not exceed it
  TokenCount max_request_tokens = 0;  // largest request the KV pool can hold alone
  bool reserves_max_tokens = false;  // the pool must hold prompt + max_tokens, not the prompt alone
};

struct ReplicaOptions {
  std::int64_t max_sequences = 256;        // contract of every plan: sequences in a step
  TokenCount max_step_tokens = INT64_MAX;  // contract of every plan: tokens in a step
  std::int32_t pipeline_depth = 1;         // 1 synchronous, 2 asynchronous scheduling
  bool single_step = false;                // never plan more than one step at a time
  bool responds_at_end = false;  // all tokens reach the client when the row leaves (no streaming)
  // Drops a running request whose client has gone. False: its row runs on to its end (a static
  // batch is one call of `generate`).
  bool cancels_running = true;
  TimeNs restart_ns = 0;  // after a run-time OOM of the device
};

}  // namespace headroom
